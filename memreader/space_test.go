package memreader_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/memreader"
)

func seg(addr, size uint64, data string, why memreader.Why) memreader.Segment {
	return memreader.Segment{Addr: addr, Size: size, Data: []byte(data), Why: why}
}

func TestSpaceRead(t *testing.T) {
	const top = ^uint64(0)
	tests := []struct {
		name string
		segs []memreader.Segment
		addr uint64
		size int
		want string
		why  memreader.Why // of the byte after want, if want is short
	}{
		{"inside", []memreader.Segment{seg(0x1000, 8, "abcdefgh", 0)}, 0x1002, 3, "cde", 0},
		{"before", []memreader.Segment{seg(0x1000, 8, "abcdefgh", 0)}, 0xfff, 3, "", memreader.Unmapped},
		{"past the end", []memreader.Segment{seg(0x1000, 8, "abcdefgh", 0)}, 0x1006, 3, "gh", memreader.Unmapped},
		{"not dumped", []memreader.Segment{seg(0x1000, 8, "abcd", memreader.NotDumped)}, 0x1002, 4, "cd", memreader.NotDumped},
		{"truncated", []memreader.Segment{seg(0x1000, 8, "", memreader.Truncated)}, 0x1000, 1, "", memreader.Truncated},
		{"across segments that touch", []memreader.Segment{seg(0x1004, 4, "efgh", 0), seg(0x1000, 4, "abcd", 0)}, 0x1002, 4, "cdef", 0},
		{"later wins", []memreader.Segment{seg(0x1000, 8, "abcdefgh", 0), seg(0x1002, 2, "XY", 0)}, 0x1000, 8, "abXYefgh", 0},
		{"later wins, listed first by address", []memreader.Segment{seg(0x1002, 2, "XY", 0), seg(0x1000, 8, "abcdefgh", 0)}, 0x1000, 8, "abcdefgh", 0},
		{"later hole hides", []memreader.Segment{seg(0x1000, 4, "abcd", 0), seg(0x1002, 2, "", memreader.NotDumped)}, 0x1000, 4, "ab", memreader.NotDumped},
		{"data longer than size", []memreader.Segment{seg(0x1000, 2, "abcd", 0)}, 0x1000, 4, "ab", memreader.Unmapped},
		{"wraps around", []memreader.Segment{seg(top-3, 100, "abcdefgh", 0)}, top - 3, 3, "abc", 0},
		{"wraps around, to the last byte", []memreader.Segment{seg(top-3, 100, "abcdefgh", 0)}, top - 3, 4, "abc", memreader.Unmapped},
		{"one byte", []memreader.Segment{seg(0x1000, 1, "a", 0)}, 0x1000, 2, "a", memreader.Unmapped},
		{"an empty segment first", []memreader.Segment{seg(0x1000, 0, "", 0), seg(0x1000, 4, "abcd", 0)}, 0x1000, 4, "abcd", 0},
		{"empty segments before two that overlap", []memreader.Segment{seg(0x9000, 0, "", 0), seg(0x9000, 0, "", 0), seg(0x1000, 4, "abcd", 0), seg(0x1002, 4, "WXYZ", 0)}, 0x1000, 6, "abWXYZ", 0},
		{"read wraps around", []memreader.Segment{seg(top-3, 3, "abc", 0), seg(0, 2, "zz", 0)}, top - 2, 6, "bc", memreader.Unmapped},
		{"all of memory", []memreader.Segment{seg(0, top, "ab", memreader.NotDumped)}, 0, 3, "ab", memreader.NotDumped},
		{"empty segment", []memreader.Segment{seg(0x1000, 0, "ab", 0)}, 0x1000, 1, "", memreader.Unmapped},
		{"nothing asked", nil, 0x1000, 0, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := memreader.NewSpace(slices.Clone(tt.segs))
			p := make([]byte, tt.size)
			n, err := s.ReadMem(p, tt.addr)
			if string(p[:n]) != tt.want {
				t.Errorf("got %q, want %q", p[:n], tt.want)
			}
			checkFault(t, err, tt.addr+uint64(n), tt.why, n < tt.size)
		})
	}
}

