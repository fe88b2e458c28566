// Package goroutines lists the goroutines of a Go program in a process: delve, in
// a program of its own, finds them, and sfcore walks their stacks. Every front end
// that shows goroutines takes them from here, with their trust.
package goroutines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// Options say how the goroutines of a process are listed.
type Options struct {
	// Select is called for each goroutine before its stack is walked, and says
	// whether to list it; nil selects all. runtime is set for goroutines of Go's
	// runtime, which Go's own tracebacks leave out.
	Select func(id int64, runtime bool) bool
	// Locals asks for variables. RuntimeLocals asks for those of the runtime's
	// functions, too.
	Locals, RuntimeLocals bool
	// MaxFrames bounds the stacks that delve walks; 0 for unwind.DefaultMaxFrames.
	MaxFrames int
}

// findDelve finds the program that delve is in; see docs/RATIONALE.md.
func findDelve() (string, error) { return companion.Find("sfcore-delve") }

// ErrNoGo is returned by List for a process without a Go program.
var ErrNoGo = errors.New("no Go program was found in this process")

// List calls found for the goroutines of a Go program, in the order in which
// the process has them, until it returns false. complete tells whether the stack
// was followed to its end and delve sees no more of it.
//
// delve finds the goroutines, in a program of its own. Their stacks are walked as
// those of threads, from the registers that Go's scheduler saved or those of the
// thread, and compared with delve's. The error says why the list ends early;
// goroutines that were found before are good.
func List(ctx context.Context, p *process.Process, opts Options, found func(g *report.Goroutine, complete bool) bool) error {
	setup, err := delveSetup(p)
	if err != nil {
		return err
	}
	setup.MaxFrames, setup.Locals, setup.Runtime = cmp.Or(opts.MaxFrames, unwind.DefaultMaxFrames), opts.Locals, opts.RuntimeLocals
	w := walker{process: p, walker: p.NewWalker()}
	return wire.Lister(ctx, findDelve, setup, p.Memory(), wire.Sink{
		Begin: func(text wire.Text) { w.text = text },
		Goroutine: func(g *wire.Goroutine) bool {
			if opts.Select != nil && !opts.Select(g.ID, g.Runtime) {
				return true
			}
			return found(w.describe(g))
		},
	})
}

// delveSetup says what delve is to look at, or why it cannot.
func delveSetup(p *process.Process) (*wire.Setup, error) {
	img := p.Image()
	a := img.Arch
	if a.Delve == "" {
		name := a.Name
		if _, little := arch.Named(a.Name, false); little && a.BigEndian {
			name = "big-endian " + name
		}
		return nil, fmt.Errorf("delve does not support %s; use bt to print the stacks of threads", name)
	}
	program, ok := p.GoProgram()
	if !ok {
		if problems := p.Problems(); len(problems) > 0 {
			return nil, fmt.Errorf("%w; %s", ErrNoGo, strings.Join(problems, "; "))
		}
		return nil, ErrNoGo
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
	text    wire.Text // where Go code is
}

// describe walks the stack of a goroutine and compares it with delve's.
func (w *walker) describe(g *wire.Goroutine) (r *report.Goroutine, complete bool) {
	r = &report.Goroutine{
		ID: g.ID, Status: g.Status, WaitReason: g.WaitReason, TID: g.TID, Runtime: g.Runtime,
		Start: place(&g.Start), Created: place(&g.Created), Frames: []report.GoroutineFrame{},
	}
	th, err := w.thread(g)
	if err != nil {
		r.Stop = report.Stop{Reason: unwind.NoUnwindInfo, Detail: err.Error()}
		return r, false
	}
	s := w.walker.Walk(th)
	if g.TID == 0 {
		w.savedByScheduler(s, g)
	}
	complete = s.Complete()
	thread := w.walker.Describe(s, false)
	r.Stop = thread.Stop
	for i := range thread.Frames {
		r.Frames = append(r.Frames, report.GoroutineFrame{Frame: thread.Frames[i]})
	}
	r.Delve = compareStacks(r.Frames, g, w.text)
	return r, complete && (r.Delve == nil || r.Delve.LeavesOut())
}

// thread returns what runs a goroutine, or would with the registers that were
// saved of it.
func (w *walker) thread(g *wire.Goroutine) (*core.Thread, error) {
	img := w.process.Image()
	for i := range img.Threads {
		if th := &img.Threads[i]; g.TID != 0 && th.ID == g.TID {
			return th, nil
		}
	}
	switch {
	case g.Status == "":
		return nil, errors.New(g.Err)
	case g.Status == "running":
		return nil, errors.New("the goroutine is running, but no thread runs it")
	case !w.text.Contains(g.Saved.PC):
		return nil, fmt.Errorf("the goroutine's saved pc, %#x, is not in Go code", g.Saved.PC)
	}
	th := &core.Thread{Regs: g.Saved.Regs(img.Arch)}
	if len(img.Threads) > 0 {
		th.PACMask = img.Threads[0].PACMask
	}
	return th, nil
}

// savedByScheduler marks the innermost frame as found by what Go's scheduler
// saved: its registers are not a thread's. Unless a call that saves registers
// precedes its pc, and the stack ends where the goroutine's does, it is at most
// checked, and so are the frames above it.
func (w *walker) savedByScheduler(s *process.Stack, g *wire.Goroutine) {
	if len(s.Frames) == 0 {
		return
	}
	s.Frames[0].Method = unwind.Goroutine
	last := &s.Frames[len(s.Frames)-1]
	if sp, ok := last.Regs.Get(w.process.Image().Arch.SP); ok && g.Ends(sp) && savesRegisters(w.process, s.Frames[0].PC) {
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
