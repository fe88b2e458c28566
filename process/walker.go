package process

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

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
	// RawVariables is set if AddVariables shows containers of standard libraries by their
	// own members.
	RawVariables bool

	process  *Process
	unwinder unwind.Unwinder
	frames   []unwind.Frame
	names    map[uint64]naming // by lookup pc
	held     int               // bytes that names takes, about
	unnamed  []uint64
	thread   report.Thread
	stack    []byte // a copy of the stack that is walked
	// turn waits until all stacks before were described, and reports whether somebody still
	// waits for this one; nil if there are none before.
	turn func() bool
	// parts are how many variables, with their parts, all stacks together may still have;
	// nil if there is one stack.
	parts *atomic.Int64
}

// naming is what is known about the code at a lookup pc.
type naming struct {
	module *module.Module
	names  []name // the innermost first; the last one is for the physical frame
	source string // what names code that was made at run time
}

type name struct {
	symbol.Location
	demangled string
}

const (
	// copiedStack is how many bytes of a stack are copied: most are smaller.
	copiedStack = 16 << 10
	// maxHeld bounds the bytes of names that a Walker remembers, and nameSize is what a
	// name takes beside its text.
	maxHeld  = 64 << 20
	nameSize = 256
	// maxStackNames bounds the bytes of names that are shown of a stack before they are
	// cut off. Those of 262,144 frames take 64 MiB if the average name has 256. A byte
	// that JSON may write as an escape counts as maxEscape.
	maxStackNames = 64 << 20
	maxEscape     = 6 // \u001b
	// maxInlined bounds the inlined calls that are shown of a stack. They are not
	// frames of the stack, so that MaxFrames does not bound them.
	maxInlined = 1 << 16
)

// NewWalker returns a Walker for the threads of p.
func (p *Process) NewWalker() *Walker {
	w := &Walker{
		process: p,
		unwinder: unwind.Unwinder{
			Arch: p.img.Arch, Mem: p.Memory(), Find: p.modules.Place, Steppers: p.steppers(),
			MaxFrames: p.opts.MaxFrames, MaxTime: p.opts.MaxTime, Budget: &p.budget,
		},
		names: make(map[uint64]naming),
	}
	w.unwinder.Stack = w.stackFrom
	return w
}

// stackFrom returns a copy of the memory from SP on, nil if that is not faster than memory.
func (w *Walker) stackFrom(sp uint64) []byte {
	if w.stack == nil {
		w.stack = make([]byte, copiedStack)
	}
	return w.stack[:w.process.img.Copy(w.stack, sp)]
}

// Together has all stacks that w walks from now on take up to [Options.MaxTotalTime]
// and 1610612736 steps together; see [unwind.Budget]. That is twice what the threads
// of a process may take: there may be more goroutines than threads.
func (w *Walker) Together() {
	w.unwinder.Budget = &unwind.Budget{Time: w.process.opts.MaxTotalTime, Steps: 2 * maxSteps}
}

// Walk walks the stack of a thread. If a file shrinks meanwhile, the stack ends
// there; the program continues.
func (w *Walker) Walk(th *core.Thread) *Stack {
	return w.walk(th, w.process.img.Trapped(th, w.process.Memory()))
}

// Same reports whether the stack of a thread is as it was in the process that [Next] took
// over: the thread has not run since, and the modules are the same.
func (w *Walker) Same(th *core.Thread) bool { return th.Same && w.process.renewed }

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
	begins := w.process.img.Begins(th, w.process.Memory())
	if begins {
		defer func(most int) { w.unwinder.MaxFrames = most }(w.unwinder.MaxFrames)
		w.unwinder.MaxFrames = 1
	}
	fault := memreader.Guard(func() { s.Frames, s.Stop = w.unwinder.Unwind(w.frames[:0], &th.Regs) })
	if fault != nil {
		s.Frames, s.Stop = w.unwinder.Interrupted(), unwind.Stop{Reason: unwind.UnreadableMemory, Detail: module.ErrShrunk}
	}
	if begins && s.Stop.Reason == unwind.Limit {
		s.Stop = unwind.Stop{Reason: unwind.Outermost}
	}
	w.frames = s.Frames
	if len(s.Frames) > longStack && w.turn != nil && !w.turn() {
		s.Frames = nil // it takes much memory to describe them, and nobody waits for it
	}
	return s
}

// RecoverRegisters recovers registers of the frames of s for which the rows have no
// rules. Variables need them; see [unwind.Unwinder.AddRegisters].
func (w *Walker) RecoverRegisters(s *Stack) { w.recover(s, nil) }

