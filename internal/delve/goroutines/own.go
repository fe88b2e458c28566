package goroutines

import (
	"strings"

	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// found says of a goroutine that sfcore found what delve would say.
func (w *walker) found(g *gostack.Goroutine) *wire.Goroutine {
	r := &wire.Goroutine{
		ID: g.ID, Status: g.Status, WaitReason: g.WaitReason, TID: w.thread(g.TID), StackHi: g.StackHi,
		Start: w.placeAt(g.Start, g.Start), Saved: wire.Saved{PC: g.Saved.PC, SP: g.Saved.SP, FP: g.Saved.FP},
	}
	if g.Status == "" {
		r.Err = "the goroutine's structure is not in memory"
	}
	if g.ID != 1 { // which no go statement made
		r.Created = w.placeAt(g.Created, g.Created-1)
	}
	if f, ok := w.process.GoFunction(g.Start); ok {
		r.Runtime = ofRuntime(string(f.Name()), g.WaitReason)
	}
	return r
}

// thread returns the id of a thread, whose id in the process's own pid namespace is
// given.
func (w *walker) thread(id int) int {
	for i := range w.process.Image().Threads {
		if th := &w.process.Image().Threads[i]; id != 0 && th.NSID == id {
			return th.ID
		}
	}
	return id
}

// placeAt names the code at pc. at is pc, or the byte before it if pc is a return
// address. Of inlined functions the innermost has the line, as in Go's tracebacks.
func (w *walker) placeAt(pc, at uint64) wire.Place {
	p := wire.Place{PC: pc}
	l := w.process.Locate(at)
	if f := l.Function(); pc != 0 && f != nil {
		p.Function, p.File, p.Line = f.Name, l.Functions[0].File, l.Functions[0].Line
	}
	return p
}

// ofRuntime reports whether a goroutine belongs to the runtime, by its first function
// [src/runtime/traceback.go: isSystemGoroutine]. Those that run finalizers and
// cleanups belong to it as long as they wait for some.
func ofRuntime(start, reason string) bool {
	switch start {
	case "runtime.main", "runtime.handleAsyncEvent":
		return false
	case "runtime.runfinq", "runtime.runFinalizers", "runtime.runCleanups":
		return reason == "finalizer wait" || reason == "cleanup wait"
	}
	return strings.HasPrefix(start, "runtime.")
}
