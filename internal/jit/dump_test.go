package jit

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// newDump begins a jitdump file: magic, version, size of the header, e_machine, pid,
// time and flags. Numbers here are those of the specification, not of the code.
func newDump(order binary.ByteOrder) *testkit.Bytes {
	return testkit.New(order).D32(0x4a695444, 1, 40, 62, 0, 7).D64(0, 0)
}

func load(b *testkit.Bytes, addr uint64, name string, code int) *testkit.Bytes {
	return b.D32(0, uint32(56+len(name)+1+code)).D64(0).D32(7, 8).D64(addr, addr, uint64(code), 1).Str(name).Zero(code)
}

func TestDump(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := load(newDump(order), 0x1000, "f", 0x20)
		lines := testkit.New(order).D64(0x2008).D32(12, 3).Str("a.js").D64(0x2000).D32(11, 0).Str("\xff").D64(0x2010).D32(1, 0).Str("b.js").Done()
		b.D32(2, uint32(32+len(lines))).D64(0, 0x2000, 3).Raw(lines)
		load(b, 0x2000, "g", 0x18)
		load(b, 0x3000, "no lines of another", 8)
		b.D32(1, 64).D64(0).D32(7, 8).D64(0x4000, 0x1000, 0x4000, 0x20, 1)
		b.D32(1, 64).D64(0).D32(7, 8).D64(0x4000, 0x9999, 0x5000, 0x20, 1)
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
		"version":     {testkit.New(binary.LittleEndian).D32(0x4a695444, 2).Zero(40).Done(), 0, "version 2 at offset 4"},
		"size 0":      {good().Zero(16).Done(), 1, "total_size at offset 0x6a: 0 bytes are no record"},
		"too short":   {good().D32(0, 16).D64(0).Done(), 1, ""},
		"wraps":       {good().D32(0, 56).D64(0).D32(7, 8).D64(0, ^uint64(0), 2, 1).Done(), 1, ""},
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
	b := newDump(binary.BigEndian).D32(2, 32+19).D64(0, 0x2000, 1).D64(0x2000).D32(1, 2).Str("ab")
	f.Add(load(b, 0x2000, "g", 4).D32(1, 64).D64(0).D32(7, 8).D64(0, 0x2000, 0x4000, 0x20, 1).Done())
	f.Fuzz(func(t *testing.T, data []byte) {
		funcs, _ := Dump(data)
		checkRuns(t, funcs, len(data))
	})
}

