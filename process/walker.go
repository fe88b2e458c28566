package process

import (
	"fmt"
	"slices"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// Walker walks stacks and describes them, one stack at a time. It reuses its memory:
// its results are valid until it is used for the next stack. A Walker is not safe for
// concurrent use; every worker needs its own.
type Walker struct {
	process  *Process
	unwinder unwind.Unwinder
	frames   []unwind.Frame
	names    map[uint64]naming // by lookup pc
	held     int               // the number of names in names
	unnamed  []uint64
	thread   report.Thread
}

// naming is what is known about the code at a lookup pc.
type naming struct {
	module *module.Module
	names  []name // the innermost first; the last one is for the physical frame
}

type name struct {
	symbol.Location
	demangled string
}

const (
	// maxNames bounds the names that a Walker remembers.
	maxNames = 1 << 16
	// maxInlined bounds the inlined calls that are shown of a stack. They are not
	// frames of the stack, so that MaxFrames does not bound them.
	maxInlined = 1 << 16
)

// NewWalker returns a Walker for the threads of p.
func (p *Process) NewWalker() *Walker {
	return &Walker{
		process: p,
		unwinder: unwind.Unwinder{
			Arch: p.img.Arch, Mem: p.Memory(), Find: p.modules.Place, Steppers: p.steppers(),
			MaxFrames: p.opts.MaxFrames, MaxTime: p.opts.MaxTime, Budget: &p.budget,
		},
		names: make(map[uint64]naming),
	}
}

// Walk walks the stack of a thread. If a file shrinks meanwhile, the stack ends
// there; the program continues.
func (w *Walker) Walk(th *core.Thread) *Stack {
	return w.walk(th, w.process.img.Trapped(th, w.process.Memory()))
}

// WalkSaved is Walk for registers that a scheduler saved and that no processor
// holds. Their pc is a return address unless exact is set: then nothing has been
// executed yet.
func (w *Walker) WalkSaved(th *core.Thread, exact bool) *Stack { return w.walk(th, !exact) }

// walk walks the stack of a thread. behind is set if the pc is the address after
// the instruction that was executed last.
func (w *Walker) walk(th *core.Thread, behind bool) *Stack {
	s := &Stack{Thread: th}
	if th.Err != nil {
		s.Stop = unwind.Stop{Reason: unwind.NoUnwindInfo, Detail: th.Err}
		return s
	}
	w.unwinder.PACMask, w.unwinder.Trapped = th.PACMask, behind
	fault := memreader.Guard(func() { s.Frames, s.Stop = w.unwinder.Unwind(w.frames[:0], &th.Regs) })
	if fault != nil {
		s.Frames, s.Stop = w.unwinder.Interrupted(), unwind.Stop{Reason: unwind.UnreadableMemory, Detail: module.ErrShrunk}
	}
	w.frames = s.Frames
	return s
}

// RecoverRegisters recovers registers of the frames of s for which the rows have no
// rules. Variables need them; see [unwind.Unwinder.AddRegisters].
func (w *Walker) RecoverRegisters(s *Stack) {
	w.unwinder.PACMask = s.Thread.PACMask
	if err := module.Guard(func() { w.unwinder.AddRegisters(s.Frames) }); err != nil {
		w.process.modules.Note(err)
	}
}

// name looks up the code at a lookup pc. It remembers the result, because most
// threads of a process are in the same few places.
func (w *Walker) name(pc uint64) naming {
	if n, ok := w.names[pc]; ok {
		return n
	}
	if w.held >= maxNames {
		clear(w.names)
		w.held = 0
	}
	n := naming{module: w.process.modules.At(pc)}
	for _, l := range w.process.modules.Locate(pc, nil) {
		n.names = append(n.names, name{l, w.process.demangle(l.Func)})
	}
	w.names[pc] = n
	w.held += max(1, len(n.names))
	return n
}

// prepare searches the symbol tables once for all new addresses of a stack, instead
// of once for each address.
func (w *Walker) prepare(s *Stack) {
	pcs := w.unnamed[:0]
	for i := range s.Frames {
		pc := s.Frames[i].LookupPC()
		if _, ok := w.names[pc]; !ok {
			pcs = append(pcs, pc)
		}
	}
	w.unnamed = pcs
	slices.Sort(pcs)
	modules := w.process.modules
	for pcs = slices.Compact(pcs); len(pcs) > 1; {
		m, n := modules.At(pcs[0]), 1
		if m == nil {
			pcs = pcs[1:]
			continue
		}
		for n < len(pcs) && modules.At(pcs[n]) == m {
			n++
		}
		modules.Prepare(m, pcs[:n])
		pcs = pcs[n:]
	}
}

// Describe names the frames of a stack. If workings is set, the frames tell how their
// callers were found, and why better methods failed.
func (w *Walker) Describe(s *Stack, workings bool) *report.Thread {
	r, a := &w.thread, w.process.img.Arch
	*r = report.Thread{
		TID: s.Thread.ID, NSTID: s.Thread.NSID, Name: s.Thread.Name, Crashed: s.Thread.Crashed,
		State:  string(s.Thread.State),
		Frames: r.Frames[:0],
		Stop:   report.Stop{Reason: s.Stop.Reason, Detail: w.process.stopDetail(s)},
	}
	if r.Frames == nil {
		r.Frames = []report.Frame{}
	}
	w.prepare(s)
	inlined := 0
	for i := range s.Frames {
		f := &s.Frames[i]
		n := w.name(f.LookupPC())
		if inlined += max(1, len(n.names)) - 1; inlined > maxInlined && len(n.names) > 1 {
			n.names = n.names[len(n.names)-1:]
			w.process.modules.Note(fmt.Errorf("thread %d has more than %d inlined calls; those of the outer frames are not shown", s.Thread.ID, maxInlined))
		}
		physical := len(n.names) - 1
		for j := range max(1, len(n.names)) {
			r.Frames = append(r.Frames, report.Frame{Index: len(r.Frames), Inlined: j < physical})
			fr := &r.Frames[len(r.Frames)-1]
			describeFrame(fr, f, n.module, a)
			if n.module == nil && !f.Signal {
				describeGenerated(fr, w.process.img.Mapping(f.PC))
			}
			if j <= physical {
				nameFrame(fr, &n.names[j], f)
			}
			if workings {
				explainFrame(fr, f, a)
			}
		}
	}
	return r
}
