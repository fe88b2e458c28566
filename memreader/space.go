package memreader

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"
)

// Segment is a range of addresses with those of its bytes that are known.
type Segment struct {
	// Addr is the address of the first byte, Size the length of the range.
	// NewSpace cuts off a part that would wrap around the end of the address
	// space.
	Addr, Size uint64
	// Data are the first bytes of the range; it may be shorter than Size.
	// It is not copied.
	Data []byte
	// Why is why the bytes after Data are missing.
	Why Why
}

// Space is memory made of segments. It is immutable.
type Space struct {
	segs []Segment // ascending, not overlapping
}

// NewSpace makes a Space of segments. Where two overlap, the later one in the
// list wins. It takes ownership of the slice.
func NewSpace(segs []Segment) *Space {
	ascending := func(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) }
	kept := segs[:0]
	for _, s := range segs {
		if s.Size = min(s.Size, -s.Addr-1); s.Size == 0 {
			continue
		}
		s.Data = s.Data[:min(uint64(len(s.Data)), s.Size)]
		kept = append(kept, s)
	}
	segs = kept
	if disjoint(segs) {
		return &Space{segs: segs}
	}
	order := slices.Clone(segs)
	slices.SortStableFunc(order, ascending)
	if disjoint(order) {
		return &Space{segs: order}
	}
	return &Space{segs: flatten(segs)}
}

func disjoint(segs []Segment) bool {
	for i := 1; i < len(segs); i++ {
		if prev := segs[i-1]; prev.Addr > segs[i].Addr || segs[i].Addr-prev.Addr < prev.Size {
			return false
		}
	}
	return true
}

// flatten resolves overlaps: it cuts the line of addresses at every segment's
// ends and gives each piece to the last segment that covers it.
func flatten(segs []Segment) []Segment {
	type edge struct {
		at  uint64
		seg int
		end bool
	}
	edges := make([]edge, 0, 2*len(segs))
	for i, s := range segs {
		edges = append(edges, edge{s.Addr, i, false}, edge{s.Addr + s.Size, i, true})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })

	var out []Segment
	var active latest
	ended := make([]bool, len(segs))
	for i, e := range edges {
		if e.end {
			ended[e.seg] = true
		} else {
			heap.Push(&active, e.seg)
		}
		for active.Len() > 0 && ended[active.IntSlice[0]] {
			heap.Pop(&active)
		}
		if i+1 == len(edges) || edges[i+1].at == e.at || active.Len() == 0 {
			continue
		}
		out = append(out, segs[active.IntSlice[0]].cut(e.at, edges[i+1].at))
	}
	return out
}

// cut returns the part of s from lo to hi.
func (s Segment) cut(lo, hi uint64) Segment {
	data := s.Data[min(lo-s.Addr, uint64(len(s.Data))):]
	return Segment{Addr: lo, Size: hi - lo, Data: data[:min(hi-lo, uint64(len(data)))], Why: s.Why}
}

// latest is a heap of segment numbers, the greatest first.
type latest struct{ sort.IntSlice }

func (l latest) Less(i, j int) bool { return l.IntSlice[i] > l.IntSlice[j] }
func (l *latest) Push(seg any)      { l.IntSlice = append(l.IntSlice, seg.(int)) }
func (l *latest) Pop() any {
	last := len(l.IntSlice) - 1
	seg := l.IntSlice[last]
	l.IntSlice = l.IntSlice[:last]
	return seg
}

// Segments returns the segments in ascending order. The caller must not
// modify them.
func (s *Space) Segments() []Segment { return s.segs }

// Find returns the segment that contains addr, or nil.
func (s *Space) Find(addr uint64) *Segment {
	i, exact := slices.BinarySearchFunc(s.segs, addr, func(seg Segment, a uint64) int { return cmp.Compare(seg.Addr, a) })
	if !exact {
		i--
	}
	if i < 0 || addr-s.segs[i].Addr >= s.segs[i].Size {
		return nil
	}
	return &s.segs[i]
}

// Gap returns the range of addresses around addr, lo to hi, that the Space cannot
// read. The range does not leave the segment, or the hole between segments, that
// contains addr. It is empty if addr can be read.
func (s *Space) Gap(addr uint64) (lo, hi uint64) {
	next := sort.Search(len(s.segs), func(i int) bool { return s.segs[i].Addr > addr })
	lo, hi = 0, ^uint64(0)
	if next < len(s.segs) {
		hi = s.segs[next].Addr
	}
	if next == 0 {
		return lo, hi
	}
	seg := &s.segs[next-1]
	switch off := addr - seg.Addr; {
	case off < uint64(len(seg.Data)):
		return addr, addr
	case off < seg.Size:
		return seg.Addr + uint64(len(seg.Data)), seg.Addr + seg.Size
	}
	return seg.Addr + seg.Size, hi
}

// View implements [Viewer].
func (s *Space) View(addr uint64) ([]byte, uint64) {
	if seg := s.Find(addr); seg != nil && addr-seg.Addr < uint64(len(seg.Data)) {
		return seg.Data, seg.Addr
	}
	return nil, 0
}

// maxRun bounds the segments that a Run spans: an image has a handful.
const maxRun = 64

// Run returns the bytes from addr to the end of its segment. It continues into the
// next segments if their data follow in the same array, as in a core that has all
// of an image. The bytes are valid as long as the segments' data. The result is
// empty if nothing can be read.
func (s *Space) Run(addr uint64) []byte {
	seg := s.Find(addr)
	if seg == nil || addr-seg.Addr >= uint64(len(seg.Data)) {
		return nil
	}
	run := seg.Data[addr-seg.Addr:]
	i := sort.Search(len(s.segs), func(i int) bool { return s.segs[i].Addr > addr })
	for n := 0; n < maxRun && i < len(s.segs) && s.segs[i].Addr == addr+uint64(len(run)); i, n = i+1, n+1 {
		next := s.segs[i].Data
		if len(next) == 0 || cap(run) == len(run) || &run[:len(run)+1][len(run)] != &next[0] {
			break
		}
		run = run[:len(run)+len(next)]
	}
	return run
}

// ReadMem implements [Reader]. It reads across segments that touch.
func (s *Space) ReadMem(p []byte, addr uint64) (int, error) {
	n := 0
	for n < len(p) {
		at := addr + uint64(n)
		seg := s.Find(at)
		if seg == nil {
			return n, &FaultError{Addr: at, Why: Unmapped}
		}
		if at-seg.Addr >= uint64(len(seg.Data)) {
			return n, &FaultError{Addr: at, Why: seg.Why}
		}
		n += copy(p[n:], seg.Data[at-seg.Addr:])
	}
	return n, nil
}
