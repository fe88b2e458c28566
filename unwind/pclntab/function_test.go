package pclntab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// A function's name and lines are those of the table, in every version and byte
// order. Files are counted from where the function's compilation unit begins.
func TestLine(t *testing.T) {
	for version, magic := range magics {
		for orderName, order := range orders {
			table, err := Parse(testkit.GoTable(order, magic, 0), order)
			if err != nil {
				t.Fatalf("%s/%s: %v", version, orderName, err)
			}
			table = at(table)
			for _, tt := range []struct {
				addr uint64
				want string
			}{
				{0x2000, "main.f main.go:10"},
				{0x200f, "main.f main.go:10"},
				{0x2010, "main.f main.go:12"},
				{0x2017, "main.f main.go:12"},
				{0x2018, "main.f x.go:5"},
				{0x203f, "main.f x.go:5"},
				{0x2040, "main.g :0"}, // neither lines nor files
				{0x205f, "main.g :0"},
			} {
				f, ok := table.Find(tt.addr)
				file, line := f.Line(tt.addr)
				if got := fmt.Sprintf("%s %s:%d", f.Name(), file, line); !ok || got != tt.want {
					t.Errorf("%s/%s: %#x: got %q, want %q", version, orderName, tt.addr, got, tt.want)
				}
				want := [2]uint64{0x2000, 0x2040}
				if tt.addr >= 0x2040 {
					want = [2]uint64{0x2040, 0x2060}
				}
				if f.Entry != want[0] || f.End != want[1] {
					t.Errorf("%s/%s: %#x: got a function from %#x to %#x", version, orderName, tt.addr, f.Entry, f.End)
				}
			}
			if got := []uint64{table.Entry(0), table.Entry(1), table.Entry(2)}; table.Len() != 2 || got[0] != 0x2000 || got[1] != 0x2040 || got[2] != 0x2060 {
				t.Errorf("%s/%s: got %d functions at %#x", version, orderName, table.Len(), got)
			}
		}
	}
}

// oneFunction is a function of 16 instructions of one byte at 0x100, whose _func and
// tables a test makes. Offset 0 of names, files and pctab means that there is none.
func oneFunction(magic uint32, pctab []byte, fn [8]uint32, cutab []uint32) Func {
	order := binary.LittleEndian
	t := &Table{
		marks: newMarks(), calls: new(atomic.Int64),
		order: order, quantum: 1, magic: magic, nfunc: 1,
		names: []byte("\x00main.f\x00"), files: []byte("\x00a.go\x00b.go\x00"), pctab: pctab,
	}
	for _, n := range cutab {
		t.cutab = order.AppendUint32(t.cutab, n)
	}
	f := Func{Entry: 0x100, End: 0x110, table: t}
	for _, w := range fn {
		f.data = order.AppendUint32(f.data, w)
	}
	return f
}

