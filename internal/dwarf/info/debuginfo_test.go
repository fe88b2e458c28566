package info

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
)

var programs = []string{"lines-dwarf4", "lines-dwarf5"}

func readProgram(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func open(t testing.TB, data []byte) *Data {
	t.Helper()
	f, err := elfx.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	d := New(f, Options{})
	if d == nil {
		t.Fatal("got no debug information")
	}
	return d
}

func show(locs []Location) string {
	var b strings.Builder
	for _, l := range locs {
		fmt.Fprintf(&b, "%s %s:%d:%d", l.Func, l.File, l.Line, l.Column)
		if l.Inlined {
			b.WriteString(" inlined in ")
		}
	}
	return b.String()
}

func TestInlined(t *testing.T) {
	// The calls of abort and, before it, the comparison in innermost, as
	// addr2line -ife shows them.
	const want = "innermost /src/lines.c:15:3 inlined in middle /src/lines.c:22:9 inlined in " +
		"outer /src/lines.c:28:9 inlined in work /src/lines.c:37:9"
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			data := readProgram(t, name)
			d := open(t, data)
			var calls []string
			for addr := uint64(0x600); addr < 0x900; addr++ {
				locs, err := d.Lookup(addr, nil)
				if err != nil {
					t.Fatal(err)
				}
				if s := show(locs); len(calls) == 0 || calls[len(calls)-1] != s {
					calls = append(calls, s)
				}
			}
			if !slices.Contains(calls, want) {
				t.Errorf("got\n%s\nwant among them\n%s", strings.Join(calls, "\n"), want)
			}
		})
	}
}

// TestLinesAsDebugDwarf compares each address's line with the rows that
// debug/dwarf reads.
func TestLinesAsDebugDwarf(t *testing.T) {
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			d := open(t, readProgram(t, name))
			rows := rowsOf(t, "testdata/"+name)
			compared := 0
			for i, r := range rows {
				if i+1 == len(rows) || r.EndSequence || rows[i+1].Address == r.Address {
					continue
				}
				want := r // the last at its address
				for addr := r.Address; addr < rows[i+1].Address; addr++ {
					locs, err := d.Lookup(addr, nil)
					if err != nil || len(locs) == 0 {
						t.Fatalf("%#x: got %v, %v", addr, locs, err)
					}
					if l := locs[0]; l.Line != want.Line || l.Column != want.Column || l.File != want.File.Name {
						t.Errorf("%#x: got %s, want %s:%d:%d", addr, show(locs), want.File.Name, want.Line, want.Column)
					}
					compared++
				}
			}
			if compared < 100 {
				t.Errorf("compared %d addresses only", compared)
			}
		})
	}
}

func rowsOf(t *testing.T, name string) []dwarf.LineEntry {
	t.Helper()
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	var rows []dwarf.LineEntry
	for r := d.Reader(); ; r.SkipChildren() {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return rows
		}
		lines, err := d.LineReader(e)
		if err != nil {
			t.Fatal(err)
		}
		for lines != nil {
			var row dwarf.LineEntry
			if err := lines.Next(&row); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
	}
}

// TestWithoutAranges finds units by their entries, as compilers other than gcc
// leave it to us.
func TestWithoutAranges(t *testing.T) {
	data := readProgram(t, "lines-dwarf5")
	whole := open(t, data)
	renamed := slices.Clone(data)
	at := strings.Index(string(renamed), ".debug_aranges\x00")
	copy(renamed[at:], ".debug_nothing")
	without := open(t, renamed)
	for addr := uint64(0x600); addr < 0x900; addr++ {
		want, _ := whole.Lookup(addr, nil)
		got, err := without.Lookup(addr, nil)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%#x: got %s, %v, want %s", addr, show(got), err, show(want))
		}
	}
}

func TestDamage(t *testing.T) {
	tests := []struct {
		section string
		off     int
		put     []byte
		want    string
	}{
		{".debug_info", 0, []byte{0xf0, 0xff, 0xff, 0x7f}, ".debug_info: unit_length at offset 0x0: 0x7ffffff0 is past the end of the section"},
		{".debug_info", 4, []byte{9, 0}, ".debug_info: version at offset 0x0: 9 is not a version from 2 to 5"},
		{".debug_info", 7, []byte{3}, ".debug_info: address_size at offset 0x0: 3 is neither 4 nor 8"},
		{".debug_line", 4, []byte{1, 0}, ".debug_line: version at offset 0x0: 1 is not a version from 2 to 5"},
		{".debug_line", 0, []byte{0xf0, 0xff, 0xff, 0x7f}, ".debug_line: unit_length at offset 0x0: 0x7ffffff0 is past the end of the section"},
		{".debug_aranges", 0, []byte{0xff, 0xff, 0, 0}, ".debug_aranges: unit_length at offset 0x0: the set does not end within the section"},
	}
	for _, tt := range tests {
		data := readProgram(t, "lines-dwarf5")
		f, err := elfx.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		copy(data[f.Section(tt.section).Off+uint64(tt.off):], tt.put)
		d := open(t, data)
		var format *FormatError
		if _, err := d.Lookup(workAddr, nil); !errors.As(err, &format) || err.Error() != tt.want {
			t.Errorf("%s+%d: got %v, want %s", tt.section, tt.off, err, tt.want)
		}
	}
}

