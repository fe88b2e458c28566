package process

import (
	"fmt"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
	"github.com/sfcore/sfcore/report"
)

// Scope is a function at a frame, with its arguments and the local variables that
// are in scope. It is the function that contains the code, or an inlined one.
type Scope struct {
	// Function is the function's name in debug information.
	Function  string
	Variables []Variable
}

// Scopes returns the functions at a frame of a stack with their variables, the
// innermost inlined function first. frame is the index of the physical frame. Scopes
// returns nil for code without debug information. The stack must be the last one
// that its [Walker] walked, with registers recovered, or one that no Walker uses.
func (p *Process) Scopes(s *Stack, frame int) []Scope {
	m := p.modules.At(s.Frames[frame].LookupPC())
	if m == nil {
		return nil
	}
	var scopes []Scope
	p.modules.Guard(m.Path, func() {
		f := p.valueFrame(s, frame)
		if f == nil {
			return
		}
		list, err := f.Scopes()
		if err != nil {
			p.modules.Note(fmt.Errorf("%s: %w", m.Path, err))
		}
		for i := range list {
			scopes = append(scopes, Scope{Function: list[i].Func})
			if list[i].Language == info.Go {
				p.modules.Note(fmt.Errorf("%s: variables of Go functions are not shown", m.Path))
				continue
			}
			for j := range list[i].Variables {
				v := &list[i].Variables[j]
				scopes[i].Variables = append(scopes[i].Variables, Variable{Name: v.Name, Argument: v.Parameter, process: p, scope: &list[i], declared: v, path: v.Name})
			}
		}
	})
	return scopes
}

// valueFrame converts a frame for package value. It returns nil if there is no debug
// information for the code.
func (p *Process) valueFrame(s *Stack, i int) *value.Frame {
	f := &s.Frames[i]
	m := p.modules.At(f.LookupPC())
	if m == nil {
		return nil
	}
	data := m.Source()
	if data == nil {
		return nil
	}
	v := &value.Frame{
		Arch: p.img.Arch, Mem: p.Memory(), Data: data, Bias: m.Bias, PC: f.LookupPC(), Regs: &f.Regs, CFA: f.CFA, Name: p.codeName,
	}
	if i == 0 {
		v.Wide = wideRegisters(p, s.Thread)
	}
	if i+1 == len(s.Frames) || f.Signal || !s.Frames[i+1].Called() {
		return v
	}
	caller := &s.Frames[i+1]
	last := v
	for _, c := range p.between(f, caller) {
		next := p.tailFrame(&c, f)
		if next == nil {
			return v
		}
		last.Return, last.Caller = c.pc, func() *value.Frame { return next }
		last = next
	}
	last.Return = caller.PC
	last.Caller = func() *value.Frame { return p.valueFrame(s, i+1) }
	return v
}

// wideRegisters returns the vector registers of a thread. They are known only in its
// innermost frame.
func wideRegisters(p *Process, th *core.Thread) func(uint64) []byte {
	return func(n uint64) []byte { return p.img.Arch.Vector.Bytes(n, th.FPRegSet) }
}

// AddVariables adds the variables of the frames of s to r, which Describe made from
// s. It recovers the registers of s.
func (w *Walker) AddVariables(s *Stack, r *report.Thread) {
	w.RecoverRegisters(s)
	all := maxStackParts
	if w.parts != nil {
		all = min(all, int(w.parts.Load()))
	}
	before := all
	defer func() {
		if w.parts != nil {
			w.parts.Add(int64(all - before))
		}
	}()
	for i, physical := 0, 0; i < len(r.Frames) && physical < len(s.Frames); physical++ {
		n := 1
		for i+n < len(r.Frames) && r.Frames[i+n-1].Inlined {
			n++
		}
		if r.Frames[i+n-1].Method.Inferred() {
			i += n
			physical--
			continue
		}
		if all <= 0 && w.parts != nil && before < maxStackParts {
			w.process.modules.Note(fmt.Errorf("all stacks together have more than %d variables: the others are left out", maxRunParts))
			return
		}
		if all <= 0 {
			w.process.modules.Note(fmt.Errorf("thread %d has more variables than are shown: those of frame %d and its callers are left out", s.Thread.ID, i))
			return
		}
		left := min(maxFrameParts, all)
		all -= left
		scopes := w.process.Scopes(s, physical)
		if len(scopes) == n {
			for j := range scopes {
				r.Frames[i+j].Variables = w.process.describeVariables(&scopes[j], &left, w.RawVariables)
			}
		}
		all += left
		i += n
	}
}
