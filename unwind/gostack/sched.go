package gostack

import (
	"errors"

	"github.com/sfcore/sfcore/arch"
)

// This file handles the functions that switch to g0 and come back by g.sched. All
// of them enter g0 at g0.sched.sp
// [src/runtime/asm_amd64.s: systemstack, morestack, mcall].

// maxEntered is how far SP may be below g0.sched.sp, in bytes, in a function that
// has entered g0. The function made room for a word, and aligned SP.
const maxEntered = 32

// systemstack makes the row of the function that runs another function on g0. It
// returns to the goroutine by the goroutine's sched. For tracebacks, sched.pc is
// the address of systemstack_switch
// [src/runtime/asm_amd64.s: gosave_systemstack_switch].
func (s *Stepper) systemstack(f *frame, row *arch.Row) error {
	g, sp, err := s.scheduled(f)
	if err != nil {
		return err
	}
	w := words{mem: f.Mem}
	pc := w.at(g + gSchedPC)
	if w.err != nil {
		return errors.Join(errSched, w.err)
	}
	if !s.in(pc, "runtime.systemstack_switch") {
		return errSched
	}
	if ok, err := s.fits(f, g, sp, f.delta); !ok {
		return errors.Join(errSched, err)
	}
	s.goroutineAt(f, row, g, sp, f.delta)
	s.thread.leftScheduler = true
	return nil
}

// morestack makes the row of the function that enlarges a goroutine's stack. Other
// functions call it at their first instructions. It has put their pc and SP into
// g.sched, and also the link register, because they have not saved that yet
// [src/runtime/asm_arm64.s: morestack].
//
// The function may also have found that the goroutine is to make room for others.
// Then the thread no longer runs that goroutine, and its stack ends here
// [src/runtime/stack.go: newstack; proc.go: gopreempt_m].
func (s *Stepper) morestack(f *frame, row *arch.Row) error {
	if s.thread.known && s.thread.curg == 0 {
		return s.preempted(f)
	}
	g, sp, err := s.scheduled(f)
	if err != nil {
		return err
	}
	if err := s.resumed(f, row, g, sp); err != nil {
		return err
	}
	if f.Arch.LR != arch.NoReg {
		row.Injected = true
		s.extra(row, f.Arch.LR, arch.Rule{Base: arch.Absolute, Off: int64(g + s.thread.layout.schedLR), Deref: true})
	}
	s.thread.leftScheduler = true
	return nil
}

// preempted checks that the stack of a thread that runs no goroutine ends in
// morestack: C did not call the goroutine, so that the thread does not wait for it.
func (s *Stepper) preempted(f *frame) error {
	w := words{mem: f.Mem}
	entry := w.at(s.thread.g0 + gSchedSP)
	if w.err != nil {
		return w.err
	}
	if _, called, err := s.calledFromC(f, entry); called || err != nil {
		return errors.Join(errWaiting, err)
	}
	return s.entered(f)
}

// mcall makes the row of the function that leaves a goroutine for the scheduler.
// In most cases the thread no longer runs that goroutine, which continues
// elsewhere, so the stack of the thread ends here. But a goroutine that C called
// comes back to this thread.
func (s *Stepper) mcall(f *frame, row *arch.Row) error {
	t := &s.thread
	if !t.known {
		return errNoG
	}
	if t.curg == 0 {
		return s.parked(f, row)
	}
	g, sp, err := s.scheduled(f)
	if err != nil {
		return err
	}
	if err := s.resumed(f, row, g, sp); err != nil {
		return err
	}
	t.leftScheduler = true
	return nil
}

// parked makes the row of mcall on a thread that runs no goroutine. That is the
// zero row, because there is no caller. But if C called a goroutine that is now
// waiting, the row leads to that goroutine. mcall passes the goroutine's address
// as an argument, at abi.mcallG
// [src/runtime/asm_amd64.s: mcall, "open up space for fn's arg spill slot"].
func (s *Stepper) parked(f *frame, row *arch.Row) error {
	w := words{mem: f.Mem}
	entry := w.at(s.thread.g0 + gSchedSP)
	if w.err != nil {
		return w.err
	}
	if _, ok, err := s.calledFromC(f, entry); !ok {
		return err
	}
	if err := s.entered(f); err != nil {
		return err
	}
	g := w.at(f.sp + uint64(s.abi.mcallG))
	sp, m, bounds := w.at(g+gSchedSP), w.at(g+gM), stackOf(&w, g)
	if w.err != nil || m != 0 || !bounds.contains(sp) {
		return errWaiting
	}
	if err := s.resumed(f, row, g, sp); err != nil {
		return errWaiting
	}
	row.Uncertain = true
	s.thread.parked, s.thread.leftScheduler = g, true
	return nil
}

// scheduled returns the goroutine that the thread left for g0, and the
// goroutine's SP. f is the frame of a function that has entered g0.
func (s *Stepper) scheduled(f *frame) (g, sp uint64, err error) {
	t := &s.thread
	switch {
	case !t.known:
		return 0, 0, errNoG
	case t.curg == 0:
		return 0, 0, errSched
	}
	if err := s.entered(f); err != nil {
		return 0, 0, err
	}
	w := words{mem: f.Mem}
	sp, bounds := w.at(t.curg+gSchedSP), stackOf(&w, t.curg)
	switch {
	case w.err != nil:
		return 0, 0, errors.Join(errSched, w.err)
	case !bounds.contains(sp):
		return 0, 0, errSched
	}
	return t.curg, sp, nil
}

// entered checks that SP is where functions enter g0, and that the walk has not
// gone from there to a goroutine before.
func (s *Stepper) entered(f *frame) error {
	w := words{mem: f.Mem}
	at := w.at(s.thread.g0 + gSchedSP)
	switch {
	case w.err != nil:
		return errors.Join(errG0, w.err)
	case s.thread.leftScheduler || f.sp > at || at-f.sp > maxEntered:
		return errG0
	}
	return nil
}

// resumed makes the row of a function whose caller continues by sched: at
// sched.pc, with sched.sp as SP, which is what it is after the return. If calls
// push a return address, it is just below that SP
// [src/runtime/asm_amd64.s: mcall].
func (s *Stepper) resumed(f *frame, row *arch.Row, g, sp uint64) error {
	w := words{mem: f.Mem}
	pc := w.at(g + gSchedPC)
	pushed := pc
	if s.abi.pushed > 0 {
		pushed = w.at(sp - uint64(s.abi.pushed))
	}
	switch {
	case w.err != nil:
		return errors.Join(errSched, w.err)
	case pushed != pc:
		return errSched
	}
	row.CFA = arch.Rule{Base: arch.Absolute, Off: int64(sp)}
	row.RA = arch.Rule{Base: arch.Absolute, Off: int64(pc)}
	s.callerSP(f, row, 0)
	s.extra(row, s.abi.g, arch.Rule{Base: arch.Absolute, Off: int64(g)})
	row.Switch = true
	return nil
}
