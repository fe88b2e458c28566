package gostack

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/arch"
)

var (
	errUnknownSwitch = errors.New("it writes to SP in a way that is not known")
	errSwitching     = errors.New("the thread was between two stacks")
	errDepth         = errors.New("the goroutine's SP that it saved is not within that goroutine's stack, or not where the runtime has it")
	errSched         = errors.New("what the goroutine is to go on with does not fit")
	errG0            = errors.New("SP is not where the runtime entered the thread's own stack")
	errCallback      = errors.New("the call from C that led here is not on the thread's own stack; a panic may have given it up")
	errWaiting       = errors.New("this thread waits for a goroutine that was called from C, and which one is not known")
)

// jump makes the row of a function that writes to SP.
func (s *Stepper) jump(f *frame, row *arch.Row) error {
	row.Evaluated = true
	name := string(f.fn.Name())
	if reg, ok := s.abi.savedSP[name]; ok {
		return s.saved(f, row, reg)
	}
	g, known := f.Regs.Get(s.abi.g)
	if known && !s.thread.known {
		_ = s.thread.learn(f.Mem, g) // asmcgocall has another; the others say that none is known
	}
	switch {
	case name == "runtime.cgocallback":
		return s.cgocallback(f, row)
	case f.Exact && s.onGoroutine(f):
		s.plain(f, row) // the switch is still to come, or is over
		return nil
	case f.Exact:
		return errSwitching
	}
	switch name {
	case "runtime.asmcgocall":
		return s.asmcgocall(f, row)
	case "runtime.systemstack":
		return s.systemstack(f, row)
	case "runtime.mcall":
		return s.mcall(f, row)
	case "runtime.morestack":
		return s.morestack(f, row)
	}
	return errUnknownSwitch
}

// onGoroutine reports whether SP is on the stack of the thread's goroutine.
func (s *Stepper) onGoroutine(f *frame) bool {
	if !s.thread.known || s.thread.curg == 0 {
		return false
	}
	w := words{mem: f.Mem}
	return stackOf(&w, s.thread.curg).contains(f.sp) && w.err == nil
}

// saved makes the row of a function that keeps SP in a register, which the C
// code that it called did not change, and may have gone to g0 for that call.
func (s *Stepper) saved(f *frame, row *arch.Row, reg arch.Reg) error {
	if f.Exact {
		return errSwitching
	}
	sp, ok := f.Regs.Get(reg)
	if !ok {
		return fmt.Errorf("needs %s, which is not known in this frame", f.Arch.RegName(reg))
	}
	s.frameAt(f, row, arch.RegOffset(reg, 0))
	g, known := f.Regs.Get(s.abi.g)
	if known {
		s.extra(row, s.abi.g, arch.SameValue(s.abi.g))
	}
	if sp >= f.sp && sp-f.sp < maxAligned {
		return nil // the same stack
	}
	if known {
		_ = s.thread.learn(f.Mem, g)
	}
	if !s.thread.known || s.thread.curg == 0 {
		return errNoG
	}
	w := words{mem: f.Mem}
	if !s.fits(f, &w, s.thread.curg, sp) {
		return errors.Join(errSched, w.err)
	}
	row.Switch = true
	return nil
}

// fits reports whether the function's frame, at sp, is on g's stack, up to its
// caller's SP.
func (s *Stepper) fits(f *frame, w *words, g, sp uint64) bool {
	bounds, up := stackOf(w, g), sp+uint64(f.delta+s.abi.pushed)
	return w.err == nil && bounds.contains(sp) && sp <= up && up <= bounds.hi
}

// maxAligned is the most that aligning SP and making room for two words, or on
// s390x for a register save area beside, takes.
const maxAligned = 256

// goroutineAt makes the row of a function that went on on another stack, with
// its frame left at sp on that of goroutine g.
func (s *Stepper) goroutineAt(f *frame, row *arch.Row, g, sp uint64) {
	s.frameAt(f, row, arch.Rule{Base: arch.Absolute, Off: int64(sp)})
	s.extra(row, s.abi.g, arch.Rule{Base: arch.Absolute, Off: int64(g)})
	row.Switch = true
}

