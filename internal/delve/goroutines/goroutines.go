// Package goroutines lists the goroutines of a Go program in a process: delve, in
// a program of its own, finds them, or sfcore itself does in programs that delve
// cannot read. sfcore walks their stacks. Every front end that shows goroutines takes
// them from here, with their trust.
package goroutines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// Options say how the goroutines of a process are listed.
type Options struct {
	// Select is called for each goroutine before its stack is walked, and says
	// whether to list it; nil selects all. runtime is set for goroutines of Go's
	// runtime, which Go's own tracebacks leave out.
	Select func(id int64, runtime bool) bool
	// Only is the id of the one goroutine that is listed; 0 for all. The others then
	// cost little.
	Only int64
	// Locals asks for variables. RuntimeLocals asks for those of the runtime's
	// functions, too.
	Locals, RuntimeLocals bool
	// Without is called before the first goroutine if delve does not take part, with
	// the reason. There are then no variables. nil if nobody wants to know.
	Without func(reason string)
	// MaxFrames bounds the stacks that delve walks; 0 for unwind.DefaultMaxFrames.
	MaxFrames int
}

// findDelve finds the program that delve is in; see docs/RATIONALE.md.
func findDelve() (string, error) { return companion.Find("sfcore-delve") }

// List calls found for the goroutines of a Go program, in the order in which
// the process has them, until it returns false. complete tells whether the stack
// was followed to its end and delve sees no more of it.
//
// delve finds the goroutines, in a program of its own. Their stacks are walked as
// those of threads, from the registers that Go's scheduler saved or those of the
// thread, and compared with delve's. If delve cannot list any, sfcore itself finds
// them in the structures of Go's runtime, and Options.Without is told.
//
// The error says why the list ends early; goroutines that were found before are
// good. It is process.ErrNoGo for a process without a Go program.
func List(ctx context.Context, p *process.Process, opts Options, found func(g *report.Goroutine, complete bool) bool) error {
	w := walker{process: p, walker: p.NewWalker()}
	w.walker.Together()
	begun := false
	without := w.byDelve(ctx, &opts, func(g *wire.Goroutine) bool {
		begun = true
		return !opts.selects(g) || found(w.describe(g, w.saved(g), true))
	})
	if without == nil || begun || ctx.Err() != nil || errors.Is(without, process.ErrNoGo) {
		return without
	}
	own, err := p.Goroutines()
	if err != nil {
		return fmt.Errorf("%w; without delve: %w", without, err)
	}
	if opts.Without != nil {
		opts.Without(without.Error())
	}
	deadline := time.Now().Add(maxTime)
	for g := range own {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("there are more goroutines than can be listed in %v", maxTime)
		}
		if r := w.found(&g); opts.selects(r) && !found(w.describe(r, g.Saved, false)) {
			break
		}
	}
	return nil
}

// maxTime bounds the time of a list that sfcore makes itself, as that of delve's. A
// damaged one may have 16 million goroutines.
const maxTime = 10 * time.Minute

func (o *Options) selects(g *wire.Goroutine) bool {
	return (o.Only == 0 || g.ID == o.Only) && (o.Select == nil || o.Select(g.ID, g.Runtime))
}

// byDelve has delve find the goroutines.
func (w *walker) byDelve(ctx context.Context, opts *Options, found func(g *wire.Goroutine) bool) error {
	setup, err := delveSetup(w.process)
	if err != nil {
		return err
	}
	setup.Only = opts.Only
	setup.MaxFrames, setup.Locals, setup.Runtime = cmp.Or(opts.MaxFrames, unwind.DefaultMaxFrames), opts.Locals, opts.RuntimeLocals
	w.readSaved()
	return wire.Lister(ctx, findDelve, setup, w.process.Memory(), found)
}

// delveSetup says what delve is to look at, or why it cannot.
func delveSetup(p *process.Process) (*wire.Setup, error) {
	program, ok := p.GoProgram()
	if !ok {
		if problems := p.Problems(); len(problems) > 0 {
			return nil, fmt.Errorf("%w; %s", process.ErrNoGo, strings.Join(problems, "; "))
		}
		return nil, process.ErrNoGo
	}
	img := p.Image()
	a := img.Arch
	if a.Delve == "" {
		name := a.Name
		if _, little := arch.Named(a.Name, false); little && a.BigEndian {
			name = "big-endian " + name
		}
		return nil, fmt.Errorf("delve does not support %s", name)
	}
	if !program.HasDebug {
		return nil, errors.New("the program has no debug information that delve can read")
	}
	s := &wire.Setup{Arch: a.Delve, File: program.File, Debug: program.DebugFile, Entry: program.Entry}
	if self := "/proc/self/"; strings.HasPrefix(s.File, self) {
		s.File = fmt.Sprintf("/proc/%d/%s", os.Getpid(), s.File[len(self):])
	}
	for i := range img.Threads {
		if th := &img.Threads[i]; len(th.PrStatus) >= arch.PrStatusRegs {
			s.Threads = append(s.Threads, wire.Thread{ID: th.ID, Regs: th.PrStatus[arch.PrStatusRegs:]})
		}
	}
	return s, nil
}

// walker walks the stacks of goroutines.
type walker struct {
	process *process.Process
	walker  *process.Walker
	savedBy map[int64]gostack.Saved // by id: what the scheduler saved, beside delve's account
}

// maxSaved bounds the goroutines for which savedBy is filled in, to 100 MB.
const maxSaved = 1 << 20

// readSaved reads what the scheduler saved. delve tells less: not the link register,
// and not where the structure of the goroutine is.
func (w *walker) readSaved() {
	own, err := w.process.Goroutines()
	if err != nil {
		return // delve's account is enough for most stacks
	}
	w.savedBy = make(map[int64]gostack.Saved)
	left := maxSaved
	for g := range own {
		if left--; left < 0 {
			break
		}
		w.savedBy[g.ID] = g.Saved
	}
}

