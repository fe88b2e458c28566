package goroutines

import (
	"slices"

	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/report"
)

// compareStacks compares the Go frames of a stack with delve's. It adds the
// variables that delve found to frames that are the same. It returns how delve's
// frames differ, or nil if they do not. It does not compare frames of C code,
// because delve knows too little about them.
func compareStacks(ours []report.GoroutineFrame, g *wire.Goroutine, text wire.Text) *report.DelveStack {
	groups, theirs := goFrames(ours, text), g.GoFrames(text)
	skipped := trampolines(ours)
	groups = slices.DeleteFunc(groups, func(r frameRange) bool { return slices.Contains(skipped, ours[r.lo].PC) })
	theirs = slices.DeleteFunc(theirs, func(f []wire.Frame) bool { return slices.Contains(skipped, report.Addr(f[0].PC)) })

	same := func(i, j int) bool {
		if uint64(ours[groups[i].lo].PC) != theirs[j][0].PC {
			return false
		}
		if group := ours[groups[i].lo:groups[i].hi]; len(group) == len(theirs[j]) {
			for n := range group {
				group[n].Variables = goVariables(theirs[j][n].Variables)
			}
		}
		return true
	}
	first, n, m := 0, len(groups), len(theirs)
	for first < min(n, m) && same(first, first) {
		first++
	}
	for min(n, m) > first && same(n-1, m-1) {
		n, m = n-1, m-1
	}
	if first == n && first == m && g.Err == "" {
		return nil
	}
	r := &report.DelveStack{From: len(ours), To: len(ours), Frames: []report.Place{}, Err: g.Err}
	if first < len(groups) {
		r.From, r.To = groups[first].lo, groups[first].lo
	}
	if first < n {
		r.To = groups[n-1].hi
	}
	for _, frames := range theirs[first:m] {
		for i := range frames {
			r.Frames = append(r.Frames, *place(&frames[i].Place))
		}
	}
	return r
}

// trampolines returns the pcs of the frames between a signal handler in Go and the
// code that the signal interrupted: the kernel's trampoline, and the function that
// the kernel called. delve leaves most of these frames out.
func trampolines(frames []report.GoroutineFrame) []report.Addr {
	var pcs []report.Addr
	for i := range frames {
		if frames[i].SignalFrame && i > 0 {
			pcs = append(pcs, frames[i].PC, frames[i-1].PC)
		}
	}
	return pcs
}

// frameRange are the indexes of a physical frame and of those inlined into it.
type frameRange struct{ lo, hi int }

// goFrames returns the indexes of the physical frames of Go code in a stack.
func goFrames(frames []report.GoroutineFrame, text wire.Text) []frameRange {
	var list []frameRange
	lo := 0
	for i := range frames {
		if frames[i].Inlined {
			continue
		}
		if text.Contains(uint64(frames[i].PC)) {
			list = append(list, frameRange{lo, i + 1})
		}
		lo = i + 1
	}
	return slices.Clip(list)
}