// workAddr is in the function work of lines-dwarf5.
const workAddr = 0x7c0

func TestNone(t *testing.T) {
	f, err := elfx.Parse(readProgram(t, "lines-dwarf5"))
	if err != nil {
		t.Fatal(err)
	}
	if locs, err := New(f, Options{}).Lookup(0x10, nil); len(locs) > 0 || err != nil {
		t.Errorf("got %v, %v for an address without code", locs, err)
	}
	sects, _ := f.Sections()
	for i := range sects {
		if sects[i].Name == ".debug_info" {
			sects[i].Name = ".other"
		}
	}
	if New(f, Options{}) != nil {
		t.Error("got debug information from a file without .debug_info")
	}
}

// A table may have files in directories, and no directories.
func TestFileWithoutDirectories(t *testing.T) {
	files := []sourceFile{{[]byte("a.c"), 0}, {[]byte("b.c"), 1}, {[]byte("/c.c"), 1}}
	u := &unit{file: &file{d: &Data{work: work{limit: 4}}}, table: &lineTable{version: 5, files: files}}
	for i, want := range []string{"a.c", "b.c", "/c.c", ""} {
		if got := u.fileName(uint64(i)); got != want {
			t.Errorf("file %d: got %q, want %q", i, got, want)
		}
	}
}

// The path that was asked for last is not joined again, and others count.
func TestFileNameAgain(t *testing.T) {
	d := &Data{work: work{limit: 100}}
	dir, long := []byte("/d"), []byte(strings.Repeat("x", 300))
	u := &unit{file: &file{d: d}, table: &lineTable{version: 5, files: []sourceFile{{long, 0}, {[]byte("b"), 0}}, dirs: [][]byte{dir}}}
	want := "/d/" + string(long)
	if n := testing.AllocsPerRun(100, func() {
		if got := u.fileName(0); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}); n != 0 {
		t.Errorf("%v allocations for the same path", n)
	}
	if u.fileName(1) != "/d/b" || u.fileName(0) != "" {
		t.Errorf("after %d steps, more paths are joined", d.work.done)
	}
}

// FuzzLookup damages a program. Whatever is read, every place is well formed,
// work is bounded, and the same question has the same answer.
func FuzzLookup(f *testing.F) {
	for _, name := range programs {
		data := readProgram(f, name)
		f.Add(data, uint64(workAddr), uint32(0), uint8(0))
		f.Add(data, uint64(0x650), uint32(0x1100), uint8(0xff))
	}
	f.Fuzz(func(t *testing.T, data []byte, addr uint64, at uint32, flip uint8) {
		if len(data) > 0 {
			data = slices.Clone(data)
			data[int(at)%len(data)] ^= flip
		}
		file, err := elfx.Parse(data)
		if err != nil {
			return
		}
		d := New(file, Options{})
		if d == nil {
			return
		}
		locs, _ := d.Lookup(addr, nil)
		for i, l := range locs {
			if l.Inlined != (i < len(locs)-1) {
				t.Errorf("place %d of %d: Inlined is %v", i, len(locs), l.Inlined)
			}
			if l.Line < 0 || l.Column < 0 {
				t.Errorf("negative numbers: %+v", l)
			}
		}
		if again, _ := d.Lookup(addr, nil); !slices.Equal(again, locs) {
			t.Errorf("got %v, then %v", locs, again)
		}
		if limit := 1000*len(data) + 10000; d.work.done > limit {
			t.Errorf("%d steps for %d bytes", d.work.done, len(data))
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	data := readProgram(b, "lines-dwarf5")
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if locs, _ := open(b, data).Lookup(workAddr, nil); len(locs) == 0 {
				b.Fatal("nothing found")
			}
		}
	})
	b.Run("next", func(b *testing.B) {
		b.ReportAllocs()
		d := open(b, data)
		var locs []Location
		for b.Loop() {
			locs, _ = d.Lookup(workAddr, locs[:0])
		}
	})
}

func TestStart(t *testing.T) {
	f, err := elfx.Parse(readProgram(t, "lines-dwarf5"))
	if err != nil {
		t.Fatal(err)
	}
	d := New(f, Options{})
	starts := map[uint64]bool{}
	for addr := uint64(0x600); addr < 0x900; addr++ {
		locs, _ := d.Lookup(addr, nil)
		if len(locs) == 0 || locs[len(locs)-1].Func != "work" {
			continue
		}
		start := locs[len(locs)-1].Start
		if start > addr || start == 0 {
			t.Errorf("%#x: got a start of %#x", addr, start)
		}
		starts[start] = true
	}
	// The call of abort is in a part of its own.
	if len(starts) != 2 {
		t.Errorf("got parts at %#v, want 2", starts)
	}
}
