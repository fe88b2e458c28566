package sframe_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// section makes a section for the examples: one function of 24 bytes at
// 0x1000, the section itself being at 0x8000.
func section() []byte {
	a := arch.AArch64
	b := sframe.Builder{Version: sframe.V3, ABI: sframe.AArch64LE, Funcs: []sframe.FuncRows{{
		Start: 0x1000, Size: 24,
		Rows: []sframe.RowAt{
			{At: 0, Row: arch.Row{CFA: arch.RegOffset(a.SP, 0), RA: arch.SameValue(a.LR), FP: arch.SameValue(a.FP)}},
			{At: 4, Row: arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8), FP: arch.AtCFA(-16), SignedRA: true}},
		},
	}}}
	data, err := b.Append(nil, 0x8000)
	if err != nil {
		log.Fatal(err)
	}
	return data
}

func Example() {
	s, err := sframe.Parse(section(), 0x8000, sframe.Options{Arch: arch.AArch64})
	if err != nil {
		log.Fatal(err)
	}
	for _, pc := range []uint64{0x1000, 0x1010, 0x1018} {
		var row arch.Row
		found, err := s.Find(pc, &row)
		fmt.Printf("%#x: %v %v: %s\n", pc, found, err, row.Format(s.Arch()))
	}
	// Output:
	// 0x1000: true <nil>: cfa=sp ra=x30 fp=x29
	// 0x1010: true <nil>: cfa=sp+16 ra=*(c-8) fp=*(c-16) signed-ra
	// 0x1018: false <nil>: cfa=u ra=u fp=u
}

// Listing shows a section as it is written.
func ExampleSection_Funcs() {
	s, err := sframe.Parse(section(), 0x8000, sframe.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for f, err := range s.Funcs() {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%#x, %d bytes\n", f.Start, f.Size)
		for e, err := range s.FREs(f) {
			if err != nil {
				fmt.Println(err)
				break
			}
			c, err := f.Columns(&e)
			fmt.Printf("  +%#x  %s  %s  %s %v\n", e.Start, c.CFA, c.FP, c.RA, err)
		}
	}
	// Output:
	// 0x1000, 24 bytes
	//   +0x0  sp+0  u  u <nil>
	//   +0x4  sp+16  c-16  c-8[s] <nil>
}

func ExampleSection_Tables() {
	s, err := sframe.Parse(section(), 0x8000, sframe.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for t, err := range s.Tables() {
		fmt.Printf("version %s for %s at %#x: %d functions, %d rows, %v\n", t.Version, t.Arch.Name, t.Addr, t.NumFDEs, t.NumFREs, err)
	}
	// Output: version 3 for aarch64 at 0x8000: 1 functions, 2 rows, <nil>
}

func ExampleSection_Validate() {
	data := section()
	data[0x1c+8] = 2 // sfdi_func_size
	s, err := sframe.Parse(data, 0x8000, sframe.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range s.Validate() {
		fmt.Printf("%s: %s: %v\n", f.Severity, f.ID, &f.FormatError)
	}
	// Output: error: fre-after-function: sframe: sfre_start_address at offset 0x34: the row is for 0x4, but the function has 0x2 bytes
}

func ExampleFormatError() {
	data := section()
	data[2] = 9
	_, err := sframe.Parse(data, 0x8000, sframe.Options{})
	if fe, ok := errors.AsType[*sframe.FormatError](err); ok {
		fmt.Printf("%s at %d: %s\n", fe.Field, fe.Off, fe.Msg)
	}
	// Output: sfp_version at 2: version 9 is not 1, 2 or 3
}
