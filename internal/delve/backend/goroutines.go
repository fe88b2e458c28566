package backend

import (
	"errors"
	"fmt"
	"go/constant"
	"reflect"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/sfcore/sfcore/internal/delve/wire"
)

const (
	// maxGoroutines bounds the goroutines that the process may have had at once.
	// Each has a stack of at least 2 KiB; together these have 32 GiB.
	maxGoroutines = 1 << 24

	// batch is how many goroutines are requested from delve at once.
	batch = 1000
)

// lister makes a list of goroutines.
type lister struct {
	target  *proc.Target
	setup   *wire.Setup
	reasons []string
}

// all calls send with every goroutine that is alive.
func (l *lister) all(send func(*wire.Goroutine) error) error {
	switch n, err := globalUint(l.target, "runtime.allglen"); {
	case err != nil:
		return fmt.Errorf("delve: runtime.allglen: %w", err)
	case n > maxGoroutines:
		return fmt.Errorf("runtime.allglen is damaged: %d is more than %d", n, maxGoroutines)
	}
	for next := 0; next >= 0; {
		gs, n, err := proc.GoroutinesInfo(l.target, next, batch)
		if err != nil {
			return fmt.Errorf("delve: %w", err)
		}
		for _, g := range gs {
			if g.Status&^gScan == gDeadExtra || l.setup.Only != 0 && g.ID != l.setup.Only {
				continue
			}
			if err := send(l.one(g)); err != nil {
				return err
			}
		}
		next = n
	}
	return nil
}

// States of a goroutine that delve has no names for [src/runtime/runtime2.go].
const (
	gDeadExtra = 11     // of a thread that may call Go from C
	gScan      = 0x1000 // its stack is being scanned, in addition to its other state
)

// statuses are the states of goroutines [src/runtime/traceback.go:
// gStatusStrings]. Package gostack has them too, but is not linked into sfcore-delve.
var statuses = []string{
	"idle", "runnable", "running", "syscall", "waiting", 6: "dead", 8: "copystack", 9: "preempted", 10: "leaked",
}

func (l *lister) one(g *proc.G) *wire.Goroutine {
	r := &wire.Goroutine{ID: g.ID, Frames: []wire.Frame{}}
	if g.Unreadable != nil {
		r.Err = g.Unreadable.Error()
		return r
	}
	status := g.Status &^ gScan
	if status < uint64(len(statuses)) {
		r.Status = statuses[status]
	}
	if r.Status == "" {
		r.Status = fmt.Sprintf("status %d", status)
	}
	if r.Status == "waiting" && g.WaitReason > 0 && g.WaitReason < int64(len(l.reasons)) {
		r.WaitReason = l.reasons[g.WaitReason]
	}
	if g.Thread != nil {
		r.TID = g.Thread.ThreadID()
	}
	r.Runtime = g.System(l.target)
	start := g.StartLoc(l.target)
	r.Start = place(&start)
	if g.ID != 1 { // which no go statement made
		created := g.Go()
		r.Created = place(&created)
	}
	r.Saved = wire.Saved{PC: g.PC, SP: g.SP, FP: g.BP}
	frames, err := l.stack(g)
	if err != nil {
		r.Err = err.Error()
	}
	if len(frames) > 0 && g.Thread == nil {
		r.StackHi = uint64(frames[0].Regs.CFA - frames[0].FrameOffset())
	}
	for i := range frames {
		f := &frames[i]
		if f.Err != nil {
			r.Err = f.Err.Error()
			break
		}
		r.Frames = append(r.Frames, wire.Frame{Place: place(&f.Call), Inlined: f.Inlined})
		if l.setup.Locals {
			r.Frames[i].Variables = l.variables(g, frames[i:])
		}
	}
	return r
}

// stack returns the stack of a goroutine. delve allocates room for all frames that
// are requested, so they are requested in parts.
func (l *lister) stack(g *proc.G) ([]proc.Stackframe, error) {
	const (
		most     = 64
		uncached = proc.StacktraceOptions(1 << 15) // unknown to delve, which keeps stacks that were asked for without options
	)
	frames, err := proc.GoroutineStacktrace(l.target, g, min(most, l.setup.MaxFrames-1), uncached)
	if err == nil && len(frames) > most && l.setup.MaxFrames > most {
		frames, err = proc.GoroutineStacktrace(l.target, g, l.setup.MaxFrames-1, uncached)
	}
	return frames, err
}

func place(l *proc.Location) wire.Place {
	p := wire.Place{PC: l.PC}
	if l.Fn != nil {
		p.Function = l.Fn.Name
	}
	if l.Line > 0 {
		p.File, p.Line = l.File, l.Line
	}
	return p
}

// global evaluates a global variable.
func global(t *proc.Target, name string) (*proc.Variable, error) {
	info := t.BinInfo()
	scope := &proc.EvalScope{Mem: t.Memory(), BinInfo: info, Regs: op.DwarfRegisters{StaticBase: info.Images[0].StaticBase}}
	v, err := scope.EvalExpression(name, proc.LoadConfig{MaxStringLen: 64, MaxArrayValues: 256})
	if err == nil && v.Unreadable != nil {
		err = v.Unreadable
	}
	return v, err
}

var errNotNumber = errors.New("not a number")

func globalUint(t *proc.Target, name string) (uint64, error) {
	v, err := global(t, name)
	if err != nil {
		return 0, err
	}
	if v.Value == nil || v.Value.Kind() != constant.Int {
		return 0, errNotNumber
	}
	n, ok := constant.Uint64Val(v.Value)
	if !ok {
		return 0, errNotNumber
	}
	return n, nil
}

// waitReasons returns the program's names for what goroutines wait for; none if they
// cannot be read.
func waitReasons(t *proc.Target) []string {
	v, err := global(t, "runtime.waitReasonStrings")
	if err != nil {
		return nil
	}
	var names []string
	for i := range v.Children {
		c := &v.Children[i]
		name := ""
		if c.Kind == reflect.String && c.Unreadable == nil && c.Value != nil && c.Value.Kind() == constant.String {
			name = constant.StringVal(c.Value)
		}
		names = append(names, name)
	}
	return names
}
