package cfi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
)

// The files in testdata are programs, or what is left of large ones by
//
//	llvm-objcopy --only-section=.eh_frame --only-section=.eh_frame_hdr --only-section=.debug_frame PROGRAM FILE
//
// and beside each is what GNU readelf 2.40 says of it:
//
//	readelf -wF FILE > FILE.readelf
var dumps = []string{
	"proepi.amd64", "lld.amd64", "cxx.amd64", "libc.amd64", "debugframe.amd64", "vdso.amd64",
	"pac.aarch64", "corrupt.aarch64", "fpframe.aarch64be", "ld.aarch64",
	"proepi.s390x", "allfp.s390x", "ld.s390x",
}

// TestRowsReadelf compares every row of every file with readelf's.
func TestRowsReadelf(t *testing.T) {
	for _, name := range dumps {
		t.Run(name, func(t *testing.T) {
			s := openSection(t, name)
			dump := readDump(t, name)
			var m Machine
			n := 0
			for f, err := range s.FDEs() {
				if err != nil {
					t.Fatal(err)
				}
				want, ok := dump[f.Off]
				if !ok {
					t.Fatalf("readelf has no FDE at %#x", f.Off)
				}
				n++
				if f.Start != want.start || f.Start+f.Size != want.end {
					t.Errorf("FDE %#x: got [%#x, %#x), want [%#x, %#x)", f.Off, f.Start, f.Start+f.Size, want.start, want.end)
				}
				for row, err := range m.Rows(s, f) {
					if err != nil {
						t.Fatalf("FDE %#x: %v", f.Off, err)
					}
					want.compare(t, s.arch, &row)
				}
			}
			if n == 0 || n != dump.fdes() {
				t.Errorf("got %d FDEs, want %d", n, dump.fdes())
			}
		})
	}
}

// openSection parses the call frame information of a file in testdata, at its
// link-time addresses.
func openSection(t testing.TB, name string) *Section {
	t.Helper()
	f := openELF(t, name)
	a, _ := arch.ForMachine(f.Machine, f.BigEndian)
	frame, addr := sectionData(f, ".eh_frame")
	hdr, hdrAddr := sectionData(f, ".eh_frame_hdr")
	var s *Section
	var err error
	if frame != nil {
		s, err = ParseEHFrame(a, frame, addr, hdr, hdrAddr, Bases{})
	} else {
		frame, _ = sectionData(f, ".debug_frame")
		s, err = ParseDebugFrame(a, frame, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openELF(t testing.TB, name string) *elfx.File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elfx.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sectionData(f *elfx.File, name string) ([]byte, uint64) {
	s := f.Section(name)
	if s == nil {
		return nil, 0
	}
	data, _ := f.SectionData(s)
	return data, s.Addr
}

// compare compares a row with the last one that readelf has for its range.
func (e *dumpEntry) compare(t *testing.T, a *arch.Arch, row *Row) {
	t.Helper()
	rules := map[string]string{}
	if len(e.rows) == 0 && len(e.cie.rows) > 0 {
		rules = e.cie.rows[len(e.cie.rows)-1].rules
	}
	first := true
	for _, r := range e.rows {
		if r.loc <= row.Lo {
			rules = r.rules
			first = false
		}
		if r.loc > row.Lo && r.loc < row.Hi {
			t.Errorf("row [%#x, %#x): readelf has another at %#x", row.Lo, row.Hi, r.loc)
		}
	}
	if first && len(e.rows) > 0 {
		t.Errorf("row [%#x, %#x): readelf has none", row.Lo, row.Hi)
	}
	want := map[string]string{}
	for name, rule := range rules {
		if !strings.HasPrefix(name, "v") { // vector registers are not tracked
			want[name] = rule
		}
	}
	got := readelfRules(a, row)
	for _, name := range []string{"ra", a.RegName(a.FP)} { // these have rules by default
		if got[name] == "s" && (want[name] == "u" || want[name] == "") {
			want[name] = "s"
		}
	}
	for _, m := range []struct{ from, to map[string]string }{{want, got}, {got, want}} {
		for name := range m.from {
			if m.to[name] == "" {
				m.to[name] = "u"
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("row [%#x, %#x):\n got %v\nwant %v", row.Lo, row.Hi, got, want)
	}
}

// readelfRules writes the rules of a row as readelf does.
func readelfRules(a *arch.Arch, row *Row) map[string]string {
	text := func(of arch.Reg, r arch.Rule) string {
		for _, e := range row.Exprs {
			switch {
			case e.Reg == of && e.Value && of != arch.NoReg:
				return "vexp"
			case e.Reg == of:
				return "exp"
			}
		}
		switch {
		case r.Base == arch.Undefined:
			return "u"
		case r == arch.SameValue(of):
			return "s"
		case r.Base == arch.CFA && r.Deref:
			return fmt.Sprintf("c%+d", r.Off)
		case r.Base == arch.CFA:
			return fmt.Sprintf("v%+d", r.Off)
		case of == arch.NoReg:
			return fmt.Sprintf("%s%+d", a.RegName(r.Reg), r.Off)
		case r.Base == arch.Register && r.Off == 0:
			return fmt.Sprintf("r%d", r.Reg)
		}
		return r.Format(a)
	}
	rules := map[string]string{"CFA": text(arch.NoReg, row.CFA), "ra": text(a.PC, row.RA), a.RegName(a.FP): text(a.FP, row.FP)}
	if row.RA == arch.SameValue(a.LR) {
		rules["ra"] = "s"
	}
	for _, e := range row.Extra {
		rules[a.RegName(e.Reg)] = text(e.Reg, e.Rule)
	}
	return rules
}