// A line is given with its file, or not at all: a table that is damaged or cut off
// gives none.
func TestLineDamage(t *testing.T) {
	const files, lines = 1, 4
	// Both begin with a value for all addresses, but offset 0 stands for no table.
	pctab := []byte{4, 2, 8, 0, 2 * 8, 16, 0}      // file 0 up to 0x108; line 7
	long := []byte{4, 2, 8, 2, 8, 0, 2 * 8, 16, 0} // file 0 up to 0x108, then 1; line 7
	fn := func(file, line, unit uint32) [8]uint32 { return [8]uint32{1, 0, 0, 0, file, line, 0, unit} }
	for _, tt := range []struct {
		name  string
		pctab []byte
		fn    [8]uint32
		cutab []uint32
		addr  uint64
		want  string
	}{
		{"the first file", pctab, fn(files, lines, 0), []uint32{1}, 0x100, "a.go:7"},
		{"the second file", long, fn(1, 6, 0), []uint32{1, 6}, 0x108, "b.go:7"},
		{"a unit's file", pctab, fn(files, lines, 1), []uint32{1, 6}, 0x100, "b.go:7"},
		{"past the files of units", pctab, fn(files, lines, 1), []uint32{1}, 0x100, ":0"},
		{"far past the files of units", pctab, fn(files, lines, 1<<30), []uint32{1}, 0x100, ":0"},
		{"a unit that has no files", pctab, fn(files, lines, ^uint32(0)), []uint32{1}, 0x100, ":0"},
		{"a file without a name", pctab, fn(files, lines, 0), []uint32{0}, 0x100, ":0"},
		{"a name past the end", pctab, fn(files, lines, 0), []uint32{99}, 0x100, ":0"},
		{"no files", pctab, fn(0, lines, 0), []uint32{1}, 0x100, ":0"},
		{"no files, in a later unit", pctab, fn(0, lines, 1), []uint32{1, 6}, 0x100, ":0"},
		{"files past the end", pctab, fn(99, lines, 1), []uint32{1, 6}, 0x100, ":0"},
		{"no lines", pctab, fn(files, 0, 0), []uint32{1}, 0x100, ":0"},
		{"files that end before", pctab, fn(files, lines, 0), []uint32{1}, 0x108, ":0"},
		{"lines past the end", pctab, fn(files, uint32(len(pctab)), 0), []uint32{1}, 0x100, ":0"},
		{"line 0", []byte{0, 2, 8, 0, 2, 16, 0}, fn(1, 4, 0), []uint32{1}, 0x100, ":0"},
		{"a line below 0", []byte{0, 2, 8, 0, 2*9 - 1, 16, 0}, fn(1, 4, 0), []uint32{1}, 0x100, ":0"},
	} {
		f := oneFunction(magic120, tt.pctab, tt.fn, tt.cutab)
		file, line := f.Line(tt.addr)
		if got := fmt.Sprintf("%s:%d", file, line); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	f := oneFunction(magic120, pctab, fn(files, lines, 1), []uint32{1, 6})
	f.table.cutab = f.table.cutab[:7]
	if file, line := f.Line(0x100); file != "" || line != 0 {
		t.Errorf("a file whose number is cut off: got %s:%d", file, line)
	}
}

// A table of values holds up to its last address, counted in the smallest
// instructions, and may go up and down. Where it is damaged there is no value.
func TestSPDelta(t *testing.T) {
	for _, tt := range []struct {
		name    string
		quantum uint64
		steps   []byte
		addr    uint64
		want    int32
		known   bool
	}{
		{"the first step", 1, []byte{2 * 9, 4, 2 * 16, 4, 0}, 0x103, 8, true},
		{"the second", 1, []byte{2 * 9, 4, 2 * 16, 4, 0}, 0x104, 24, true},
		{"the last address", 1, []byte{2 * 9, 4, 2 * 16, 4, 0}, 0x107, 24, true},
		{"past the last", 1, []byte{2 * 9, 4, 2 * 16, 4, 0}, 0x108, -1, false},
		{"before the function", 1, []byte{2 * 9, 4, 2 * 16, 4, 0}, 0xff, -1, false},
		{"instructions of 4", 4, []byte{2 * 9, 4, 2 * 16, 4, 0}, 0x10f, 8, true},
		{"the second of 4", 4, []byte{2 * 9, 4, 2 * 16, 4, 0}, 0x110, 24, true},
		{"down again", 1, []byte{2 * 25, 4, 2*16 - 1, 4, 0}, 0x104, 8, true},
		{"below the start", 1, []byte{2 * 9, 4, 2*16 - 1, 4, 0}, 0x104, -8, false},
		{"nothing at first", 1, []byte{0, 4, 2 * 9, 4, 0}, 0x100, -1, false},
		{"nothing at first, then a value", 1, []byte{0, 4, 2 * 9, 4, 0}, 0x104, 8, true},
		{"two bytes", 1, []byte{0x82, 0x02, 0x80, 0x01, 0}, 0x17f, 128, true},
		{"a difference of 11 bytes", 1, bytes.Repeat([]byte{0x80}, 11), 0x100, -1, false},
		{"a length of 11 bytes", 1, append([]byte{2 * 9}, bytes.Repeat([]byte{0x80}, 11)...), 0x100, -1, false},
		{"cut off before a length", 1, []byte{2 * 9}, 0x100, -1, false},
		{"cut off in a length", 1, []byte{2 * 9, 0x80}, 0x100, -1, false},
		{"cut off before a difference", 1, []byte{2 * 9, 4}, 0x104, -1, false},
		{"cut off in a difference", 1, []byte{2 * 9, 4, 0x80}, 0x104, -1, false},
		{"what follows the end does not count", 1, []byte{2 * 9, 4, 0, 4, 2, 4, 0}, 0x104, -1, false},
	} {
		pctab := append([]byte{0xff}, tt.steps...)
		f := oneFunction(magic120, pctab, [8]uint32{1, 0, 0, 1}, nil)
		f.table.quantum = tt.quantum
		if got, known := f.SPDelta(tt.addr); got != tt.want || known != tt.known {
			t.Errorf("%s: got %d, %v, want %d, %v", tt.name, got, known, tt.want, tt.known)
		}
	}
}

// The steps of one table are bounded: a forged one may be as long as the file.
func TestStepsBounded(t *testing.T) {
	const most = 65536
	steps := append([]byte{0}, bytes.Repeat([]byte{2, 1}, most+1)...)
	f := oneFunction(magic120, steps, [8]uint32{1, 0, 0, 1}, nil)
	if got, known := f.SPDelta(f.Entry + most - 1); got != most-1 || !known {
		t.Errorf("the last step: got %d, %v", got, known)
	}
	if got, known := f.SPDelta(f.Entry + most); known {
		t.Errorf("past the last step: got %d", got)
	}
}

// Flags are behind funcID, and behind startLine from Go 1.20 on. A table that ends
// before has none.
func TestFlags(t *testing.T) {
	for _, tt := range []struct {
		magic uint32
		rest  []byte // of the _func, behind its first words
		want  Flags
	}{
		{magic116, []byte{9, 5}, TopFrame | Asm},
		{magic118, []byte{9, 2}, SPWrite},
		{magic118, []byte{9}, 0},
		{magic118, nil, 0},
		{magic120, []byte{1, 2, 3, 4, 9, 3}, TopFrame | SPWrite},
		{magic120, []byte{1, 2, 3, 4, 9}, 0},
		{magic120, []byte{1, 2}, 0},
	} {
		f := oneFunction(tt.magic, nil, [8]uint32{}, nil)
		f.data = append(f.data, tt.rest...)
		if got := f.Flags(); got != tt.want {
			t.Errorf("%#x, % x: got %d, want %d", tt.magic, tt.rest, got, tt.want)
		}
	}
	if TopFrame != 1 || SPWrite != 2 || Asm != 4 {
		t.Error("the flags are not those of internal/abi")
	}
}

// A name ends at its 0, at the end of the table or after 64 KiB. One past the
// end is empty.
func TestName(t *testing.T) {
	for _, tt := range []struct {
		name  string
		table string
		off   uint32
		want  string
	}{
		{"the first", "ab\x00cd\x00", 0, "ab"},
		{"another", "ab\x00cd\x00", 3, "cd"},
		{"empty", "\x00ab\x00", 0, ""},
		{"cut off", "ab\x00cd", 3, "cd"},
		{"the last byte", "ab\x00c", 3, "c"},
		{"past the end", "ab\x00", 3, ""},
		{"far past the end", "ab\x00", ^uint32(0), ""},
		{"too long", strings.Repeat("x", 65537), 0, strings.Repeat("x", 65536)},
		{"as long as can be", strings.Repeat("x", 65537), 1, strings.Repeat("x", 65536)},
	} {
		if got := string(name([]byte(tt.table), tt.off)); got != tt.want {
			t.Errorf("%s: got %d bytes, %.20q, want %.20q", tt.name, len(got), got, tt.want)
		}
	}
}

// A _func may be the last thing of a table, down to its last word that is needed.
func TestCutOffFunc(t *testing.T) {
	order := binary.LittleEndian
	for _, tt := range []struct {
		cut  int // of the 8 bytes behind the words of main.g's _func
		want bool
	}{{8, true}, {9, false}} {
		data := testkit.GoTable(order, magic120, 0)
		table, err := Parse(data[:len(data)-tt.cut], order)
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := at(table).Find(0x2041); ok != tt.want || ok && (string(f.Name()) != "main.g" || f.Flags() != 0) {
			t.Errorf("%d bytes cut off: got %q, %v", tt.cut, f.Name(), ok)
		}
	}
}

// The table of functions is damaged: an offset leads out, or addresses do not ascend.
func TestDamagedFunctab(t *testing.T) {
	order := binary.LittleEndian
	for _, tt := range []struct {
		name string
		word int // of functab: f's address and offset, g's, the end
		v    uint32
		addr uint64
		want string
	}{
		{"nothing", 4, 0x60, 0x2041, "main.g"},
		{"an offset behind the end", 3, ^uint32(0) - 10, 0x2041, ""},
		{"an offset just behind the end", 3, 0x7fff, 0x2041, ""},
		{"another function is not affected", 3, ^uint32(0), 0x2001, "main.f"},
		{"the end is before the start", 4, 0x20, 0x2041, ""},
		{"a function of no bytes", 4, 0x40, 0x2040, ""},
		{"a function that begins behind the next", 0, 0x50, 0x2041, "main.g"},
		{"functions that begin behind the end", 2, 0x70, 0x2075, ""},
	} {
		data := testkit.GoTable(order, magic120, 0)
		functab := order.Uint64(data[64:])
		order.PutUint32(data[functab+uint64(4*tt.word):], tt.v)
		table, err := Parse(data, order)
		if err != nil {
			t.Fatal(err)
		}
		f, ok := at(table).Find(tt.addr)
		if ok != (tt.want != "") || ok && string(f.Name()) != tt.want {
			t.Errorf("%s: got %+v, %v, want %q", tt.name, f, ok, tt.want)
		}
	}
}
