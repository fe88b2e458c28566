package jit

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// newDump begins a jitdump file.
func newDump(order binary.ByteOrder) *testkit.Bytes {
	return testkit.New(order).D32(dumpMagic, 1, dumpHeader, 62, 0, 7).D64(0, 0)
}

func load(b *testkit.Bytes, addr uint64, name string, code int) *testkit.Bytes {
	return b.D32(dumpLoad, uint32(dumpLoadSize+len(name)+1+code)).D64(0).D32(7, 8).D64(addr, addr, uint64(code), 1).Str(name).Zero(code)
}

func TestDump(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := load(newDump(order), 0x1000, "f", 0x20)
		lines := testkit.New(order).D64(0x2008).D32(12, 3).Str("a.js").D64(0x2000).D32(11, 0).Str("\xff").D64(0x2010).D32(1, 0).Str("b.js").Done()
		b.D32(dumpLines, uint32(dumpLinesSize+len(lines))).D64(0, 0x2000, 3).Raw(lines)
		load(b, 0x2000, "g", 0x18)
		load(b, 0x3000, "no lines of another", 8)
		b.D32(dumpMove, dumpMoveSize).D64(0).D32(7, 8).D64(0x4000, 0x1000, 0x4000, 0x20, 1)
		b.D32(dumpMove, dumpMoveSize).D64(0).D32(7, 8).D64(0x4000, 0x9999, 0x5000, 0x20, 1)
		b.D32(77, 24).D64(0, 0)
		load(b, 0x6000, "cut", 0x100)
		data := b.Done()
		funcs, err := Dump(data[:len(data)-1])
		if err != nil {
			t.Errorf("%v: got %v", order, err)
		}
		checkFuncs(t, funcs, []Run[Func]{
			{Lo: 0x4000, Hi: 0x4020, Of: Func{Name: "f"}},
			{Lo: 0x3000, Hi: 0x3008, Of: Func{Name: "no lines of another"}},
			{Lo: 0x2000, Hi: 0x2018, Of: Func{Name: "g", Lines: []Line{
				{0x2000, "a.js", 11, 0}, {0x2008, "a.js", 12, 3}, {0x2010, "b.js", 1, 0},
			}}},
			{Lo: 0x1000, Hi: 0x1020, Of: Func{Name: "f"}},
		})
	}
}

