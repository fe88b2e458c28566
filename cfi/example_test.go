package cfi_test

import (
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
)

// A function at 0x1000 that pushes rbp, as it is in .eh_frame at 0x2000.
var frame = []byte{
	0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, // CIE
	0x0c, 7, 8, 0x90, 1, 0, 0, // DW_CFA_def_cfa: rsp+8; DW_CFA_offset: rip at cfa-8
	0x14, 0, 0, 0, 0x1c, 0, 0, 0, 0xe0, 0xef, 0xff, 0xff, 0x20, 0, 0, 0, 0, // FDE
	0x41, 0x0e, 16, 0x86, 2, 0, 0, // DW_CFA_advance_loc: 1; DW_CFA_def_cfa_offset: 16; DW_CFA_offset: rbp at cfa-16
	0, 0, 0, 0,
}

func ExampleMachine_Find() {
	s, err := cfi.ParseEHFrame(arch.AMD64, frame, 0x2000, nil, 0, cfi.Bases{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var (
		m    cfi.Machine
		regs arch.Regs
		row  arch.Row
	)
	for _, pc := range []uint64{0x1000, 0x1001, 0x1020} {
		found, err := m.Find(s, pc, &regs, nil, &row)
		if !found {
			fmt.Printf("%#x: no row, error %v\n", pc, err)
			continue
		}
		fmt.Printf("%#x: %s\n", pc, row.Format(arch.AMD64))
	}
	// Output:
	// 0x1000: cfa=rsp+8 ra=*(c-8) fp=rbp
	// 0x1001: cfa=rsp+16 ra=*(c-8) fp=*(c-16)
	// 0x1020: no row, error <nil>
}

func ExampleMachine_Rows() {
	s, err := cfi.ParseEHFrame(arch.AMD64, frame, 0x2000, nil, 0, cfi.Bases{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var m cfi.Machine
	for f, err := range s.FDEs() {
		if err != nil {
			fmt.Println(err)
			continue
		}
		for row, err := range m.Rows(s, f) {
			if err != nil {
				fmt.Println(err)
				continue
			}
			fmt.Printf("[%#x, %#x) %s\n", row.Lo, row.Hi, row.Format(arch.AMD64))
		}
	}
	// Output:
	// [0x1000, 0x1001) cfa=rsp+8 ra=*(c-8) fp=rbp
	// [0x1001, 0x1020) cfa=rsp+16 ra=*(c-8) fp=*(c-16)
}
