package process

import (
	"errors"
	"iter"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/report"
)

// Place returns where frame number i of r is, which Describe made from s. ok is false if
// the frame is not on the stack, but inferred from debug information. The registers of s
// must have been recovered.
func (s *Stack) Place(r *report.Thread, i int) (at Place, ok bool) {
	for n, found := range s.places(r) {
		if n == i {
			return found, true
		}
	}
	return Place{}, false
}

// places yields the frames of r that are on the stack, by their numbers, and where they are.
func (s *Stack) places(r *report.Thread) iter.Seq2[int, Place] {
	return func(yield func(int, Place) bool) {
		at := Place{Stack: s}
		for i := range r.Frames { // of each physical frame, the inlined functions come first
			f := &r.Frames[i]
			inferred := f.Method.Inferred()
			if !inferred && (at.Frame >= len(s.Frames) || !yield(i, at)) {
				return
			}
			switch {
			case f.Inlined:
				at.Inlined++
			case !inferred:
				at.Frame, at.Inlined = at.Frame+1, 0
			default:
				at.Inlined = 0
			}
		}
	}
}

// Place walks the stack of a thread, and returns the innermost frame that want accepts,
// for evaluation; with nil, the innermost that has variables, or else the innermost. at is
// nil if want accepts no frame that is on the stack.
func (w *Walker) Place(th *core.Thread, want func(*report.Frame) bool) (at *Place, r *report.Thread) {
	s := w.Walk(th)
	w.RecoverRegisters(s)
	r = w.Describe(s, false)
	for i, found := range s.places(r) {
		if want != nil && want(&r.Frames[i]) || want == nil && len(w.process.Scopes(s, found.Frame)) > 0 {
			return &found, r
		}
	}
	if want == nil {
		at = &Place{Stack: s}
	}
	return at, r
}

var errUnknownRegister = errors.New("it was not recovered in this frame")

// register returns a register of the frame by its name. Besides those of the
// architecture there are pc, sp, fp and, where it exists, lr.
func (p *Process) register(at *Place, name string) (v uint64, ok bool, err error) {
	a := p.img.Arch
	for reg, regName := range a.Regs {
		alias := reg == int(a.PC) && name == "pc" || reg == int(a.SP) && name == "sp" ||
			reg == int(a.FP) && name == "fp" || reg == int(a.LR) && name == "lr"
		if regName == "" || name != regName && !alias {
			continue
		}
		if at.Stack != nil && at.Frame < len(at.Stack.Frames) {
			regs := &at.Stack.Frames[at.Frame].Regs
			for r := range regs.All() {
				if int(r) == reg {
					v, _ = regs.Get(r)
					return v, true, nil
				}
			}
		}
		return 0, true, errUnknownRegister
	}
	return 0, false, nil
}
