package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// theDump is a core with one thread and some memory.
func theDump() []byte {
	return testkit.NewCore(arch.AMD64).Thread(7, 11, new(arch.Regs)).Segment(0x1000, 1<<16, false, bytes.Repeat([]byte("memory"), 1<<16/6+1)[:1<<16]).Done()
}

// A core is as long as its program headers say, in both byte orders.
func TestExtent(t *testing.T) {
	whole := theDump()
	big := testkit.NewCore(arch.S390X).Segment(0x1000, 8192, false, make([]byte, 8192)).Done()
	many := testkit.NewCore(arch.AMD64)
	for i := range 0x10000 {
		many.Segment(uint64(i)<<12, 1, false, []byte{1})
	}
	xnum := many.Done()
	put := func(b []byte, at int, v uint64) []byte {
		b = bytes.Clone(b)
		binary.LittleEndian.PutUint64(b[at:], v)
		return b
	}
	with := func(b []byte, at int, v byte) []byte { b = bytes.Clone(b); b[at] = v; return b }
	for _, tt := range []struct {
		name string
		core []byte
		want int64 // -1 for no core
	}{
		{"whole", whole, int64(len(whole))},
		{"longer", append(bytes.Clone(whole), 1, 2), int64(len(whole))},
		{"cut", whole[:len(whole)-1], int64(len(whole))},
		{"cut in the program headers", whole[:100], 64 + 2*56},
		{"cut in the header", whole[:63], 64},
		{"nothing", nil, 64},
		{"a beginning", whole[:3], 64},
		{"big-endian", big, int64(len(big))},
		{"65,537 segments", xnum, int64(len(xnum))},
		{"65,537 segments, cut", xnum[:1000], 64 + 0x10001*56 + 64},
		{"text", []byte("#!/bin/sh\n"), -1},
		{"long text", bytes.Repeat([]byte("text"), 100), -1},
		{"a program", with(whole, 16, 2), -1},
		{"32-bit", with(whole, 4, 1), -1},
		{"other program headers", with(whole, 54, 57), -1},
		{"an offset beyond all", put(whole, 64+8, 1<<63), math.MaxInt64},
		{"a size beyond all", put(whole, 64+32, 1<<63-1), math.MaxInt64},
		{"no program headers", put(put(whole, 32, 0), 56, 0), 64},
		{"program headers beyond all", put(whole, 32, 1<<63), math.MaxInt64},
		{"a section header beyond all", put(put(xnum, 40, 1<<63-1), 0, binary.LittleEndian.Uint64(xnum)), math.MaxInt64},
	} {
		got, err := extent(bytes.NewReader(tt.core), int64(len(tt.core)))
		if tt.want < 0 && !errors.Is(err, errNoCore) || tt.want >= 0 && (err != nil || got != tt.want) {
			t.Errorf("%s: got %d, %v, want %d", tt.name, got, err, tt.want)
		}
	}
}

// Any bytes have an extent, or are no core.
func FuzzExtent(f *testing.F) {
	f.Add(theDump())
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, b []byte) {
		need, err := extent(bytes.NewReader(b), int64(len(b)))
		if err != nil && need != 0 || err == nil && need < coreHeader {
			t.Fatalf("got %d, %v", need, err)
		}
	})
}