// saved returns the registers of a goroutine that delve found.
func (w *walker) saved(g *wire.Goroutine) gostack.Saved {
	s, ok := w.savedBy[g.ID]
	if !ok || s.PC != g.Saved.PC || s.SP != g.Saved.SP {
		s = gostack.Saved{PC: g.Saved.PC, SP: g.Saved.SP, FP: g.Saved.FP}
	}
	return s
}

// describe walks the stack of a goroutine from the registers that were saved, or
// those of its thread. If it is delve that found the goroutine, the stack is compared
// with delve's.
func (w *walker) describe(g *wire.Goroutine, saved gostack.Saved, byDelve bool) (r *report.Goroutine, complete bool) {
	r = &report.Goroutine{
		ID: g.ID, Status: g.Status, WaitReason: g.WaitReason, TID: g.TID, Runtime: g.Runtime,
		Start: place(&g.Start), Created: place(&g.Created), Frames: []report.GoroutineFrame{},
	}
	s, err := w.walk(g, saved.Regs(w.process.Image().Arch))
	if err != nil {
		r.Stop = report.Stop{Reason: unwind.NoUnwindInfo, Detail: err.Error()}
		return r, false
	}
	complete = s.Complete()
	r.WaitsFor = w.waitsFor(s, g, saved.G)
	thread := w.walker.Describe(s, false)
	r.Stop = thread.Stop
	r.Frames = make([]report.GoroutineFrame, len(thread.Frames))
	for i := range thread.Frames {
		r.Frames[i].Frame = thread.Frames[i]
	}
	if byDelve {
		r.Delve = compareStacks(r.Frames, g, w.isGo)
	}
	return r, complete && (r.Delve == nil || r.Delve.LeavesOut())
}

// walk walks the stack of a goroutine.
func (w *walker) walk(g *wire.Goroutine, saved arch.Regs) (*process.Stack, error) {
	img := w.process.Image()
	for i := range img.Threads {
		if th := &img.Threads[i]; g.TID != 0 && th.ID == g.TID {
			return w.walker.Walk(th), nil
		}
	}
	switch {
	case g.Status == "":
		return nil, errors.New(g.Err)
	case g.Status == "running":
		return nil, errors.New("the goroutine is running, but no thread runs it")
	case !w.isGo(g.Saved.PC):
		return nil, fmt.Errorf("the goroutine's saved pc, %#x, is not in Go code", g.Saved.PC)
	}
	th := &core.Thread{Regs: saved}
	if len(img.Threads) > 0 {
		th.PACMask = img.Threads[0].PACMask
	}
	s := w.walker.WalkSaved(th, w.begins(g.Saved.PC))
	w.savedByScheduler(s, g)
	return s, nil
}

// isGo reports whether pc, or the byte before it, is Go code: of the program, or of
// a plugin that it has loaded. The linker lists C code beside Go's, but does not tell
// where SP is in it.
func (w *walker) isGo(pc uint64) bool {
	f, ok := w.process.GoFunction(pc - 1)
	if ok {
		_, ok = f.SPDelta(pc - 1)
	}
	return ok || w.begins(pc)
}

// begins reports whether pc is the address of a function's first instruction. A
// goroutine that has not run yet continues there.
func (w *walker) begins(pc uint64) bool {
	f, ok := w.process.GoFunction(pc)
	return ok && f.Entry == pc
}

// savedByScheduler marks the innermost frame as found by what Go's scheduler
// saved: its registers are not a thread's. Unless a call that saves registers
// precedes its pc, and a frame is where the goroutine's stack ends, it is at most
// checked, and so are the frames above it. Below such a frame there is C, if C called
// the goroutine.
func (w *walker) savedByScheduler(s *process.Stack, g *wire.Goroutine) {
	if len(s.Frames) == 0 {
		return
	}
	s.Frames[0].Method = unwind.Goroutine
	ends := slices.ContainsFunc(s.Frames, func(f unwind.Frame) bool {
		sp, ok := f.Regs.Get(w.process.Image().Arch.SP)
		return ok && g.Ends(sp)
	})
	if ends && savesRegisters(w.process, s.Frames[0].PC) {
		return
	}
	for i := range s.Frames {
		s.Frames[i].Trust = min(s.Frames[i].Trust, unwind.Checked)
	}
}

// savers are the functions of the runtime that save the registers of their
// caller for the scheduler [src/runtime/asm_*.s, proc.go].
var savers = []string{"runtime.mcall", "runtime.morestack", "runtime.entersyscall"}

// savesRegisters reports whether the call before pc is to one of savers.
func savesRegisters(p *process.Process, pc uint64) bool {
	var code [8]byte
	if n, _ := p.Memory().ReadMem(code[:], pc-uint64(len(code))); n != len(code) {
		return false
	}
	callee, ok := p.Image().Arch.CallTarget(code[:], pc)
	if !ok {
		return false
	}
	at := p.Locate(callee)
	f := at.Function()
	return f != nil && slices.ContainsFunc(savers, func(s string) bool { return strings.HasPrefix(f.Name, s) })
}

// place converts a place that delve reported. It returns nil if the place is unknown.
func place(p *wire.Place) *report.Place {
	if p.PC == 0 {
		return nil
	}
	return &report.Place{PC: report.Addr(p.PC), Function: p.Function, File: p.File, Line: p.Line}
}

func goVariables(list []wire.Variable) []report.GoVariable {
	if list == nil {
		return nil
	}
	variables := make([]report.GoVariable, len(list))
	for i := range list {
		variables[i] = report.GoVariable(list[i])
	}
	return variables
}
