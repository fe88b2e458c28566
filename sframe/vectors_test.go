package sframe

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// linkedAt are the addresses of the .sframe of linked files, from readelf -S.
// All others are from object files, at 0.
var linkedAt = map[string]uint64{
	"aarch64-v2/linked-exec":         0x4002a8,
	"aarch64-v3/linked-exec":         0x4002a8,
	"aarch64be-v3/linked-exec":       0x4002a8,
	"amd64-v1/linked-exec":           0x4020d0,
	"amd64-v1/linked-plt":            0x20c8,
	"amd64-v2/linked-exec":           0x4020d0,
	"amd64-v2/linked-plt":            0x20c8,
	"amd64-v2e1/linked-exec":         0x200120,
	"amd64-v2e1/linked-plt":          0x200,
	"amd64-v3/linked-exec":           0x4020d0,
	"amd64-v3/linked-plt":            0x20c8,
	"s390x-v3/linked-plt":            0x2f8,
	"amd64-lld-concat/lld-v2-noflag": 0x200158,
	"amd64-lld-concat/mixed-v2e1-v3": 0x200158,
}

// vectors returns the names of all sections in testdata.
func vectors(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.sframe")
	if err != nil || len(paths) < 60 {
		t.Fatalf("found %d sections in testdata: %v", len(paths), err)
	}
	for i, p := range paths {
		p = strings.TrimSuffix(filepath.ToSlash(p), ".sframe")
		paths[i] = strings.TrimPrefix(p, "testdata/")
	}
	return paths
}

func openVector(t testing.TB, name string) *Section {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".sframe"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(data, linkedAt[name], Options{})
	if err != nil {
		t.Fatalf("Parse(%s): %v", name, err)
	}
	return s
}

// dumped is a function as objdump shows it.
type dumped struct {
	start uint64
	size  uint32
	attr  string
	rows  []string // "offset cfa fp ra", the offset from the function's start
}

var (
	dumpedFunc = regexp.MustCompile(`func idx \[\d+\]: pc = 0x([0-9a-f]+), size = (\d+) bytes(.*)`)
	dumpedRow  = regexp.MustCompile(`^    ([0-9a-f]{16})  (.*\S)`)
)

func readDump(t *testing.T, name string) (funcs []dumped, ok bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".objdump.txt"))
	if os.IsNotExist(err) {
		return nil, false
	}
	if err != nil {
		t.Fatal(err)
	}
	mask := false
	for line := range strings.Lines(string(text)) {
		if m := dumpedFunc.FindStringSubmatch(line); m != nil {
			start, _ := strconv.ParseUint(m[1], 16, 64)
			size, _ := strconv.ParseUint(m[2], 10, 32)
			funcs = append(funcs, dumped{start: start, size: uint32(size), attr: m[3]})
		}
		if strings.Contains(line, "STARTPC") {
			mask = strings.Contains(line, "STARTPC[m]")
		}
		m := dumpedRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		f := &funcs[len(funcs)-1]
		pc, _ := strconv.ParseUint(m[1], 16, 64)
		if !mask {
			pc -= f.start
		}
		f.rows = append(f.rows, fmt.Sprintf("%#x %s", pc, strings.Join(strings.Fields(m[2]), " ")))
	}
	if len(funcs) == 0 {
		t.Fatalf("no functions in the dump of %s", name)
	}
	return funcs, true
}

// decoded lists a section in the form of a dump.
func decoded(t *testing.T, s *Section) (funcs []dumped) {
	t.Helper()
	for f, err := range s.Funcs() {
		if err != nil {
			t.Fatal(err)
		}
		d := dumped{start: f.Start, size: f.Size}
		for e, err := range s.FREs(f) {
			if err != nil {
				t.Fatal(err)
			}
			c, err := f.Columns(&e)
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%s %s %s", c.CFA, c.FP, c.RA)
			if c.RA == "undefined" {
				text = "RA undefined"
			}
			d.rows = append(d.rows, fmt.Sprintf("%#x %s", e.Start, text))
		}
		if f.Flexible() {
			d.attr += "F"
		}
		if f.Signal() {
			d.attr += "S"
		}
		if f.KeyB() {
			d.attr += "B"
		}
		funcs = append(funcs, d)
	}
	return funcs
}

