package pclntab

import (
	"bytes"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

var orders = map[string]binary.ByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian}

var magics = map[string]uint32{"1.16": magic116, "1.18": magic118, "1.20": magic120}

// at places a table that testkit.GoTable made.
func at(t *Table) *Table {
	if t.Relative() {
		return t.At(testkit.GoTextAt)
	}
	return t
}

func TestFunc(t *testing.T) {
	for version, magic := range magics {
		for orderName, order := range orders {
			table, err := Parse(testkit.GoTable(order, magic, 0), order)
			if err != nil {
				t.Fatalf("%s/%s: %v", version, orderName, err)
			}
			table = at(table)
			for _, tt := range []struct {
				addr  uint64
				name  string
				delta int32
				known bool
				flags Flags
			}{
				{0x1fff, "", 0, false, 0},
				{0x2000, "main.f", 0, true, TopFrame | Asm},
				{0x2003, "main.f", 0, true, TopFrame | Asm},
				{0x2004, "main.f", 24, true, TopFrame | Asm},
				{0x203f, "main.f", 24, true, TopFrame | Asm},
				{0x2040, "main.g", -1, false, 0},
				{0x2060, "", 0, false, 0},
			} {
				f, ok := table.Find(tt.addr)
				if ok != (tt.name != "") {
					t.Errorf("%s/%s: %#x: got %v", version, orderName, tt.addr, ok)
				}
				if !ok {
					continue
				}
				delta, known := f.SPDelta(tt.addr)
				if string(f.Name()) != tt.name || delta != tt.delta || known != tt.known || f.Flags() != tt.flags {
					t.Errorf("%s/%s: %#x: got %s, SP %d %v, flags %v, want %+v", version, orderName, tt.addr, f.Name(), delta, known, f.Flags(), tt)
				}
			}
		}
	}
}

func TestDamage(t *testing.T) {
	order := binary.LittleEndian
	put := func(at int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte {
			order.PutUint64(b[at:], v)
			return b
		}
	}
	for _, tt := range []struct {
		name   string
		change func([]byte) []byte
		error  string // "" if only the answer is to be none
	}{
		{"empty", func([]byte) []byte { return nil }, "pcHeader"},
		{"cut off header", func(b []byte) []byte { return b[:70] }, "pcHeader"},
		{"Go 1.2", func(b []byte) []byte { b[0] = 0xfb; return b }, "magic"},
		{"32 bits", func(b []byte) []byte { b[7] = 4; return b }, "ptrSize"},
		{"names past the end", put(32, 1<<40), "pcHeader"},
		{"functions past the end", put(64, 1<<63), "pcHeader"},
		{"too many functions", put(8, 1<<62), "nfunc"},
		{"cut off functab", func(b []byte) []byte { return b[:len(b)-100] }, "nfunc"},
		{"cut off _func", func(b []byte) []byte { return b[:len(b)-37] }, ""},
	} {
		table, err := Parse(tt.change(testkit.GoTable(order, magic120, 0)), order)
		switch {
		case tt.error != "":
			if err == nil || !strings.Contains(err.Error(), tt.error) {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.error)
			}
		case err != nil:
			t.Errorf("%s: got %v", tt.name, err)
		default:
			if f, ok := at(table).Find(0x2041); ok {
				t.Errorf("%s: got %s, want none", tt.name, f.Name())
			}
		}
	}
}

// Errors tell where in the header the damage is. A header may be all that there is.
func TestDamageOffsets(t *testing.T) {
	order := binary.LittleEndian
	header := func(magic uint32, size int) []byte { // with all parts at the end
		b := order.AppendUint32(nil, magic)
		b = append(b, 0, 0, 1, 8)
		for len(b) < size {
			b = order.AppendUint64(b, uint64(size))
		}
		return b[:size]
	}
	change := func(b []byte, at int, v byte) []byte {
		b[at] = v
		return b
	}
	for _, tt := range []struct {
		name  string
		data  []byte
		off   uint64
		field string
		msg   string
	}{
		{"nothing", nil, 0, "pcHeader", "cut off after 0 bytes"},
		{"less than a word", header(magic120, 8)[:7], 0, "pcHeader", "cut off after 7 bytes"},
		{"a word", header(magic120, 8), 8, "pcHeader", "cut off after 8 bytes"},
		{"another magic", header(0xfffffffb, 80), 0, "magic", "0xfffffffb is not that of Go 1.16 to 1.26"},
		{"addresses of 4 bytes", change(header(magic120, 80), 7, 4), 7, "ptrSize", "4, not 8"},
		{"all but a byte of the header", header(magic120, 72)[:71], 8, "pcHeader", "cut off after 71 bytes"},
		{"all but a byte of the header of Go 1.16", header(magic116, 64)[:63], 8, "pcHeader", "cut off after 63 bytes"},
		{"a header", header(magic120, 72), 8, "nfunc", "72 functions, but room for less than 0"},
		{"a header of Go 1.16", header(magic116, 64), 8, "nfunc", "64 functions, but room for less than 0"},
		{"names behind the end", change(header(magic120, 72), 32, 73), 32, "pcHeader", "offset 0x49 is past the end"},
		{"functions behind the end", change(header(magic118, 72), 64, 73), 64, "pcHeader", "offset 0x49 is past the end"},
		{"names behind the end, of Go 1.16", change(header(magic116, 64), 24, 65), 24, "pcHeader", "offset 0x41 is past the end"},
	} {
		_, err := Parse(tt.data, order)
		e, ok := errors.AsType[*elfx.FormatError](err)
		if !ok || e.Off != tt.off || e.Field != tt.field || e.Msg != tt.msg {
			t.Errorf("%s: got %+v, want %d, %s, %q", tt.name, err, tt.off, tt.field, tt.msg)
		}
	}
}

