package gostack

import (
	"errors"

	"github.com/sfcore/sfcore/arch"
)

// The functions in this file handle the calls from Go to C and from C to Go. See
// the drawings in switch.go.

// maxCallbacks bounds the calls from C that a search looks at. Each takes some
// hundred bytes of a stack.
const maxCallbacks = 1 << 16

// asmcgocall makes the row of the function that calls C. The function keeps the
// way back on g0. The place depends on the version of Go.
func (s *Stepper) asmcgocall(f *frame, row *arch.Row) error {
	var first error
	for _, at := range s.abi.saved {
		w := words{mem: f.Mem}
		g, depth := w.at(f.sp+at.g), w.at(f.sp+at.depth)
		if w.err != nil {
			return w.err
		}
		err := s.calledC(f, row, g, depth)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// calledC makes the row of asmcgocall from what it saved: goroutine g, and the
// distance of SP from the top of its stack. asmcgocall does not save SP itself,
// because the goroutine's stack may move meanwhile
// [src/runtime/asm_amd64.s: asmcgocall]. If asmcgocall was called on a stack of
// the thread, the old SP is close to the new one.
func (s *Stepper) calledC(f *frame, row *arch.Row, g, depth uint64) error {
	size, sp := f.delta-s.abi.room, depth
	w := words{mem: f.Mem}
	if g != 0 || !s.abi.noG {
		sp = w.at(g+gStackHi) - depth
	}
	if w.err == nil && sp > f.sp && sp-f.sp <= maxAligned {
		s.frameAt(f, row, arch.Rule{Base: arch.Absolute, Off: int64(sp)}, size)
		s.extra(row, s.abi.g, arch.SameValue(s.abi.g))
		return nil
	}
	if err := s.checkCallOfC(f, g, sp, size); err != nil {
		return err
	}
	s.goroutineAt(f, row, g, sp, size)
	return nil
}

// checkCallOfC checks that goroutine g called C with SP at sp. The runtime keeps
// that SP in a second place: in the goroutine's sched. If C called Go again
// meanwhile, the frame that was made for that call tells it.
func (s *Stepper) checkCallOfC(f *frame, g, sp uint64, size int64) error {
	t := &s.thread
	if err := t.learn(f.Mem, g); err != nil {
		return err
	}
	if g == 0 || g != t.curg && g != t.parked {
		return errG
	}
	expected := t.expected
	if expected == 0 {
		w := words{mem: f.Mem}
		pc := w.at(g + gSchedPC)
		expected = w.at(g + gSchedSP)
		switch {
		case w.err != nil:
			return errors.Join(errSched, w.err)
		case !s.in(pc, "runtime.systemstack_switch"):
			return errSched
		}
	}
	if ok, err := s.fits(f, g, sp, size); !ok || sp != expected {
		return errors.Join(errDepth, err)
	}
	return nil
}

// cgocallback makes the row of the function that switches from g0, where C called
// Go, to the goroutine's stack.
func (s *Stepper) cgocallback(f *frame, row *arch.Row) error {
	_, ok, err := s.calledFromC(f, f.sp)
	if ok {
		s.plain(f, row) // the frame is still on g0
		return nil
	}
	t := &s.thread
	g := t.curg
	if t.parked != 0 {
		g = t.parked
	}
	switch {
	case f.Exact:
		return errSwitching
	case !t.known || g == 0:
		return errNoG
	case err != nil:
		return errors.Join(errCallback, err)
	}
	w := words{mem: f.Mem}
	bounds, last := stackOf(&w, g), w.at(t.g0+gSchedSP)
	switch {
	case w.err != nil:
		return errors.Join(errCallback, w.err)
	case f.delta != s.abi.callbackFrame || !bounds.contains(f.sp):
		return errCallback
	}
	sp, ok, err := s.callbackFrom(f, last)
	switch {
	case !ok && err == nil && s.panicked(f, row):
		return nil
	case !ok:
		return errors.Join(errCallback, err)
	}
	s.frameAt(f, row, arch.Rule{Base: arch.Absolute, Off: int64(sp)}, f.delta)
	row.Switch = true
	t.callback, t.expected = sp, f.sp+uint64(f.delta+s.abi.pushed)
	return nil
}

// panicked makes the row of cgocallback on the goroutine's stack after a panic has
// unwound what the runtime noted of the call from C, and reports whether it could. The
// frames of C on g0 may be overwritten by then. The goroutine's stack leads on to
// systemstack_switch, where the goroutine left it to call C: that is what Go's own
// traceback shows. No call is there, so that the caller is a guess
// [src/runtime/cgocall.go: unwindm].
func (s *Stepper) panicked(f *frame, row *arch.Row) bool {
	s.plain(f, row)
	cfa, err := row.CFA.Eval(f.Regs, 0, f.Mem)
	if err != nil {
		return false
	}
	ra, err := row.RA.Eval(f.Regs, cfa, f.Mem)
	return err == nil && s.in(ra, "runtime.systemstack_switch")
}

// callbackFrom finds the frame of cgocallback on g0 that belongs to its frame on
// the goroutine's stack, and returns the frame's SP. sp is the SP of the last call
// from C. Each of these frames holds the SP of the one before.
func (s *Stepper) callbackFrom(f *frame, sp uint64) (own uint64, ok bool, err error) {
	for range maxCallbacks {
		cfa, ok, err := s.calledFromC(f, sp)
		if err != nil || !ok {
			return 0, false, err
		}
		w := words{mem: f.Mem}
		if sp > s.thread.callback && s.sameArguments(&w, f.sp, cfa) && w.err == nil {
			return sp, true, nil
		}
		outer := w.at(sp + uint64(s.abi.outer))
		if w.err != nil || outer <= sp {
			return 0, false, w.err
		}
		sp = outer
	}
	return 0, false, nil
}

// calledFromC returns the CFA of a frame of cgocallback at sp, and whether C made
// that call. C calls it through crosscall2 [src/runtime/cgo/asm_amd64.s]. Its
// return address is above the frame. On architectures with a link register, Go
// saves that register at the frame's lowest address.
func (s *Stepper) calledFromC(f *frame, sp uint64) (cfa uint64, ok bool, err error) {
	cfa = sp + uint64(s.abi.callbackFrame+s.abi.pushed)
	at := sp
	if s.abi.pushed > 0 {
		at = cfa - uint64(s.abi.pushed)
	}
	ra, err := f.Mem.Uint64(at)
	return cfa, err == nil && s.in(ra-1, "crosscall2"), err
}

// sameArguments compares the arguments that cgocallback has on the goroutine's
// stack, for the function that it calls, with its own arguments on g0. One of them
// is the address of the C caller's variables, which differs for every call in
// progress.
func (s *Stepper) sameArguments(w *words, sp, cfa uint64) bool {
	for off := s.abi.args; off < s.abi.args+3*8; off += 8 {
		if own, copied := w.at(cfa+uint64(off)), w.at(sp+uint64(off)); own != copied {
			return false
		}
	}
	return true
}