// checkFault checks that err is the fault at addr, or nil if none is wanted.
func checkFault(t *testing.T, err error, addr uint64, why memreader.Why, want bool) {
	t.Helper()
	fault, ok := errors.AsType[*memreader.FaultError](err)
	if ok != want || want && *fault != (memreader.FaultError{Addr: addr, Why: why}) {
		t.Errorf("got error %v, want fault at %#x: %v, %v", err, addr, why, want)
	}
}

// FuzzSpace compares a Space with a list of bytes by address. Each four bytes
// of input are a segment: its address, its size, how much of it there is, why
// there is no more.
func FuzzSpace(f *testing.F) {
	f.Add([]byte("\x10\x10\x10\x01\x18\x10\x04\x02"), uint8(0x12))
	f.Add([]byte("\x00\xff\xff\x01\x00\x10\x00\x01\x20\x01\x01\x00\x20\x02\x01\x02"), uint8(0))
	f.Fuzz(func(t *testing.T, layout []byte, from uint8) {
		const base = ^uint64(0) - 0x180 // so that some segments wrap around
		type cell struct {
			ok  bool
			b   byte
			why memreader.Why
		}
		var want [0x180]cell
		var segs []memreader.Segment
		for n := byte(0); len(layout) >= 4 && n < 64; n, layout = n+1, layout[4:] {
			at, size, have, why := int(layout[0]), int(layout[1]), int(layout[2]), memreader.Why(layout[3]%4)
			data := bytes.Repeat([]byte{n}, have)
			segs = append(segs, memreader.Segment{Addr: base + uint64(at), Size: uint64(size), Data: data, Why: why})
			for i := at; i < min(at+size, len(want)); i++ {
				want[i] = cell{i-at < have, n, why}
			}
		}
		s := memreader.NewSpace(segs)

		got := make([]byte, 1)
		for i, w := range want {
			addr := base + uint64(i)
			n, err := s.ReadMem(got, addr)
			if (n == 1) != w.ok || n == 1 && got[0] != w.b {
				t.Fatalf("at %#x: read %d bytes, %d; want %v", addr, n, got[0], w)
			}
			checkFault(t, err, addr, w.why, !w.ok)
			mem, start := s.View(addr)
			if (mem != nil) != w.ok || mem != nil && mem[addr-start] != w.b {
				t.Fatalf("at %#x: view of %d bytes at %#x, want %v", addr, len(mem), start, w)
			}
			lo, hi := s.Gap(addr)
			if (lo < hi) == w.ok {
				t.Fatalf("at %#x: gap from %#x to %#x, want %v", addr, lo, hi, w)
			}
			for a := max(lo, base); a < hi && a-base < uint64(len(want)); a++ {
				if want[a-base].ok {
					t.Fatalf("gap from %#x to %#x around %#x contains %#x", lo, hi, addr, a)
				}
			}
		}

		run := make([]byte, len(want)-int(from))
		n, _ := s.ReadMem(run, base+uint64(from))
		for i, b := range run[:n] {
			if w := want[int(from)+i]; !w.ok || w.b != b {
				t.Fatalf("read at %#x: byte %d is %d, want %v", base+uint64(from), i, b, w)
			}
		}
		if n < len(run) && want[int(from)+n].ok {
			t.Fatalf("read at %#x ends after %d bytes, before readable ones", base+uint64(from), n)
		}
	})
}

