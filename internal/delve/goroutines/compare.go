package goroutines

import (
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/report"
)

// compareStacks compares the Go frames of a stack with delve's. It adds the
// variables that delve found to frames that are the same. It returns how delve's
// frames differ, or nil if they do not. It does not compare frames of C code,
// because delve knows too little about them.
func compareStacks(ours []report.GoroutineFrame, g *wire.Goroutine, isGo func(pc uint64) bool) *report.DelveStack {
	groups, theirs := goFrames(ours, isGo), g.GoFrames(isGo)
	skipped := trampolines(ours)
	groups = slices.DeleteFunc(groups, func(r frameRange) bool { return slices.Contains(skipped, ours[r.lo].PC) })
	theirs = slices.DeleteFunc(theirs, func(f []wire.Frame) bool {
		return slices.Contains(skipped, report.Addr(f[0].PC)) || f[len(f)-1].Function == invented
	})
	groups = slices.DeleteFunc(groups, func(r frameRange) bool {
		name := strings.TrimSuffix(ours[r.hi-1].Function, ".abi0")
		return slices.Contains(switches, name) && !slices.ContainsFunc(theirs, func(f []wire.Frame) bool { return f[0].PC == uint64(ours[r.lo].PC) })
	})

	if n := len(theirs); n > 0 && len(ours) > 0 && !isGo(uint64(ours[len(ours)-1].PC)) && theirs[n-1][len(theirs[n-1])-1].Function == first {
		theirs = theirs[:n-1]
	}

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
	begin, n, m := 0, len(groups), len(theirs)
	for begin < min(n, m) && same(begin, begin) {
		begin++
	}
	for min(n, m) > begin && same(n-1, m-1) {
		n, m = n-1, m-1
	}
	if begin == n && begin == m && g.Err == "" {
		return nil
	}
	r := &report.DelveStack{From: len(ours), To: len(ours), Frames: []report.Place{}, Err: g.Err}
	if begin < len(groups) {
		r.From, r.To = groups[begin].lo, groups[begin].lo
	}
	if begin < n {
		r.To = groups[n-1].hi
	}
	for _, frames := range theirs[begin:m] {
		for i := range frames {
			r.Frames = append(r.Frames, *place(&frames[i].Place))
		}
	}
	return r
}

// invented is a function in which no thread ever is: the runtime has its address as
// the pc of a goroutine that is left for another stack. delve shows a frame of it, and
// loses those of the functions that switched.
const invented = "runtime.systemstack_switch"

// first is the function that every goroutine has at the end of its stack, so that it
// looks as if that function had called the first one. In a goroutine that C called,
// the caller is C.
const first = "runtime.goexit"

// switches are the functions between Go and C of which delve loses frames.
var switches = []string{"runtime.asmcgocall", "crosscall2"}

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
func goFrames(frames []report.GoroutineFrame, isGo func(pc uint64) bool) []frameRange {
	var list []frameRange
	lo := 0
	for i := range frames {
		if frames[i].Inlined {
			continue
		}
		if isGo(uint64(frames[i].PC)) {
			list = append(list, frameRange{lo, i + 1})
		}
		lo = i + 1
	}
	return slices.Clip(list)
}