// asmcgocall makes the row of the function that calls C: it keeps the way back
// on g0.
func (s *Stepper) asmcgocall(f *frame, row *arch.Row) error {
	f.delta -= s.abi.room
	var err error
	for _, at := range s.abi.saved {
		w := words{mem: f.Mem}
		g, depth := w.at(f.sp+at.g), w.at(f.sp+at.depth)
		if w.err != nil {
			return w.err
		}
		sp := depth
		if g != 0 || !s.abi.noG {
			sp = w.at(g+gStackHi) - depth
		}
		if w.err == nil && sp > f.sp && sp-f.sp <= maxAligned { // it was called on a stack of the thread
			s.frameAt(f, row, arch.Rule{Base: arch.Absolute, Off: int64(sp)})
			s.extra(row, s.abi.g, arch.SameValue(s.abi.g))
			return nil
		}
		e := s.calledC(f, g, sp)
		if e == nil {
			s.goroutineAt(f, row, g, sp)
			return nil
		}
		if err == nil {
			err = e
		}
	}
	return err
}

// calledC checks that goroutine g called C with SP at sp. The runtime has that
// once more: in the goroutine's sched or, if C called Go again meanwhile, by the
// frame that was made for that call.
func (s *Stepper) calledC(f *frame, g, sp uint64) error {
	t := &s.thread
	if err := t.learn(f.Mem, g); err != nil {
		return err
	}
	if g == 0 || g != t.curg && g != t.parked {
		return errG
	}
	w := words{mem: f.Mem}
	expected := t.expected
	if expected == 0 {
		expected = w.at(g + gSchedSP)
		if !s.in(w.at(g+gSchedPC), "runtime.systemstack_switch") {
			return errors.Join(errSched, w.err)
		}
	}
	if !s.fits(f, &w, g, sp) || sp != expected {
		return errors.Join(errDepth, w.err)
	}
	return nil
}

// in reports whether pc is in a function of the runtime.
func (s *Stepper) in(pc uint64, name string) bool {
	fn, ok := s.module.Go.Find(pc)
	return ok && string(fn.Name()) == name
}

// systemstack makes the row of the function that runs another on g0, to return
// to the goroutine by its sched.
func (s *Stepper) systemstack(f *frame, row *arch.Row) error {
	g, sp, err := s.scheduled(f)
	if err != nil {
		return err
	}
	w := words{mem: f.Mem}
	if pc := w.at(g + gSchedPC); !s.in(pc, "runtime.systemstack_switch") || !s.fits(f, &w, g, sp) {
		return errors.Join(errSched, w.err)
	}
	s.goroutineAt(f, row, g, sp)
	return nil
}

// maxEntered is how far below g0.sched.sp SP may be in a function that has
// entered g0: it made room for a word, and aligned SP.
const maxEntered = 32

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
	sp = w.at(t.curg + gSchedSP)
	if !stackOf(&w, t.curg).contains(sp) || w.err != nil {
		return 0, 0, errors.Join(errSched, w.err)
	}
	return t.curg, sp, nil
}

// entered checks that SP is where functions enter g0, and does so once in a walk.
func (s *Stepper) entered(f *frame) error {
	w := words{mem: f.Mem}
	at := w.at(s.thread.g0 + gSchedSP)
	if w.err != nil || s.thread.leftScheduler || f.sp > at || at-f.sp > maxEntered {
		return errors.Join(errG0, w.err)
	}
	s.thread.leftScheduler = true
	return nil
}

// resumed makes the row of a function that left its caller to go on by sched:
// at schedPC, with SP as after the return.
func (s *Stepper) resumed(f *frame, row *arch.Row, g, sp uint64) error {
	w := words{mem: f.Mem}
	pc := w.at(g + gSchedPC)
	if s.abi.pushed > 0 && w.at(sp-uint64(s.abi.pushed)) != pc || w.err != nil {
		return errors.Join(errSched, w.err)
	}
	row.CFA = arch.Rule{Base: arch.Absolute, Off: int64(sp)}
	row.RA = arch.Rule{Base: arch.Absolute, Off: int64(pc)}
	s.callerSP(f, row, 0)
	s.extra(row, s.abi.g, arch.Rule{Base: arch.Absolute, Off: int64(g)})
	row.Switch = true
	return nil
}