func TestDumpDamaged(t *testing.T) {
	good := func() *testkit.Bytes { return load(newDump(binary.LittleEndian), 0x1000, "f", 4) }
	for name, tt := range map[string]struct {
		data  []byte
		funcs int
		want  string
	}{
		"empty":       {nil, 0, ErrNotDump.Error()},
		"other magic": {make([]byte, 100), 0, ErrNotDump.Error()},
		"version":     {testkit.New(binary.LittleEndian).D32(dumpMagic, 2).Zero(40).Done(), 0, "version 2 at offset 4"},
		"size 0":      {good().Zero(16).Done(), 1, "total_size at offset 0x6a: 0 bytes are no record"},
		"too short":   {good().D32(dumpLoad, 16).D64(0).Done(), 1, ""},
		"wraps":       {good().D32(dumpLoad, dumpLoadSize).D64(0).D32(7, 8).D64(0, ^uint64(0), 2, 1).Done(), 1, ""},
	} {
		funcs, err := Dump(tt.data)
		if len(funcs) != tt.funcs || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %d functions, %v; want %d, %q", name, len(funcs), err, tt.funcs, tt.want)
		}
		if tt.funcs == 0 && name != "version" && !errors.Is(err, ErrNotDump) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzDump(f *testing.F) {
	f.Add(load(newDump(binary.LittleEndian), 0x1000, "f", 4).Done())
	b := newDump(binary.BigEndian).D32(dumpLines, dumpLinesSize+19).D64(0, 0x2000, 1).D64(0x2000).D32(1, 2).Str("ab")
	f.Add(load(b, 0x2000, "g", 4).D32(dumpMove, dumpMoveSize).D64(0).D32(7, 8).D64(0, 0x2000, 0x4000, 0x20, 1).Done())
	f.Fuzz(func(t *testing.T, data []byte) {
		funcs, _ := Dump(data)
		checkRuns(t, funcs, len(data))
	})
}

// The names of all functions together are bounded.
func TestDumpNames(t *testing.T) {
	d := dump{names: maxNames - 2}
	if a, b := d.copy([]byte("abc")), d.copy([]byte("d")); a != "ab" || b != "" {
		t.Errorf("got %q and %q", a, b)
	}
}

// TestDumpRecords has records of every size: one that is too short for its fields is
// left out, and the others count.
func TestDumpRecords(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		lines := func(b *testkit.Bytes, of uint64, n uint64, entries []byte) *testkit.Bytes {
			return b.D32(dumpLines, uint32(dumpLinesSize+len(entries))).D64(0, of, n).Raw(entries)
		}
		line := func(addr uint64, n uint32, file string) []byte {
			return testkit.New(order).D64(addr).D32(n, 0).Str(file).Done()
		}
		two := append(line(0x1000, 1, "a"), line(0x1004, 2, "b")...)
		for name, tt := range map[string]struct {
			fill  func(b *testkit.Bytes)
			lines []Line // of the one function
			none  bool   // no function
		}{
			"lines":                  {func(b *testkit.Bytes) { load(lines(b, 0x1000, 2, two), 0x1000, "f", 8) }, []Line{{0x1000, "a", 1, 0}, {0x1004, "b", 2, 0}}, false},
			"fewer lines than there": {func(b *testkit.Bytes) { load(lines(b, 0x1000, 1, two), 0x1000, "f", 8) }, []Line{{0x1000, "a", 1, 0}}, false},
			"more lines than there":  {func(b *testkit.Bytes) { load(lines(b, 0x1000, 9, two), 0x1000, "f", 8) }, []Line{{0x1000, "a", 1, 0}, {0x1004, "b", 2, 0}}, false},
			"a file without an end":  {func(b *testkit.Bytes) { load(lines(b, 0x1000, 2, two[:len(two)-1]), 0x1000, "f", 8) }, []Line{{0x1000, "a", 1, 0}}, false},
			"a line without a file":  {func(b *testkit.Bytes) { load(lines(b, 0x1000, 2, two[:18+16]), 0x1000, "f", 8) }, []Line{{0x1000, "a", 1, 0}}, false},
			"the file of before": {func(b *testkit.Bytes) {
				load(lines(b, 0x1000, 2, append(line(0x1000, 1, "a"), line(0x1004, 2, "\xff")...)), 0x1000, "f", 8)
			}, []Line{{0x1000, "a", 1, 0}, {0x1004, "a", 2, 0}}, false},
			"of one address": {func(b *testkit.Bytes) {
				load(lines(b, 0x1000, 2, append(line(0x1000, 1, "a"), line(0x1000, 2, "a")...)), 0x1000, "f", 8)
			}, []Line{{0x1000, "a", 1, 0}, {0x1000, "a", 2, 0}}, false},
			"lines of another": {func(b *testkit.Bytes) { load(lines(b, 0x2000, 2, two), 0x1000, "f", 8) }, nil, false},
			"later lines count": {func(b *testkit.Bytes) {
				load(lines(lines(b, 0x1000, 2, two), 0x1000, 1, line(0x1000, 7, "c")), 0x1000, "f", 8)
			}, []Line{{0x1000, "c", 7, 0}}, false},
			"lines record too short": {func(b *testkit.Bytes) { load(b.D32(dumpLines, dumpLinesSize-1).Zero(dumpLinesSize-9), 0x1000, "f", 8) }, nil, false},
			"no name":                {func(b *testkit.Bytes) { b.D32(dumpLoad, dumpLoadSize).D64(0).D32(7, 8).D64(0x1000, 0x1000, 8, 1) }, nil, false},
			"a byte too short": {func(b *testkit.Bytes) {
				b.D32(dumpLoad, dumpLoadSize-1).D64(0).D32(7, 8).D64(0x1000, 0x1000, 8).Zero(7)
			}, nil, true},
			"no code":                  {func(b *testkit.Bytes) { load(b, 0x1000, "f", 0) }, nil, true},
			"up to the end of memory":  {func(b *testkit.Bytes) { b.D32(dumpLoad, dumpLoadSize).D64(0).D32(7, 8).D64(0, ^uint64(0)-8, 8, 1) }, nil, false},
			"around the end of memory": {func(b *testkit.Bytes) { b.D32(dumpLoad, dumpLoadSize).D64(0).D32(7, 8).D64(0, ^uint64(0)-8, 10, 1) }, nil, true},
			"a move too short": {func(b *testkit.Bytes) {
				load(b, 0x1000, "f", 8).D32(dumpMove, dumpMoveSize-1).D64(0).D32(7, 8).D64(0, 0x1000, 0x4000, 0x20).Zero(7)
			}, nil, false},
		} {
			b := newDump(order)
			tt.fill(b)
			funcs, err := Dump(b.Done())
			if err != nil || (len(funcs) != 1) != tt.none || len(funcs) > 1 {
				t.Errorf("%v, %s: got %+v, %v", order, name, funcs, err)
				continue
			}
			if !tt.none && !slices.Equal(funcs[0].Of.Lines, tt.lines) {
				t.Errorf("%v, %s: got lines %+v, want %+v", order, name, funcs[0].Of.Lines, tt.lines)
			}
		}
		// The header may be larger, and says so.
		for size, want := range map[uint32]int{dumpHeader: 1, dumpHeader + 8: 1, 1 << 20: 0, 8: 1} {
			b := testkit.New(order).D32(dumpMagic, 1, size, 62, 0, 7).D64(0, 0)
			if size == dumpHeader+8 {
				b.D64(0)
			}
			if size == 1<<20 {
				b.D32(1, 8) // no record, as its size tells
			}
			funcs, _ := Dump(load(b, 0x1000, "f", 8).Done())
			if len(funcs) != want {
				t.Errorf("%v, a header of %d bytes: got %d functions, want %d", order, size, len(funcs), want)
			}
		}
	}
	if _, err := Dump(newDump(binary.LittleEndian).Done()[:dumpHeader-1]); !errors.Is(err, ErrNotDump) {
		t.Errorf("a header that is cut off: got %v", err)
	}
	if funcs, err := Dump(newDump(binary.LittleEndian).Done()); len(funcs) != 0 || err != nil {
		t.Errorf("a header alone: got %+v, %v", funcs, err)
	}
}