// What we list is what objdump lists.
func TestVectors(t *testing.T) {
	rows := 0
	for _, name := range vectors(t) {
		t.Run(name, func(t *testing.T) {
			want, ok := readDump(t, name)
			if !ok {
				return // TestVectorsOfV1 and TestHostileVector
			}
			s := openVector(t, name)
			got := decoded(t, s)
			if strings.HasPrefix(name, "amd64-lld-concat/") || strings.HasPrefix(name, "amd64-v2e1/linked-") {
				got = got[:len(want)] // lld does not merge, objdump stops after the first table
			}
			if len(got) != len(want) {
				t.Fatalf("got %d functions, want %d", len(got), len(want))
			}
			for i, w := range want {
				g := got[i]
				if _, linked := linkedAt[name]; linked && name != "amd64-lld-concat/lld-v2-noflag" && g.start != w.start {
					t.Errorf("function %d: got start %#x, want %#x", i, g.start, w.start)
				}
				if g.size != w.size {
					t.Errorf("function %d: got size %d, want %d", i, g.size, w.size)
				}
				if w.attr != "" && !strings.ContainsAny(w.attr, "SFB") {
					t.Fatalf("function %d: unknown attributes %q", i, w.attr)
				}
				for _, a := range "SFB" {
					if strings.ContainsRune(g.attr, a) != strings.ContainsRune(w.attr, a) {
						t.Errorf("function %d: got attributes %q, want %q", i, g.attr, w.attr)
					}
				}
				if strings.HasPrefix(name, "amd64-v1/") { // objdump 2.40 does not show that RA is fixed
					for i, row := range g.rows {
						g.rows[i] = strings.TrimSuffix(row, "f") + "u"
					}
				}
				if !slices.Equal(g.rows, w.rows) {
					t.Errorf("function %d:\n got %q\nwant %q", i, g.rows, w.rows)
				}
				rows += len(w.rows)
			}
		})
	}
	if rows < 400 {
		t.Errorf("only %d rows were compared", rows)
	}
}

// gas 2.40 and 2.44 make the same rows of these sources.
func TestVectorsOfV1(t *testing.T) {
	for _, stem := range []string{
		"aarch64-%s/aarch64-basic", "aarch64-%s/aarch64-pac",
		"amd64-%s/amd64-basic", "amd64-%s/amd64-fretypes", "amd64-%s/amd64-outermost", "amd64-%s/amd64-plt", "amd64-%s/amd64-signal",
	} {
		v1, v2 := fmt.Sprintf(stem, "v1"), fmt.Sprintf(stem, "v2")
		got, want := decoded(t, openVector(t, v1)), decoded(t, openVector(t, v2))
		if len(got) != len(want) {
			t.Errorf("%s: got %d functions, want %d", v1, len(got), len(want))
			continue
		}
		for i := range got {
			if got[i].size != want[i].size || got[i].attr != want[i].attr || !slices.Equal(got[i].rows, want[i].rows) {
				t.Errorf("%s, function %d:\n got %v\nwant %v", v1, i, got[i], want[i])
			}
		}
	}
}

// Functions of tables that were not merged are at their symbols, in all tables
// and also where the text has the starts relative to the section.
func TestVectorsConcatenated(t *testing.T) {
	symbol := regexp.MustCompile(`(?m)^ +\d+: ([0-9a-f]{16}) +(\d+) FUNC +\S+ +\S+ +\S+ (\S+)`)
	for name, versions := range map[string][]Version{
		"amd64-lld-concat/lld-v2-noflag": {V2, V2},
		"amd64-lld-concat/mixed-v2e1-v3": {V2, V3},
	} {
		s := openVector(t, name)
		var got []Version
		for table, err := range s.Tables() {
			if err != nil {
				t.Error(err)
			}
			got = append(got, table.Version)
		}
		if !slices.Equal(got, versions) {
			t.Errorf("%s: got versions %v, want %v", name, got, versions)
		}
		text, err := os.ReadFile(filepath.Join("testdata", name+".symbols.txt"))
		if err != nil {
			t.Fatal(err)
		}
		symbols := symbol.FindAllStringSubmatch(string(text), -1)
		if len(symbols) != 7 {
			t.Fatalf("%s: got %d symbols, want 7", name, len(symbols))
		}
		for _, m := range symbols {
			start, _ := strconv.ParseUint(m[1], 16, 64)
			size, _ := strconv.ParseUint(m[2], 10, 32)
			for _, pc := range []uint64{start, start + size - 1} {
				f, found, err := s.Lookup(pc)
				if !found || err != nil || f.Start != start || uint64(f.Size) != size {
					t.Errorf("%s: Lookup(%#x): got %#x, %d bytes, %v, %v, want %s, %d bytes", name, pc, f.Start, f.Size, found, err, m[3], size)
				}
			}
		}
	}
}

// libsframe copies 15 words of 4 bytes over the end of an array of 24.
func TestHostileVector(t *testing.T) {
	s := openVector(t, "hostile/fre-15-words")
	for f, err := range s.Funcs() {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range s.FREs(f) {
			if err != nil || e.Count() != 15 || e.Word(14) != 0x41414141 {
				t.Errorf("got %d words, the last %#x, %v", e.Count(), e.Word(e.Count()-1), err)
			}
			c, err := f.Columns(&e)
			if want := (Columns{CFA: "sp+1094795585", FP: "c+1094795585", RA: "f"}); c != want || err != nil {
				t.Errorf("got %v, %v, want %v", c, err, want)
			}
		}
	}
}
