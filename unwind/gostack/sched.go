package gostack

import (
	"errors"

	"github.com/sfcore/sfcore/arch"
)

// The functions that go to g0 to come back by g.sched. All of them enter g0 at
// g0.sched.sp [src/runtime/asm_amd64.s: systemstack, morestack, mcall].

// maxEntered is how far below g0.sched.sp SP may be in a function that has
// entered g0: it made room for a word, and aligned SP.
const maxEntered = 32

// systemstack makes the row of the function that runs another on g0, to return
// to the goroutine by its sched. That has the address of systemstack_switch, for
// tracebacks [src/runtime/asm_amd64.s: gosave_systemstack_switch].
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

// morestack makes the row of the function that makes a goroutine's stack
// larger: it is called at the first instructions of others, whose pc and SP it
// has put in g.sched. The link register is there too, since those have not saved
// it yet [src/runtime/asm_arm64.s: morestack].
func (s *Stepper) morestack(f *frame, row *arch.Row) error {
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

// mcall makes the row of the function that leaves a goroutine for the
// scheduler. Mostly that goroutine is gone by now, to go on elsewhere, and the
// stack of the thread ends here; but one that was called from C comes back.
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

// parked makes the row of mcall on a thread that runs no goroutine: the zero row,
// as there is no caller, or that of the goroutine that C called and that waits. mcall
// has its address as the argument of what it calls, at abi.mcallG
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

// scheduled returns the goroutine that the thread left for g0, and its SP, of a
// function that has entered g0 there.
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

// entered checks that SP is where functions enter g0, from which a walk goes to
// the goroutine once.
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

// resumed makes the row of a function that left its caller to go on by sched:
// at sched.pc, with SP as after the return. Where calls push, the return address
// is below [src/runtime/asm_amd64.s: mcall].
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