// TestDumpRecords has records of every size: one that is too short for its fields is
// left out, and the others count.
func TestDumpRecords(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		lines := func(b *testkit.Bytes, of uint64, n uint64, entries []byte) *testkit.Bytes {
			return b.D32(2, uint32(32+len(entries))).D64(0, of, n).Raw(entries)
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
			"a file without an end":  {func(b *testkit.Bytes) { load(lines(b, 0x1000, ^uint64(0), two[:len(two)-1]), 0x1000, "f", 8) }, []Line{{0x1000, "a", 1, 0}}, false},
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
			"no lines at last": {func(b *testkit.Bytes) {
				load(lines(lines(b, 0x1000, 2, two), 0x1000, 0, nil), 0x1000, "f", 8)
			}, nil, false},
			"lines of another at last": {func(b *testkit.Bytes) {
				load(lines(lines(b, 0x1000, 2, two), 0x2000, 0, nil), 0x1000, "f", 8)
			}, nil, false},
			"an unknown record like lines": {func(b *testkit.Bytes) {
				load(lines(b, 0x1000, 2, two).D32(77, 48).D64(0, 0x2000, 1, 0, 0), 0x1000, "f", 8)
			}, []Line{{0x1000, "a", 1, 0}, {0x1004, "b", 2, 0}}, false},
			"lines record too short": {func(b *testkit.Bytes) { load(b.D32(2, 31).Zero(31-8), 0x1000, "f", 8) }, nil, false},
			"no name":                {func(b *testkit.Bytes) { b.D32(0, 56).D64(0).D32(7, 8).D64(0x1000, 0x1000, 8, 1) }, nil, false},
			"a byte too short": {func(b *testkit.Bytes) {
				b.D32(0, 55).D64(0).D32(7, 8).D64(0x1000, 0x1000, 8).Zero(7)
			}, nil, true},
			"no code":                  {func(b *testkit.Bytes) { load(b, 0x1000, "f", 0) }, nil, true},
			"up to the end of memory":  {func(b *testkit.Bytes) { b.D32(0, 56).D64(0).D32(7, 8).D64(0, ^uint64(0)-8, 8, 1) }, nil, false},
			"around the end of memory": {func(b *testkit.Bytes) { b.D32(0, 56).D64(0).D32(7, 8).D64(0, ^uint64(0)-8, 10, 1) }, nil, true},
			"a move too short": {func(b *testkit.Bytes) {
				load(b, 0x1000, "f", 8).D32(1, 63).D64(0).D32(7, 8).D64(0, 0x1000, 0x4000, 0x20).Zero(7)
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
			b := testkit.New(order).D32(0x4a695444, 1, size, 62, 0, 7).D64(0, 0)
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
	// A header that claims more than the file has is taken for one of the usual size.
	if funcs, err := Dump(load(testkit.New(binary.LittleEndian).D32(0x4a695444, 1, 1<<20, 62, 0, 7).D64(0, 0), 0x1000, "f", 8).Done()); len(funcs) != 1 || err != nil {
		t.Errorf("a header beyond the end: got %+v, %v", funcs, err)
	}
	whole := load(newDump(binary.LittleEndian), 0x1000, "f", 8).Done()
	binary.LittleEndian.PutUint32(whole[8:], uint32(len(whole)))
	if funcs, err := Dump(whole); len(funcs) != 0 || err != nil {
		t.Errorf("a file that is all header: got %+v, %v", funcs, err)
	}
	if _, err := Dump(newDump(binary.LittleEndian).Done()[:39]); !errors.Is(err, ErrNotDump) {
		t.Errorf("a header that is cut off: got %v", err)
	}
	if funcs, err := Dump(newDump(binary.LittleEndian).Done()); len(funcs) != 0 || err != nil {
		t.Errorf("a header alone: got %+v, %v", funcs, err)
	}
}

// TestDumpLimits has what is read of a file up to each limit, and what is told beyond.
func TestDumpLimits(t *testing.T) {
	order := binary.LittleEndian
	line := func(n uint32, file string) []byte { return testkit.New(order).D64(0x1000).D32(n, 0).Str(file).Done() }
	one := load(newDump(order), 0x1000, "f", 8).Done()
	for name, tt := range map[string]struct {
		before dump
		funcs  int // that are added
		want   string
	}{
		"the last record":     {dump{records: 4<<20 - 1}, 1, ""},
		"a record too many":   {dump{records: 4 << 20}, 0, "only the first 4194304 records are read"},
		"the last function":   {dump{funcs: make([]Run[Func], 1<<20-1)}, 1, ""},
		"a function too many": {dump{funcs: make([]Run[Func], 1<<20)}, 0, "only the first 1048576 functions are read"},
	} {
		d, had := tt.before, len(tt.before.funcs)
		d.data, d.at, d.order, d.byStart = one, 40, order, map[uint64]int{}
		err := d.read()
		if len(d.funcs) != had+tt.funcs || (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s: got %d functions more, %v, want %d, %q", name, len(d.funcs)-had, err, tt.funcs, tt.want)
		}
	}
	d := dump{order: order, numLine: 1<<20 - 2}
	d.readLines(append(append(line(1, "a"), line(2, "a")...), line(3, "a")...), 3)
	if len(d.lines) != 2 || d.lines[1].Line != 2 {
		t.Errorf("got lines %+v, want the two up to the limit", d.lines)
	}
	// A name that comes again is not copied again.
	d = dump{order: order, names: 64<<20 - 3}
	d.readLines(append(line(1, "abc"), line(2, "abc")...), 2)
	if len(d.lines) != 2 || d.lines[0].File != "abc" || d.lines[1].File != "abc" {
		t.Errorf("got lines %+v, want both of abc", d.lines)
	}
	if a, b := (&dump{}).copy(make([]byte, 1024)), (&dump{}).copy(make([]byte, 1025)); len(a) != 1024 || len(b) != 1024 {
		t.Errorf("got names of %d and %d bytes, want 1024", len(a), len(b))
	}
	d = dump{names: 64<<20 - 2}
	if a, b := d.copy([]byte("abc")), d.copy([]byte("d")); a != "ab" || b != "" {
		t.Errorf("got %q and %q of the last two bytes of names", a, b)
	}
}
