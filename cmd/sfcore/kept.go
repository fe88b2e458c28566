package main

import (
	"unsafe"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// keptStacks are the stacks of a snapshot, for the next one: those of threads that have
// not run in between are not walked and named again.
type keptStacks struct {
	old, now map[int]*rendered // by thread id
	bytes    int
}

// maxKept bounds the memory of the stacks that are kept, in bytes.
const maxKept = 64 << 20

// next begins another snapshot.
func (k *keptStacks) next() {
	if k != nil {
		k.old, k.now, k.bytes = k.now, map[int]*rendered{}, 0
	}
}

// find returns the stack of a thread that has not run since the last snapshot, or nil.
func (k *keptStacks) find(w *process.Walker, th *core.Thread) *rendered {
	if k == nil || !w.Same(th) {
		return nil
	}
	return k.old[th.ID]
}

// keep keeps a stack, and reports whether it does.
func (k *keptStacks) keep(r *rendered) bool {
	if k == nil {
		return false
	}
	size := len(r.text) + len(r.frames)*int(unsafe.Sizeof(report.Frame{}))
	if k.bytes+size > maxKept {
		return false
	}
	k.bytes += size
	k.now[r.tid] = r
	return true
}
