package jit

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// structure appends a structure of Erlang's: its fields, the length of its name, and
// then the name, from before the end of the structure on.
func structure(b *testkit.Bytes, start, size int, name string) {
	b.D16(uint16(len(name) + 1)).Str(name).Zero(start + size + len(name) + 1 - b.Len())
}

// erlangRecord is the record of a module with two functions of 0x20 bytes.
func erlangRecord(order binary.ByteOrder) []byte {
	b := testkit.New(order).D32(1, 0).D64(0x1000).D32(2, 0x40)
	structure(b, 0, 32, "lists")
	at := b.Len()
	structure(b.D32(0, 0x20, 1), at, 16, "lists:map/2")
	at = b.Len()
	structure(b.D32(8, 42), at, 12, "lists.erl")
	at = b.Len()
	structure(b.D32(0x20, 0x40, 0), at, 16, "lists:foldl/3")
	return b.Done()
}

func TestErlang(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		data := erlangRecord(order)
		funcs, err := Erlang(data, order)
		if err != nil {
			t.Fatal(err)
		}
		checkFuncs(t, funcs, []Run[Func]{
			{Lo: 0x1000, Hi: 0x1020, Of: Func{Name: "lists:map/2", Lines: []Line{{0x1008, "lists.erl", 42, 0}}}},
			{Lo: 0x1020, Hi: 0x1040, Of: Func{Name: "lists:foldl/3"}},
		})
		emulator := testkit.New(order).D32(0, 0, 1, 0).D64(0x5000, 0).Done()
		if funcs, err := Erlang(emulator, order); err != nil || len(funcs) != 0 {
			t.Errorf("emulator: got %v, %v", funcs, err)
		}
		for n := range len(data) {
			if _, err := Erlang(data[:n], order); !errors.Is(err, ErrNotErlang) {
				t.Errorf("%d bytes: got %v", n, err)
			}
		}
		if _, err := Erlang(append(data, 0), order); !errors.Is(err, ErrNotErlang) {
			t.Errorf("a byte more: got %v", err)
		}
	}
}

// A function beyond the code of its module is left out.
func TestErlangBeyond(t *testing.T) {
	data := erlangRecord(binary.LittleEndian)
	data[20] = 0x3f
	funcs, err := Erlang(data, binary.LittleEndian)
	if err != nil || len(funcs) != 1 || funcs[0].Of.Name != "lists:map/2" {
		t.Errorf("got %+v, %v", funcs, err)
	}
}

func FuzzErlang(f *testing.F) {
	f.Add(erlangRecord(binary.LittleEndian), false)
	f.Add(erlangRecord(binary.BigEndian), true)
	f.Fuzz(func(t *testing.T, data []byte, big bool) {
		order := binary.ByteOrder(binary.LittleEndian)
		if big {
			order = binary.BigEndian
		}
		funcs, err := Erlang(data, order)
		if err != nil && funcs != nil {
			t.Errorf("got %v with %v", funcs, err)
		}
		checkRuns(t, funcs, len(data))
	})
}

// What does not add up is of another kind, and functions beyond the code of their
// module are left out.
func TestErlangKinds(t *testing.T) {
	order := binary.LittleEndian
	emulator := func(size int, layout uint32) []byte {
		return testkit.New(order).D32(0, 0, layout).Zero(size - 12).Done()
	}
	with := func(at int, v uint32) []byte {
		data := erlangRecord(order)
		order.PutUint32(data[at:], v)
		return data
	}
	first := 32 + len("lists") + 1 // where its first range is
	long := testkit.New(order).D32(1, 0).D64(0x1000).D32(1, 0x40)
	structure(long, 0, 32, "m")
	at := long.Len()
	structure(long.D32(0, 0x20, 0), at, 16, strings.Repeat("x", 2048))
	for name, tt := range map[string]struct {
		data []byte
		want string // the functions
		bad  bool
	}{
		"emulator":             {emulator(32, 1), "", false},
		"emulator's layout":    {emulator(32, 2), "", true},
		"emulator, longer":     {emulator(32+1, 1), "", true},
		"another kind":         {with(0, 2), "", true},
		"one range":            {with(16, 1), "", true},
		"three ranges":         {with(16, 3), "", true},
		"empty function":       {with(first+4, 0), "lists:foldl/3", false},
		"backwards":            {with(first, 0x21), "lists:foldl/3", false},
		"up to the end":        {with(first+4, 0x40), "lists:map/2 lists:foldl/3", false},
		"beyond the end":       {with(first+4, 0x41), "lists:foldl/3", false},
		"no lines":             {with(first+8, 0), "", true},
		"two lines":            {with(first+8, 2), "", true},
		"a name that is long":  {long.Done(), strings.Repeat("x", 1024), false},
		"around the addresses": {with(12, 0xffffffff), "lists:map/2 lists:foldl/3", false},
	} {
		if name == "around the addresses" {
			order.PutUint32(tt.data[8:], 0xffffffd0) // the second function is around the end
			tt.want = "lists:map/2"
		}
		funcs, err := Erlang(tt.data, order)
		var names []string
		for _, f := range funcs {
			names = append(names, f.Of.Name)
		}
		if strings.Join(names, " ") != tt.want || errors.Is(err, ErrNotErlang) != tt.bad || err != nil && !tt.bad {
			t.Errorf("%s: got %.100q, %v, want %.100q, an error: %v", name, names, err, tt.want, tt.bad)
		}
	}
}