// The number of functions may be as large as there is room for, with the end of the
// last one.
func TestMostFunctions(t *testing.T) {
	for version, magic := range magics {
		order := binary.LittleEndian
		data := testkit.GoTable(order, magic, 0)
		whole, err := Parse(data, order)
		if err != nil {
			t.Fatal(err)
		}
		words := uint64(len(whole.funcs)) / whole.width()
		for n, ok := range map[uint64]bool{words/2 - 1: true, words / 2: false, words: false, words/3 + 1: true} {
			order.PutUint64(data[8:], n)
			table, err := Parse(data, order)
			if (err == nil) != ok {
				t.Errorf("%s: %d functions in %d words: got %v", version, n, words, err)
			}
			if ok && err == nil {
				table.Entry(table.Len()) // is there
				table.Find(^uint64(0))
			}
		}
	}
}

// Names tells where in the table names begin: the runtime's own structures refer to
// them by that.
func TestNamesOffset(t *testing.T) {
	for version, magic := range magics {
		for orderName, order := range orders {
			data := testkit.GoTable(order, magic, 0)
			table, err := Parse(data, order)
			if err != nil {
				t.Fatal(err)
			}
			if got := table.Names(); got >= uint64(len(data)) || !bytes.HasPrefix(data[got:], []byte("\x00main.f\x00main.g\x00")) {
				t.Errorf("%s/%s: got %d", version, orderName, got)
			}
		}
	}
}

// TestOwnTable reads the table of the test program, all of it, and compares
// with debug/gosym.
func TestOwnTable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test program is no ELF file")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := elfx.Parse(program)
	if err != nil {
		t.Fatal(err)
	}
	data, err := file.SectionData(file.Section(".gopclntab"))
	if err != nil {
		t.Fatal(err)
	}
	const text = 0x10000
	table, err := Parse(data, file.ByteOrder())
	if err != nil {
		t.Fatal(err)
	}
	table = table.At(text)
	oracle, err := gosym.NewTable(nil, gosym.NewLineTable(data, text))
	if err != nil {
		t.Fatal(err)
	}
	if len(oracle.Funcs) < 1000 || len(oracle.Funcs) != table.Len() {
		t.Fatalf("got %d functions, want %d", table.Len(), len(oracle.Funcs))
	}
	lines := 0
	for i := range oracle.Funcs {
		want := &oracle.Funcs[i]
		if want.Entry == want.End { // an alias in C code
			continue
		}
		for _, addr := range []uint64{want.Entry, (want.Entry + want.End) / 2, want.End - 1} {
			f, ok := table.Find(addr)
			if !ok || f.Entry != want.Entry || f.End != want.End || string(f.Name()) != want.Name {
				t.Fatalf("%#x: got %+v, %v, want %q at %#x to %#x", addr, f, ok, want.Name, want.Entry, want.End)
			}
			file, line := f.Line(addr)
			wantFile, wantLine, _ := oracle.PCToLine(addr)
			if wantFile == "" || wantLine <= 0 || table.order.Uint32(f.data[pcLine:]) == 0 { // gosym reads on from 0
				wantFile, wantLine = "", 0
			}
			if file != wantFile || line != wantLine {
				t.Fatalf("%s at %#x: got %s:%d, want %s:%d", want.Name, addr, file, line, wantFile, wantLine)
			}
			if line > 0 {
				lines++
			}
		}
	}
	if lines < 2000 {
		t.Errorf("got %d lines, want thousands", lines)
	}
}

func TestFindDoesNotAllocate(t *testing.T) {
	table, err := Parse(testkit.GoTable(binary.LittleEndian, magic120, 0), binary.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	table = at(table)
	found := 0
	if n := testing.AllocsPerRun(20, func() {
		if f, ok := table.Find(0x2010); ok {
			if d, _ := f.SPDelta(0x2010); d == 24 && string(f.Name()) == "main.f" {
				found++
			}
		}
	}); n != 0 || found == 0 {
		t.Errorf("got %v allocations, found %d times", n, found)
	}
}

// FuzzTable takes any bytes as a table. Oracle: a function that is found
// contains the address, a line comes with a file, and SP is not above its start.
func FuzzTable(f *testing.F) {
	for _, magic := range magics {
		f.Add(testkit.GoTable(binary.LittleEndian, magic, testkit.GoTextAt), uint64(testkit.GoTextAt), uint16(0x10))
		f.Add(testkit.GoTable(binary.BigEndian, magic, testkit.GoTextAt), uint64(testkit.GoTextAt), uint16(0x41))
	}
	f.Fuzz(func(t *testing.T, data []byte, base uint64, skew uint16) {
		for _, order := range orders {
			table, err := Parse(data, order)
			if (table == nil) == (err == nil) {
				t.Fatalf("got %v and %v", table, err)
			}
			if table == nil {
				continue
			}
			table = table.At(base).WithFuncData(data)
			for i := range min(table.Len(), 100) {
				addr := table.Entry(i) + uint64(skew)
				fn, ok := table.Find(addr)
				if !ok {
					continue
				}
				if addr-fn.Entry >= fn.End-fn.Entry {
					t.Errorf("%#x is not in %#x to %#x", addr, fn.Entry, fn.End)
				}
				fn.Name()
				fn.Flags()
				if delta, known := fn.SPDelta(addr); known && delta < 0 {
					t.Errorf("got SP %d", delta)
				}
				if file, line := fn.Line(addr); (file == "") != (line == 0) || line < 0 {
					t.Errorf("got %q line %d", file, line)
				}
				if calls := fn.Inlined(addr, nil); len(calls) == 1 || len(calls) > maxInlined+1 {
					t.Errorf("got %d calls", len(calls))
				}
			}
		}
	})
}