// recover recovers registers and, if r is not nil, adds the scene of s to it.
func (w *Walker) recover(s *Stack, r *report.Thread) {
	w.unwinder.PACMask = s.Thread.PACMask
	err := module.Guard(func() {
		w.unwinder.AddRegisters(s.Frames)
		if r != nil && len(s.Frames) > 0 {
			w.addScene(s, r)
		}
	})
	if err != nil {
		w.process.modules.Note(err)
	}
}

// name looks up the code at a lookup pc. It remembers the result, because most
// threads of a process are in the same few places.
func (w *Walker) name(pc uint64) naming {
	if n, ok := w.names[pc]; ok {
		return n
	}
	n := naming{module: w.process.modules.At(pc)}
	locs := w.process.modules.Locate(pc, nil)
	if n.module == nil {
		if loc, source := w.process.modules.Generated(pc); source != "" {
			locs, n.source = append(locs, loc), source
		}
	}
	for _, l := range locs {
		n.names = append(n.names, name{l, w.process.demangle(l.Func)})
	}
	size := nameSize
	for i := range n.names {
		size += nameSize + len(n.names[i].Func) + len(n.names[i].demangled)
	}
	if w.held += size; w.held > maxHeld {
		clear(w.names)
		w.held = size
	}
	w.names[pc] = n
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
	if cap(r.Frames) < len(s.Frames) || r.Frames == nil {
		r.Frames = make([]report.Frame, 0, len(s.Frames))
	}
	w.prepare(s)
	inlined, named := 0, 0
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
				describeGenerated(fr, w.process.img.Mapping(f.PC), n.source)
			}
			if j <= physical {
				nameFrame(fr, &n.names[j], f)
				if named <= maxStackNames {
					named += shown(fr.Function) + shown(fr.LinkageName)
				}
				if named > maxStackNames {
					fr.Function, fr.LinkageName = brief(fr.Function), brief(fr.LinkageName)
					w.process.modules.Note(fmt.Errorf("the names of thread %d take more than %d MiB; those of the outer frames are cut off", s.Thread.ID, maxStackNames>>20))
				}
			}
			if workings {
				explainFrame(fr, f, a)
			}
		}
		if i+1 < len(s.Frames) {
			w.addTailCalls(f, &s.Frames[i+1])
		}
	}
	return r
}

// Outline is Describe without names: it searches no symbols and no lines, and knows of no
// inlined calls. It tells what package report/signature needs, and takes a hundredth of the
// time.
func (w *Walker) Outline(s *Stack) *report.Thread {
	r := &report.Thread{
		TID: s.Thread.ID, NSTID: s.Thread.NSID, Name: s.Thread.Name, Crashed: s.Thread.Crashed, State: string(s.Thread.State),
		Frames: make([]report.Frame, len(s.Frames)),
		Stop:   report.Stop{Reason: s.Stop.Reason, Detail: w.process.stopDetail(s)},
	}
	for i := range s.Frames {
		f := &s.Frames[i]
		r.Frames[i].Index = i
		describeFrame(&r.Frames[i], f, w.process.modules.At(f.LookupPC()), w.process.img.Arch)
	}
	return r
}

// shown returns how many bytes a name takes at most when it is shown.
func shown(name string) int {
	n := len(name)
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '<' || c == '>' || c == '&' || c == '"' || c == '\\' {
			n += maxEscape - 1
		}
	}
	return n
}

// brief cuts off the end of a name that takes more than a usual one.
func brief(name string) string {
	name = shorten(name)
	if shown(name) > maxVarName+len("...") {
		name = strings.ToValidUTF8(name[:min(len(name), maxVarName/maxEscape)], "") + "..."
	}
	return name
}

// addTailCalls adds the functions that a caller called and that jumped on to the
// function of f. They are trusted as the caller is.
func (w *Walker) addTailCalls(f, caller *unwind.Frame) {
	r := &w.thread
	for _, c := range w.process.between(f, caller) {
		n := w.name(c.lookupPC())
		tail := unwind.Frame{PC: c.pc, Exact: c.exact, Method: unwind.TailCall, Trust: caller.Trust}
		for j := range n.names {
			r.Frames = append(r.Frames, report.Frame{Index: len(r.Frames), Inlined: j < len(n.names)-1})
			fr := &r.Frames[len(r.Frames)-1]
			describeFrame(fr, &tail, n.module, w.process.img.Arch)
			nameFrame(fr, &n.names[j], &tail)
		}
	}
}
