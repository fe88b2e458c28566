// Package gostack finds the callers of Go functions. It also follows Go's runtime
// from one stack to another. The runtime switches stacks to call C, when C calls
// Go, and to run code that must not run on a goroutine's stack. The package knows
// the runtime of Go 1.17 and later on amd64, aarch64 and s390x.
//
// Frame sizes are in Go's table of functions. When the runtime switches stacks, it
// keeps the way back in its structures m (a thread) and g (a goroutine or one of
// the thread's own stacks). Their contents are used only if they agree with
// everything else. See machine.go for the layout of the structures, switch.go for
// drawings of the stacks, and cgo.go and sched.go for the checks.
package gostack

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/unwind"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// Stepper makes rows for the functions of Go modules. During one walk, it
// remembers what it learned about the thread. Every Unwinder needs its own.
type Stepper struct {
	abi    *abi
	walk   uint64
	module *unwind.Module
	thread thread
	row    [maxExtra]arch.RegRule // what row.Extra refers to
}

// maxExtra is the number of rules that a row may need. crosscall2 of s390x needs
// most, for all saved registers.
const maxExtra = 20

// Method implements [unwind.Stepper]. Rows that lead to another stack make it
// [unwind.Goroutine].
func (*Stepper) Method() unwind.Method { return unwind.Pclntab }

// frame is the frame whose caller the stepper looks for.
type frame struct {
	*unwind.Cursor
	fn    pclntab.Func
	flags pclntab.Flags
	sp    uint64
	delta int64 // from sp to the SP at the first instruction, in bytes
}

var errDelta = errors.New("SP is unknown")

// Row implements [unwind.Stepper].
func (s *Stepper) Row(c *unwind.Cursor, row *arch.Row) (bool, error) {
	if c.Module == nil || c.Module.Go == nil {
		return false, nil
	}
	fn, ok := c.Module.Go.Find(c.PC)
	if !ok {
		return false, nil
	}
	if s.abi == nil {
		if s.abi = abiOf(c.Arch); s.abi == nil {
			return false, nil
		}
	}
	if s.walk != c.Walk || s.module != c.Module {
		s.walk, s.module, s.thread = c.Walk, c.Module, thread{}
	}
	f := frame{Cursor: c, fn: fn, flags: fn.Flags()}
	delta, ok := fn.SPDelta(c.PC)
	if !ok {
		return false, nil // C code that the linker lists beside Go's, or an old table
	}
	f.delta = int64(delta)
	if f.sp, ok = c.Regs.Get(c.Arch.SP); !ok {
		return false, errDelta
	}
	if err := s.find(&f, row); err != nil {
		return false, fmt.Errorf("%s: %w", fn.Name(), err)
	}
	return true, nil
}

// find makes the row of a Go function.
func (s *Stepper) find(f *frame, row *arch.Row) error {
	row.Extra = s.row[:0]
	switch string(f.fn.Name()) {
	case "runtime.sigtramp": // it is marked as outermost, but the kernel called it
		s.plain(f, row)
		return nil
	case "crosscall2":
		return s.crosscall2(f, row)
	case "runtime.sigpanic", "runtime.asyncPreempt":
		s.injected(f, row)
		return nil
	}
	if f.flags&pclntab.TopFrame != 0 {
		return nil // the zero row: there is no caller
	}
	if f.flags&pclntab.SPWrite != 0 {
		return s.jump(f, row)
	}
	s.plain(f, row)
	return nil
}

// plain makes the row of a function whose frame is at SP.
func (s *Stepper) plain(f *frame, row *arch.Row) {
	s.frameAt(f, row, arch.SameValue(f.Arch.SP), f.delta)
	if f.delta == 0 && f.Arch.LR != arch.NoReg {
		row.RA = arch.SameValue(f.Arch.LR)
	}
	s.extra(row, s.abi.g, arch.SameValue(s.abi.g))
}

// frameAt makes the row of a function whose frame begins where sp says. size is
// the size of the frame in bytes, without what a call pushed.
func (s *Stepper) frameAt(f *frame, row *arch.Row, sp arch.Rule, size int64) {
	row.CFA = sp
	row.CFA.Off += size + s.abi.pushed
	if row.RA = arch.AtCFA(-s.abi.pushed); s.abi.pushed == 0 {
		row.RA = sp // Go saves the link register at the lowest address
		row.RA.Deref = true
	}
	s.callerSP(f, row, 0)
}

// callerSP adds the rule for the caller's SP, which is off bytes above the CFA.
// Go's CFA is that SP on every architecture, even if C's is not.
func (s *Stepper) callerSP(f *frame, row *arch.Row, off int64) {
	if off != f.Arch.SPFromCFA {
		s.extra(row, f.Arch.SP, arch.Rule{Base: arch.CFA, Off: off})
	}
}

func (s *Stepper) extra(row *arch.Row, reg arch.Reg, rule arch.Rule) {
	row.Extra = append(row.Extra, arch.RegRule{Reg: reg, Rule: rule})
}

// injected makes the row of a function that the interrupted code did not call
// itself: a signal handler made it look so
// [src/runtime/signal_amd64.go: preparePanic, pushCall].
func (s *Stepper) injected(f *frame, row *arch.Row) {
	s.plain(f, row)
	row.Injected = true
	if s.abi.pushed > 0 {
		return
	}
	// The handler pushed the link register, and put the return address in it.
	row.Extra = row.Extra[:0]
	s.callerSP(f, row, s.abi.pushedLR)
	s.extra(row, f.Arch.LR, arch.AtCFA(0))
	s.extra(row, s.abi.g, arch.SameValue(s.abi.g))
}

// crosscall2 makes the row of the function by which C calls Go. The function is
// written in assembly, and saves the registers that C expects to find unchanged
// [src/runtime/cgo/asm_amd64.s].
func (s *Stepper) crosscall2(f *frame, row *arch.Row) error {
	switch {
	case f.Exact && f.delta == 0 && f.PC != f.fn.Entry:
		return errSwitching // the table for s390x does not tell whether it was
	case f.Exact:
		s.plain(f, row)
		return nil
	}
	size := max(f.delta, s.abi.crosscallFrame)
	s.frameAt(f, row, arch.SameValue(f.Arch.SP), size)
	for _, l := range s.abi.crosscallSaved {
		rule := arch.AtReg(f.Arch.SP, int64(l.Off))
		switch l.Reg {
		case f.Arch.LR:
			row.RA = rule
		case f.Arch.FP:
			row.FP = rule
		default:
			s.extra(row, l.Reg, rule)
		}
	}
	if s.abi.pushed > 0 && size > s.abi.crosscallFrame {
		// The assembler has pushed the caller's frame pointer, and what the function
		// saves as that register is where it was pushed.
		row.FP = arch.AtReg(f.Arch.SP, size-8)
	}
	return nil
}
