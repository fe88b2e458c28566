package shrink

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
)

const page = pageSize

// Small stacks are whole; the largest share what is left.
func TestShare(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name  string
		sizes []uint64
		want  uint64
	}{
		{"none", nil, maxStacks},
		{"small ones", []uint64{page, 8 * page}, maxStacks},
		{"one large", []uint64{page, 400 * mib}, maxStacks - page},
		{"two large", []uint64{200 * mib, 56 * mib, 300 * mib}, 100 * mib},
		{"many", slices.Repeat([]uint64{4 * mib}, 128), 2 * mib},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s stacks
			for _, size := range tt.sizes {
				s.list = append(s.list, used{size: size})
			}
			if got := s.share(); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// A stack that is cut keeps its innermost part, and some of its far end.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name        string
		size        uint64
		parts, want []core.Range
	}{
		{"head and tail", 64 * page, []core.Range{{Lo: 0, Hi: 1000 * page}}, []core.Range{{Lo: 0, Hi: 63 * page}, {Lo: 999 * page, Hi: 1000 * page}}},
		{"no tail", 2 * page, []core.Range{{Lo: 0, Hi: 1000 * page}}, []core.Range{{Lo: 0, Hi: 2 * page}}},
		{
			"two parts", 64 * page,
			[]core.Range{{Lo: 0, Hi: 60 * page}, {Lo: 100 * page, Hi: 200 * page}},
			[]core.Range{{Lo: 0, Hi: 60 * page}, {Lo: 100 * page, Hi: 103 * page}, {Lo: 199 * page, Hi: 200 * page}},
		},
		{"nothing left", 0, []core.Range{{Lo: page, Hi: 2 * page}}, []core.Range{{Lo: page, Hi: page}}},
		{"no parts", page, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := used{parts: tt.parts}
			if u.cut(tt.size); !slices.Equal(u.parts, tt.want) {
				t.Errorf("got %#x, want %#x", u.parts, tt.want)
			}
		})
	}
}

// What is beside a stack is kept exactly, and everything else as pages.
func TestBeside(t *testing.T) {
	stacks := []core.Range{{Lo: page + 0x100, Hi: page + 0x500}, {Lo: 8 * page, Hi: 9*page + 0x100}}
	for _, tt := range []struct {
		name     string
		in, want core.Range
	}{
		{"elsewhere", core.Range{Lo: 4*page + 8, Hi: 4*page + 9}, core.Range{Lo: 4 * page, Hi: 5 * page}},
		{"below a stack", core.Range{Lo: page + 8, Hi: page + 9}, core.Range{Lo: page, Hi: page + unit}},
		{"above a stack", core.Range{Lo: 2*page - 1, Hi: 2 * page}, core.Range{Lo: 2*page - unit, Hi: 2 * page}},
		{"above the last", core.Range{Lo: 9*page + 0x800, Hi: 9*page + 0x801}, core.Range{Lo: 9*page + 0x800, Hi: 9*page + 0x800 + unit}},
		{"the page before", core.Range{Lo: 7 * page, Hi: 7*page + 1}, core.Range{Lo: 7 * page, Hi: 8 * page}},
		{"the page behind", core.Range{Lo: 10 * page, Hi: 10*page + 1}, core.Range{Lo: 10 * page, Hi: 11 * page}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := beside(stacks, []core.Range{tt.in}); !slices.Equal(got, []core.Range{tt.want}) {
				t.Errorf("got %#x, want %#x", got, tt.want)
			}
		})
	}
}

// What is read is noted, whichever way, a unit at a time and up to a limit.
func TestRecorder(t *testing.T) {
	data := make([]byte, (maxRecorded+2)*unit)
	space := memreader.NewSpace([]memreader.Segment{{Addr: page + 8, Size: uint64(len(data)), Data: data, Why: memreader.NotDumped}})
	for _, tt := range []struct {
		name string
		read func(r *recorder)
		want []uint64
		full bool
	}{
		{"nothing", func(*recorder) {}, nil, false},
		{"a word", func(r *recorder) { _, _ = (&memreader.Words{R: r}).Uint64(3 * page) }, []uint64{3}, false},
		{"a word in two pages", func(r *recorder) { _, _ = (&memreader.Words{R: r}).Uint64(3*page - 4) }, []uint64{2, 3}, false},
		{"the first page", func(r *recorder) { _, _ = (&memreader.Words{R: r}).Uint64(page + 16) }, []uint64{1}, false},
		{"bytes", func(r *recorder) { _, _ = r.ReadMem(make([]byte, 2*page), 4*page+1) }, []uint64{4, 5, 6}, false},
		{"not there", func(r *recorder) { _, _ = r.ReadMem(make([]byte, 2*page), 0) }, nil, false},
		{"through layers", func(r *recorder) {
			l := &memreader.Layers{Top: r, Under: memreader.NewSpace(nil)}
			_, _ = (&memreader.Words{R: l}).Uint64(9 * page)
		}, []uint64{9}, false},
		{"an image", func(r *recorder) { _, _ = memreader.Bytes(r, 2*page, 100) }, nil, false},
		{"everything", func(r *recorder) { _, _ = r.ReadMem(data, page+8) }, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(space)
			tt.read(r)
			var got []uint64
			for _, k := range core.Whole(r.ranges(), page) {
				for at := k.Lo; at < k.Hi && !r.full; at += page {
					got = append(got, at/page)
				}
			}
			if !slices.Equal(got, tt.want) || r.full != tt.full || len(r.units) > maxRecorded {
				t.Errorf("got %d, full %v, %d units; want %d, %v", got, r.full, len(r.units), tt.want, tt.full)
			}
		})
	}
	r := newRecorder(space)
	if mem, base := r.View(page + 100); base != page+8 || len(mem) != unit-8 {
		t.Errorf("got a view of %d bytes at %#x", len(mem), base)
	}
	if lo, hi := r.Gap(5); lo != 0 || hi != page+8 {
		t.Errorf("got a gap from %#x to %#x", lo, hi)
	}
}