// morestack makes the row of the function that makes a goroutine's stack
// larger: it is called at the first instructions of others.
func (s *Stepper) morestack(f *frame, row *arch.Row) error {
	g, sp, err := s.scheduled(f)
	if err != nil {
		return err
	}
	if err := s.resumed(f, row, g, sp); err != nil {
		return err
	}
	if f.Arch.LR != arch.NoReg { // where the link register was not saved yet
		row.Injected = true
		s.extra(row, f.Arch.LR, arch.Rule{Base: arch.Absolute, Off: int64(g + s.thread.layout.schedLR), Deref: true})
	}
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
	if t.curg != 0 {
		g, sp, err := s.scheduled(f)
		if err != nil {
			return err
		}
		return s.resumed(f, row, g, sp)
	}
	w := words{mem: f.Mem}
	if _, ok := s.calledFromC(&w, w.at(t.g0+gSchedSP)); !ok {
		return w.err // if nil, with the zero row: there is no caller
	}
	if err := s.entered(f); err != nil {
		return err
	}
	g := w.at(f.sp + uint64(s.abi.mcallG))
	sp := w.at(g + gSchedSP)
	if w.err != nil || w.at(g+gM) != 0 || !stackOf(&w, g).contains(sp) || w.err != nil {
		return errWaiting
	}
	if err := s.resumed(f, row, g, sp); err != nil {
		return errWaiting
	}
	row.Uncertain = true
	t.parked = g
	return nil
}

// maxCallbacks bounds the calls from C that are passed in search of one. Each
// takes some hundred bytes of a stack.
const maxCallbacks = 1 << 16

// calledFromC returns the CFA of a frame of cgocallback at sp, and whether it is
// one that C called.
func (s *Stepper) calledFromC(w *words, sp uint64) (cfa uint64, ok bool) {
	cfa = sp + uint64(s.abi.callbackFrame+s.abi.pushed)
	at := sp // where Go saves the link register
	if s.abi.pushed > 0 {
		at = cfa - uint64(s.abi.pushed)
	}
	return cfa, s.in(w.at(at)-1, "crosscall2") && w.err == nil
}

// cgocallback makes the row of the function that goes from g0, where C called
// Go, to the goroutine's stack. It has a frame on either, with the same
// arguments, and g0.sched.sp is at the last one; each has the one before.
func (s *Stepper) cgocallback(f *frame, row *arch.Row) error {
	t, w := &s.thread, words{mem: f.Mem}
	if _, ok := s.calledFromC(&w, f.sp); ok {
		s.plain(f, row)
		return nil
	}
	g := t.curg
	if t.parked != 0 {
		g = t.parked
	}
	switch {
	case f.Exact:
		return errSwitching
	case !t.known || g == 0:
		return errNoG
	case f.delta != s.abi.callbackFrame || !stackOf(&w, g).contains(f.sp) || w.err != nil:
		return errors.Join(errCallback, w.err)
	}
	sp := w.at(t.g0 + gSchedSP)
	for range maxCallbacks {
		cfa, ok := s.calledFromC(&w, sp)
		if !ok {
			break
		}
		if sp > t.callback && s.sameArguments(&w, f.sp, cfa) {
			s.frameAt(f, row, arch.Rule{Base: arch.Absolute, Off: int64(sp)})
			row.Switch = true
			t.callback, t.expected = sp, f.sp+uint64(f.delta+s.abi.pushed)
			return nil
		}
		outer := w.at(sp + uint64(s.abi.outer))
		if outer <= sp {
			break
		}
		sp = outer
	}
	return errors.Join(errCallback, w.err)
}

// sameArguments compares the arguments that cgocallback has on the goroutine's
// stack, for the function that it calls, with its own on g0: one is the address
// of the caller's variables in C, which no other call that goes on has.
func (s *Stepper) sameArguments(w *words, sp, cfa uint64) bool {
	for off := s.abi.args; off < s.abi.args+3*8; off += 8 {
		if w.at(sp+uint64(off)) != w.at(cfa+uint64(off)) {
			return false
		}
	}
	return w.err == nil
}
