package core

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/sfcore/sfcore/memreader"
)

const (
	// topSize is how much of each stack is copied before more of any, in bytes. Most
	// stacks use less.
	topSize = 16 << 10

	// maxPiece bounds how many bytes are copied between two looks at the clock: about
	// a millisecond of copying.
	maxPiece = 4 << 20
)

// plan is memory to copy, in pieces.
type plan struct {
	spans  []span // ascending, not overlapping
	pieces []piece
}

// piece is a part of a span. Pieces of a span follow each other in one array.
type piece struct {
	memreader.Copy
	span int
	top  bool // of a stack
	done bool
}

// plan makes pieces of spans. What is above a stack pointer is a top.
func (v *visit) plan(spans []span, sps []uint64) *plan {
	sps = slices.Sorted(slices.Values(sps))
	p := &plan{spans: spans, pieces: make([]piece, 0, 2*len(spans))}
	left := uint64(0)
	for _, s := range spans {
		left += s.hi - s.lo
	}
	for i, s := range spans {
		left -= s.size()
		if data := dataAt(v.have, s); data != nil {
			p.pieces = append(p.pieces, piece{Copy: memreader.Copy{Addr: s.lo, Data: data, N: len(data)}, span: i, top: true, done: true})
			continue
		}
		data, at := v.take(s.size(), left+s.size()), s.lo
		cut := func(hi uint64, top bool) {
			for at < hi {
				from, to := at-s.lo, min(hi, at+maxPiece)-s.lo
				c := piece{Copy: memreader.Copy{Addr: at, Data: data[from:to]}, span: i, top: top}
				if have := dataAt(v.have, span{lo: at, hi: s.lo + to}); have != nil {
					c.N, c.done = copy(c.Data, have), true
				}
				p.pieces = append(p.pieces, c)
				at = s.lo + to
			}
		}
		for len(sps) > 0 && sps[0] < s.lo {
			sps = sps[1:]
		}
		for ; len(sps) > 0 && sps[0] < s.hi; sps = sps[1:] {
			cut(max(s.lo, sps[0]-min(redZone, sps[0])), false)
			cut(sps[0]+min(topSize, s.hi-sps[0]), true)
		}
		cut(s.hi, false)
	}
	return p
}

// take returns room, of what was prepared as long as that lasts. Then it makes room
// for all that is left.
func (v *visit) take(size, left uint64) []byte {
	if size > uint64(len(v.room)) {
		v.room = make([]byte, left)
	}
	data := v.room[:size:size]
	v.room = v.room[size:]
	return data
}

// order returns the indices of the tops, or of the other pieces, in the order in which
// they are copied: those of small spans first.
func (p *plan) order(tops bool) []int {
	var order []int
	for i := range p.pieces {
		if p.pieces[i].top == tops && !p.pieces[i].done {
			order = append(order, i)
		}
	}
	size := func(i int) uint64 { s := p.spans[p.pieces[i].span]; return s.hi - s.lo }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(a), size(b)) })
	return order
}

// copy copies the tops of a plan, or the rest of it.
func (v *visit) copy(p *plan, tops bool, deadline time.Time) {
	order := p.order(tops)
	list := make([]memreader.Copy, len(order))
	for i, at := range order {
		list[i] = p.pieces[at].Copy
	}
	for i, done := range v.copyUntil(list, deadline) {
		piece := &p.pieces[order[i]]
		piece.Copy, piece.done = list[i], done
	}
}

// copied returns what was copied, as few long parts, and what was not, with the
// reason.
func (p *plan) copied() []copied {
	var all []copied
	for i := range p.pieces {
		piece := &p.pieces[i]
		s := p.spans[piece.span]
		c := copied{
			span: span{piece.Addr, piece.Addr + uint64(len(piece.Data)), s.end},
			err:  &memreader.FaultError{Addr: piece.Addr, Why: memreader.OutOfTime},
		}
		if piece.done {
			c.data, c.err = piece.Data[:piece.N], piece.Err
		}
		if n := len(all); n > 0 && all[n-1].joins(c.data) {
			last := &all[n-1]
			last.data, last.hi, last.err = last.data[:len(last.data)+len(c.data)], c.hi, c.err
			continue
		}
		all = append(all, c)
	}
	return all
}

// joins reports whether data follows what was copied in the same array, as the pieces
// of a span do. Spans do not share room: see take.
func (c *copied) joins(data []byte) bool {
	n := len(c.data)
	return len(data) > 0 && cap(c.data) > n && &c.data[:n+1][n] == &data[0]
}

// add takes what was copied.
func (v *visit) add(p *plan) {
	for _, c := range p.copied() {
		v.snap.Copied += uint64(len(c.data))
		v.stacks = append(v.stacks, c)
		if fault := (*memreader.FaultError)(nil); errors.As(c.err, &fault) && fault.Why == memreader.OutOfTime {
			v.snap.Late += c.hi - c.lo - uint64(len(c.data))
		}
	}
	slices.SortFunc(v.stacks, func(a, b copied) int { return cmp.Compare(a.lo, b.lo) })
}

// copySpans copies spans until the deadline, the tops of stacks with the given stack
// pointers first.
func (v *visit) copySpans(spans []span, sps []uint64, deadline time.Time) {
	p := v.plan(spans, sps)
	v.copy(p, true, deadline)
	v.copy(p, false, deadline)
	v.add(p)
}

// copyStacks copies the used parts of the stacks: those of the stack pointers, and
// those that signal handlers on alternate stacks have interrupted. The tops of all
// come first.
func (v *visit) copyStacks(opts *AttachOptions, deadline time.Time) {
	v.snap.StackBudget = eachBudget(v.sps, v.maps, opts.StackBudget, opts.StackTotal-min(opts.StackTotal, v.sleepers.bytes))
	sps := v.withFirstStack(v.sps, v.snap.StackBudget)
	first := v.plan(spansWithin(sps, v.maps, v.snap.StackBudget), sps)
	v.copy(first, true, deadline)
	old := v.interrupted(first.copied(), nil)
	more := v.plan(v.newSpans(old, first.spans), old)
	v.copy(more, true, deadline)
	v.copy(more, false, deadline)
	v.copy(first, false, deadline)
	v.add(first)
	v.add(more)
	v.addSleepers()
	// A signal frame may be beyond the top.
	long := slices.DeleteFunc(slices.Clone(v.stacks), func(c copied) bool { return c.hi-c.lo <= topSize })
	if older := v.interrupted(long, old); len(older) > 0 {
		v.copySpans(v.newSpans(older, first.spans, more.spans), older, deadline)
	}
}

// newSpans returns the spans of more stacks, without the parts that are in others.
func (v *visit) newSpans(sps []uint64, others ...[]span) []span {
	spans := spansWithin(sps, v.maps, v.snap.StackBudget)
	for _, list := range others {
		known := make([]copied, len(list))
		for i := range list {
			known[i].span = list[i]
		}
		spans = without(spans, known)
	}
	return spans
}

// interrupted returns the stack pointers of code that handlers on alternate signal
// stacks have interrupted, but for those in known.
func (v *visit) interrupted(stacks []copied, known []uint64) []uint64 {
	var old []uint64
	for _, sp := range v.sps {
		if stack := stackAt(stacks, sp); stack != nil {
			if was, ok := interruptedSP(v.arch, sp, stack); ok && !slices.Contains(known, was) {
				old = append(old, was)
			}
		}
	}
	return old
}