// TestErlangEnds has records that end where a name should be, and lines in any order.
func TestErlangEnds(t *testing.T) {
	order := binary.LittleEndian
	module := func(ranges uint32) *testkit.Bytes { // without a name
		return testkit.New(order).D32(1, 0).D64(0x1000).D32(ranges, 0x40).D16(0).Zero(6)
	}
	part := func(b *testkit.Bytes, lo, hi, lines uint32) *testkit.Bytes {
		return b.D32(lo, hi, lines).D16(0).Str("x").Zero(0)
	}
	line := func(b *testkit.Bytes, at, n uint32) *testkit.Bytes { return b.D32(at, n).D16(0).Str("y") }
	lined := part(module(2), 0, 0x20, 3)
	for _, at := range []uint32{8, 0, 4} {
		line(lined, at, 100+at)
	}
	tests := []struct {
		name string
		data []byte
		want []Run[Func] // nil if the data is of another kind
	}{
		{"a range at the end", part(module(1), 0, 0x20, 0).Done(), []Run[Func]{{Lo: 0x1000, Hi: 0x1020}}},
		{"lines out of order", part(lined, 0x20, 0x40, 0).Done(), []Run[Func]{
			{Lo: 0x1000, Hi: 0x1020, Of: Func{Lines: []Line{{0x1000, "", 100, 0}, {0x1004, "", 104, 0}, {0x1008, "", 108, 0}}}},
			{Lo: 0x1020, Hi: 0x1040},
		}},
		// The header's name is beyond the end. Read as ranges, it would add up.
		{"a name of the module beyond the end", testkit.New(order).D32(1, 0).D64(16<<32).D32(1, 0).D16(1).Zero(6).Done(), nil},
	}
	for _, tt := range tests {
		got, err := Erlang(tt.data, order)
		if (err == nil) != (tt.want != nil) || err != nil && !errors.Is(err, ErrNotErlang) {
			t.Errorf("%s: got %v, %v", tt.name, got, err)
			continue
		}
		t.Run(tt.name, func(t *testing.T) { checkFuncs(t, got, tt.want) })
	}
}

// TestErlangLimits has functions and lines beyond what is kept: the others are read,
// and the record is still one of Erlang's.
func TestErlangLimits(t *testing.T) {
	const most = 1 << 20
	order := binary.LittleEndian
	b := testkit.New(order).D32(1, 0).D64(0x1000).D32(3, 0x40).D16(0).Zero(6)
	b.D32(0, 8, most-1).Zero(4)
	for range most - 1 {
		b.D32(0, 1).Zero(4)
	}
	b.D32(8, 16, 3).Zero(4).D32(8, 7).Zero(4).D32(9, 8).Zero(4).D32(10, 8).Zero(4)
	b.D32(16, 24, 1).Zero(4).D32(16, 9).Zero(4)
	funcs, err := Erlang(b.Done(), order)
	if err != nil || len(funcs) != 3 || len(funcs[0].Of.Lines) != most-1 || len(funcs[1].Of.Lines) != 1 || funcs[1].Of.Lines[0].Line != 7 || len(funcs[2].Of.Lines) != 0 {
		t.Errorf("got %d functions, %v, want 3 with %d lines", len(funcs), err, most)
	}
	b = testkit.New(order).D32(1, 0).D64(0x1000).D32(most+1, 0x40).D16(0).Zero(6)
	for range most {
		b.D32(0, 8, 0).Zero(4)
	}
	funcs, err = Erlang(b.D32(8, 16, 0).Zero(4).Done(), order)
	if err != nil || len(funcs) != most || funcs[most-1].Lo != 0x1000 {
		t.Errorf("got %d functions, %v, want the first %d", len(funcs), err, most)
	}
}
