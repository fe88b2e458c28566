package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/target"
	"github.com/sfcore/sfcore/unwind"
)

// goroutinesSchema names the version of the JSON form, which docs/goroutines.md
// describes.
const goroutinesSchema = "sfcore.goroutines/1"

// goroutineReport is a goroutine, or with --group those with the same stack.
type goroutineReport struct {
	ID         int64            `json:"id"`
	IDs        []int64          `json:"ids,omitempty"` // with --group
	Status     string           `json:"status,omitempty"`
	WaitReason string           `json:"waitReason,omitempty"`
	TID        int              `json:"tid,omitempty"`
	Runtime    bool             `json:"runtime,omitempty"`
	Start      *placeReport     `json:"start,omitempty"`
	Created    *placeReport     `json:"created,omitempty"`
	Frames     []goroutineFrame `json:"frames"`
	Stop       report.Stop      `json:"stop"`
	// Delve is what delve sees, where that is something else.
	Delve *delveReport `json:"delve,omitempty"`
}

type placeReport struct {
	PC       report.Addr `json:"pc"`
	Function string      `json:"function,omitempty"`
	File     string      `json:"file,omitempty"`
	Line     int         `json:"line,omitempty"`
}

type goroutineFrame struct {
	report.Frame
	Variables []wire.Variable `json:"variables,omitempty"`
}

// delveReport is how delve's stack differs: it has Frames in place of ours from
// From to before To.
type delveReport struct {
	From   int           `json:"from"`
	To     int           `json:"to"`
	Frames []placeReport `json:"frames"`
	Err    string        `json:"error,omitempty"`
}

func newPlace(p *wire.Place) *placeReport {
	if p.PC == 0 {
		return nil
	}
	return &placeReport{PC: report.Addr(p.PC), Function: p.Function, File: p.File, Line: p.Line}
}

func newGoroutineReport(g *wire.Goroutine) *goroutineReport {
	return &goroutineReport{
		ID: g.ID, Status: g.Status, WaitReason: g.WaitReason, TID: g.TID, Runtime: g.Runtime,
		Start: newPlace(&g.Start), Created: newPlace(&g.Created), Frames: []goroutineFrame{},
	}
}

// savedByScheduler marks the innermost frame as found by what Go's scheduler
// saved: its registers are not a thread's. Unless a call that saves registers
// precedes its pc, and the stack ends where the goroutine's does, it is at most
// checked.
func (r *goroutineReport) savedByScheduler(t *target.Target, g *wire.Goroutine) {
	for i := range r.Frames {
		f := &r.Frames[i]
		f.Method = "goroutine"
		if !f.Inlined {
			break
		}
	}
	if len(r.Frames) == 0 {
		return
	}
	if last := &r.Frames[len(r.Frames)-1]; savesRegisters(t, uint64(r.Frames[0].PC)) && last.SP.Known && g.Ends(uint64(last.SP.Addr)) {
		return
	}
	for i := range r.Frames {
		if f := &r.Frames[i]; f.Trust == unwind.Full.String() {
			f.Trust = unwind.Checked.String()
		}
	}
}

// savers are the functions of the runtime that save the registers of their
// caller for the scheduler [src/runtime/asm_*.s, proc.go].
var savers = []string{"runtime.mcall", "runtime.morestack", "runtime.entersyscall"}

// savesRegisters reports whether the call before pc is to one of savers.
func savesRegisters(t *target.Target, pc uint64) bool {
	a := t.Image().Arch
	var code [8]byte
	if n, _ := t.Memory().ReadMem(code[:], pc-uint64(len(code))); n != len(code) {
		return false
	}
	callee, ok := a.CallTarget(code[:], pc)
	if !ok {
		return false
	}
	names := t.Locate(callee, nil)
	return len(names) > 0 && slices.ContainsFunc(savers, func(s string) bool { return strings.HasPrefix(names[len(names)-1].Func, s) })
}

// key is equal for goroutines that are in the same place for the same reason.
func (r *goroutineReport) key() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Status, r.WaitReason, r.Stop.Reason, r.Stop.Detail)
	for _, p := range []*placeReport{r.Start, r.Created} {
		if p != nil {
			fmt.Fprintln(&b, uint64(p.PC))
		}
	}
	for i := range r.Frames {
		fmt.Fprintln(&b, uint64(r.Frames[i].PC), r.Frames[i].Variables)
	}
	if r.Delve != nil {
		fmt.Fprintln(&b, *r.Delve)
	}
	return b.String()
}

// compareStacks compares the Go frames of a stack with delve's, and gives those
// that are the same the variables that delve found. It returns how delve's
// differ, nil if they do not. Of C code delve knows too little to compare.
func compareStacks(ours []goroutineFrame, g *wire.Goroutine, text wire.Text) *delveReport {
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
				group[n].Variables = theirs[j][n].Variables
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
	r := &delveReport{From: len(ours), To: len(ours), Frames: []placeReport{}, Err: g.Err}
	if first < len(groups) {
		r.From, r.To = groups[first].lo, groups[first].lo
	}
	if first < n {
		r.To = groups[n-1].hi
	}
	for _, frames := range theirs[first:m] {
		for i := range frames {
			r.Frames = append(r.Frames, *newPlace(&frames[i].Place))
		}
	}
	return r
}

// leavesOut reports whether delve has nothing that we do not have.
func (d *delveReport) leavesOut() bool { return len(d.Frames) == 0 && d.Err == "" }

// trampolines returns the pcs of the frames between a signal handler in Go and
// the code that the signal interrupted, which delve mostly leaves out: the
// trampoline of the kernel, and the function that it called.
func trampolines(frames []goroutineFrame) []report.Addr {
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

// goFrames returns where the physical frames of Go code are in a stack.
func goFrames(frames []goroutineFrame, text wire.Text) []frameRange {
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
