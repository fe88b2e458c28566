package cfi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
)

// The files in testdata are programs, or what is left of large ones by
//
//	objcopy -j .eh_frame -j .eh_frame_hdr -j .debug_frame PROGRAM FILE
//
// and beside each is what GNU readelf 2.40 says of it:
//
//	readelf -wF FILE > FILE.readelf
var dumps = []string{
	"proepi.amd64", "lld.amd64", "cxx.amd64", "libc.amd64", "debugframe.amd64",
	"pac.aarch64", "corrupt.aarch64", "fpframe.aarch64be",
	"proepi.s390x", "allfp.s390x",
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

// dumpEntry is a CIE or an FDE as readelf shows it.
type dumpEntry struct {
	cie        *dumpEntry // of an FDE
	start, end uint64
	columns    []string
	rows       []dumpRow
}

type dumpRow struct {
	loc   uint64
	rules map[string]string // by readelf's name of the column
}

type dump map[uint64]*dumpEntry

func (d dump) fdes() (n int) {
	for _, e := range d {
		if e.cie != nil {
			n++
		}
	}
	return n
}

var (
	entryLine = regexp.MustCompile(`^([0-9a-f]{8}) [0-9a-f]{16} [0-9a-f]{8} (CIE|FDE)(?: cie=([0-9a-f]{8}) pc=([0-9a-f]{16})\.\.([0-9a-f]{16}))?`)
	rowLine   = regexp.MustCompile(`^[0-9a-f]{16} `)
	// The columns "r23 (f7)" hold a blank.
	blankName = regexp.MustCompile(`(r\d+) \((\w+)\)`)
)

func readDump(t testing.TB, name string) dump {
	t.Helper()
	var r io.Reader
	data, err := os.ReadFile(filepath.Join("testdata", name+".readelf"))
	r = bytes.NewReader(data)
	if err != nil {
		if data, err = os.ReadFile(filepath.Join("testdata", name+".readelf.gz")); err == nil {
			r, err = gzip.NewReader(bytes.NewReader(data))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	d := dump{}
	var e *dumpEntry
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := blankName.ReplaceAllString(lines.Text(), "$1")
		if m := entryLine.FindStringSubmatch(line); m != nil {
			e = &dumpEntry{}
			d[hex(t, m[1])] = e
			if m[2] == "FDE" {
				e.cie, e.start, e.end = d[hex(t, m[3])], hex(t, m[4]), hex(t, m[5])
			}
			continue
		}
		words := strings.Fields(line)
		switch {
		case len(words) > 0 && words[0] == "LOC":
			e.columns = words[1:]
		case rowLine.MatchString(line):
			row := dumpRow{loc: hex(t, words[0]), rules: map[string]string{}}
			for i, name := range e.columns {
				row.rules[name] = words[1+i]
			}
			e.rows = append(e.rows, row)
		}
	}
	return d
}

func hex(t testing.TB, s string) uint64 {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
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
	want := map[string]string{"ra": "u", a.RegName(a.FP): "u"}
	for name, rule := range rules {
		want[name] = rule
	}
	got := readelfRules(a, row)
	for name := range want {
		if _, ok := got[name]; !ok {
			got[name] = "u"
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			want[name] = "u"
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
		case r == arch.SameValue(of), r.Base == arch.Undefined:
			return "u"
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
		rules["ra"] = "u"
	}
	for _, e := range row.Extra {
		rules[readelfName(a, e.Reg)] = text(e.Reg, e.Rule)
	}
	return rules
}

// readelfName returns what readelf calls a register.
func readelfName(a *arch.Arch, r arch.Reg) string {
	if a == arch.S390X {
		return fmt.Sprintf("r%d", r)
	}
	return a.RegName(r)
}