func BenchmarkSpace(b *testing.B) {
	page := make([]byte, 4096)
	segs := make([]memreader.Segment, 140_000)
	for i := range segs {
		segs[i] = memreader.Segment{Addr: uint64(i) * 8192, Size: 4096, Data: page}
	}
	s := memreader.NewSpace(segs)
	p := make([]byte, 8)
	b.Run("read/140000segments", func(b *testing.B) {
		b.ReportAllocs()
		addr := uint64(0)
		for b.Loop() {
			addr = (addr + 8192*7919) % (8192 * 140_000)
			if _, err := s.ReadMem(p, addr); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("overlapping", func(b *testing.B) {
		for b.Loop() {
			over := make([]memreader.Segment, 10_000)
			for i := range over {
				over[i] = memreader.Segment{Addr: uint64(i) * 4096, Size: 1 << 30, Data: page}
			}
			memreader.NewSpace(over)
		}
	})
}

// A run goes on where bytes that follow one another in memory do so at their
// addresses too, and nowhere else.
func TestSpaceRun(t *testing.T) {
	data := slices.Clip([]byte("abcdefghijkl"))
	part := func(addr, size uint64, lo, hi int) memreader.Segment {
		return memreader.Segment{Addr: addr, Size: size, Data: data[lo:hi]}
	}
	tests := []struct {
		name string
		segs []memreader.Segment
		addr uint64
		want string
	}{
		{"one segment", []memreader.Segment{part(0x1000, 4, 0, 4)}, 0x1001, "bcd"},
		{"two that touch", []memreader.Segment{part(0x1000, 4, 0, 4), part(0x1004, 4, 4, 8)}, 0x1001, "bcdefgh"},
		{"three, to the end of the array", []memreader.Segment{part(0x1000, 4, 0, 4), part(0x1004, 4, 4, 8), part(0x1008, 4, 8, 12)}, 0x1000, "abcdefghijkl"},
		{"from the second", []memreader.Segment{part(0x1000, 4, 0, 4), part(0x1004, 4, 4, 8)}, 0x1004, "efgh"},
		{"other bytes", []memreader.Segment{part(0x1000, 4, 0, 4), part(0x1004, 4, 8, 12)}, 0x1000, "abcd"},
		{"the same bytes again", []memreader.Segment{part(0x1000, 4, 0, 4), part(0x1004, 4, 0, 4)}, 0x1000, "abcd"},
		{"another array", []memreader.Segment{part(0x1000, 4, 0, 4), seg(0x1004, 4, "efgh", 0)}, 0x1000, "abcd"},
		{"a gap", []memreader.Segment{part(0x1000, 4, 0, 4), part(0x1005, 4, 4, 8)}, 0x1000, "abcd"},
		{"bytes missing between", []memreader.Segment{part(0x1000, 6, 0, 4), part(0x1006, 4, 4, 8)}, 0x1000, "abcd"},
		{"more of the array, of one byte", []memreader.Segment{part(0x1000, 4, 0, 4), part(0x1004, 1, 4, 5)}, 0x1000, "abcde"},
		{"the last byte of the array", []memreader.Segment{part(0x1000, 11, 0, 11), part(0x100b, 1, 11, 12)}, 0x1000, "abcdefghijkl"},
		{"nothing dumped behind", []memreader.Segment{part(0x1000, 4, 0, 4), part(0x1004, 4, 4, 4)}, 0x1000, "abcd"},
		{"another array behind the end of the first", []memreader.Segment{part(0x1000, 12, 0, 12), seg(0x100c, 4, "efgh", 0)}, 0x1000, "abcdefghijkl"},
		{"far behind what was dumped", []memreader.Segment{part(0x1000, 0x100, 0, 4)}, 0x1080, ""},
		{"nothing dumped", []memreader.Segment{part(0x1000, 4, 0, 0)}, 0x1000, ""},
		{"unmapped", []memreader.Segment{part(0x1000, 4, 0, 4)}, 0x1004, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := memreader.NewSpace(tt.segs).Run(tt.addr); string(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A run of a forged core with thousands of small segments is bounded.
func TestSpaceRunBounded(t *testing.T) {
	data := bytes.Repeat([]byte("abcd"), 100)
	var segs []memreader.Segment
	for i := range 100 {
		segs = append(segs, memreader.Segment{Addr: uint64(0x1000 + 4*i), Size: 4, Data: data[4*i : 4*i+4]})
	}
	s := memreader.NewSpace(segs)
	if got := len(s.Run(0x1001)); got != 4*65-1 {
		t.Errorf("got %d bytes, want those of the first segment and 64 more", got)
	}
	if got := len(s.Run(0x1000 + 4*90)); got != 40 {
		t.Errorf("got %d bytes, want 40", got)
	}
}

// A gap is the whole of what cannot be read around an address, up to the ends of its
// segment or of the hole between two.
func TestSpaceGap(t *testing.T) {
	const top = ^uint64(0)
	s := memreader.NewSpace([]memreader.Segment{
		seg(0x1000, 0x10, "abcd", memreader.NotDumped),
		seg(0x1010, 0x10, "", memreader.Truncated),
		seg(0x2000, 4, "abcd", 0),
	})
	for _, tt := range []struct {
		name   string
		s      *memreader.Space
		addr   uint64
		lo, hi uint64
	}{
		{"below", s, 0xfff, 0, 0x1000},
		{"at 0", s, 0, 0, 0x1000},
		{"data", s, 0x1000, 0x1000, 0x1000},
		{"the last data", s, 0x1003, 0x1003, 0x1003},
		{"behind the data", s, 0x1004, 0x1004, 0x1010},
		{"the end of the segment", s, 0x100f, 0x1004, 0x1010},
		{"a segment without data", s, 0x1010, 0x1010, 0x1020},
		{"a hole", s, 0x1020, 0x1020, 0x2000},
		{"the end of a hole", s, 0x1fff, 0x1020, 0x2000},
		{"above", s, 0x2004, 0x2004, top},
		{"no memory", memreader.NewSpace(nil), 5, 0, top},
	} {
		if lo, hi := tt.s.Gap(tt.addr); lo != tt.lo || hi != tt.hi {
			t.Errorf("%s: got %#x to %#x, want %#x to %#x", tt.name, lo, hi, tt.lo, tt.hi)
		}
	}
}

// Segments are ascending and do not overlap. What nothing covers any more is left out.
func TestSegments(t *testing.T) {
	s := memreader.NewSpace([]memreader.Segment{
		seg(0x3000, 8, "hidden", 0),
		seg(0x1000, 8, "abcdefgh", memreader.NotDumped),
		seg(0x1004, 8, "XY", memreader.Truncated),
		seg(0x3000, 8, "whole", memreader.NotDumped),
		seg(0x5000, 0, "empty", 0),
	})
	want := []memreader.Segment{
		seg(0x1000, 4, "abcd", memreader.NotDumped),
		seg(0x1004, 4, "XY", memreader.Truncated), // cut where the other ends
		seg(0x1008, 4, "", memreader.Truncated),
		seg(0x3000, 8, "whole", memreader.NotDumped),
	}
	if got := s.Segments(); !slices.EqualFunc(got, want, func(a, b memreader.Segment) bool {
		return a.Addr == b.Addr && a.Size == b.Size && a.Why == b.Why && string(a.Data) == string(b.Data)
	}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := memreader.NewSpace([]memreader.Segment{seg(0x1000, 4, "abcd", 0), seg(0x5000, 0, "empty", 0)}).Segments(); len(got) != 1 {
		t.Errorf("got %+v, want no empty segment", got)
	}
	for addr, want := range map[uint64]uint64{0xfff: 0, 0x1000: 0x1000, 0x1003: 0x1000, 0x1004: 0x1004, 0x1007: 0x1004, 0x100b: 0x1008, 0x100c: 0, 0x3007: 0x3000, 0x3008: 0} {
		if got := s.Find(addr); (got == nil) != (want == 0) || got != nil && got.Addr != want {
			t.Errorf("%#x is in %+v, want the segment at %#x", addr, got, want)
		}
	}
}
