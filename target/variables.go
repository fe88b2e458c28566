package target

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

// Bounds of what is reported of one variable; more can be asked for through
// [Target.Scopes].
const (
	maxVarDepth    = 6
	maxVarElements = 64
	maxVarMembers  = 200
	maxVarParts    = 1000 // in all

	// maxFrameParts bounds the variables of a frame and their parts, and
	// maxVarName the bytes of a name or type, so that a frame fits into a message
	// of the plugin.
	maxFrameParts = 2000
	maxVarName    = 256
)

// Scopes returns the functions at a frame of a stack, whose index is that of the
// physical frame, the innermost inlined one first, with their variables. Nothing
// is returned for code without debug information.
func (t *Target) Scopes(s *Stack, frame int) []value.Scope {
	var scopes []value.Scope
	m := t.ModuleAt(s.Frames[frame].LookupPC())
	if m == nil {
		return nil
	}
	t.guard(m.Path, func() {
		f := t.variableFrame(s, frame)
		if f == nil {
			return
		}
		var err error
		if scopes, err = f.Scopes(); err != nil {
			t.problemOnce("%s: %w", m.Path, err)
		}
		for i := range scopes {
			if scopes[i].Language == info.Go {
				t.problemOnce("%s: variables of Go functions are not shown", m.Path)
				scopes[i].Variables = nil
			}
		}
	})
	return scopes
}

// variableFrame returns a frame as package variable wants it; nil if there is no
// debug information for its code.
func (t *Target) variableFrame(s *Stack, i int) *value.Frame {
	f := &s.Frames[i]
	m := t.ModuleAt(f.LookupPC())
	if m == nil {
		return nil
	}
	data := m.source()
	if data == nil {
		return nil
	}
	v := &value.Frame{
		Arch: t.img.Arch, Mem: t.mem, Data: data, Bias: m.Bias, PC: f.LookupPC(), Regs: &f.Regs, CFA: f.CFA, Name: t.codeName,
	}
	if i == 0 {
		v.Wide = wideRegisters(t, s.Thread)
	}
	if i+1 < len(s.Frames) && !f.Signal && called(&s.Frames[i+1]) {
		v.Return = s.Frames[i+1].PC
		v.Caller = func() *value.Frame { return t.variableFrame(s, i+1) }
	}
	return v
}

// called reports whether a frame is known to have called the one below.
func called(f *unwind.Frame) bool {
	switch f.Method {
	case unwind.SFrame, unwind.CFI, unwind.FramePointer:
		return f.Evidence&unwind.CallMismatch == 0
	default:
		return false
	}
}

// wideRegisters are the vector registers of a thread, which are those of its
// innermost frame.
func wideRegisters(t *Target, th *core.Thread) func(uint64) []byte {
	return func(n uint64) []byte { return t.img.Arch.Vector.Bytes(n, th.FPRegSet) }
}

// codeName names the code at an address, which need not be in a function.
func (t *Target) codeName(addr uint64) string {
	locs := t.Locate(addr, nil)
	if len(locs) == 0 || locs[len(locs)-1].Func == "" {
		return ""
	}
	l := &locs[len(locs)-1]
	if l.Offset != 0 {
		return fmt.Sprintf("%s+%#x", symbol.Demangle(l.Func), l.Offset)
	}
	return symbol.Demangle(l.Func)
}

// Complete recovers registers of the frames of s that its rows do not tell, for
// their variables; see [unwind.Unwinder.Complete].
func (w *Walker) Complete(s *Stack) {
	w.unwinder.PACMask = s.Thread.PACMask
	if err := memreader.Guard(func() { w.unwinder.Complete(s.Frames) }); err != nil {
		w.target.problemOnce("%w", errShrunk)
	}
}

// Variables adds the variables of its frames to r, which Report made of s. It
// completes s.
func (w *Walker) Variables(s *Stack, r *report.Thread) {
	w.Complete(s)
	for i, physical := 0, 0; i < len(r.Frames) && physical < len(s.Frames); physical++ {
		n := 1
		for i+n < len(r.Frames) && r.Frames[i+n-1].Inlined {
			n++
		}
		scopes := w.target.Scopes(s, physical)
		if len(scopes) == n {
			for j := range scopes {
				r.Frames[i+j].Variables = w.target.reportVariables(&scopes[j])
			}
		}
		i += n
	}
}

func (t *Target) reportVariables(s *value.Scope) []report.Variable {
	var list []report.Variable
	left := maxFrameParts
	t.guard(t.img.Path, func() {
		for i := range s.Variables {
			if left <= 0 {
				t.problemOnce("%s has more variables than are shown", s.Func)
				break
			}
			v := &s.Variables[i]
			o := s.Object(v)
			parts := min(maxVarParts, left)
			left -= parts
			r := describeObject(&o, 0, &parts)
			left += parts
			r.Argument = v.Parameter
			list = append(list, r)
		}
	})
	return list
}

// ReportVariable reports an object and its parts, within bounds.
func (t *Target) ReportVariable(o *value.Object) (r report.Variable) {
	left := maxVarParts
	t.guard(t.img.Path, func() { r = describeObject(o, 0, &left) })
	return r
}

func describeObject(o *value.Object, depth int, left *int) report.Variable {
	*left--
	r := report.Variable{Name: shorten(o.Name), Base: o.Base}
	if o.Type != nil {
		r.Type = shorten(o.Type.String())
	}
	if addr, ok := o.Address(); ok {
		r.Address = report.Known(addr)
	}
	var err error
	if r.Value, err = o.Text(); err != nil {
		r.Missing = missing(err)
		return r
	}
	limit := uint64(maxVarMembers)
	switch o.Shape() {
	case value.Scalar:
		return r
	case value.Target:
		if !o.IsReference() {
			return r
		}
	case value.Elements:
		r.Elements = true
		limit = maxVarElements
		fallthrough
	case value.Members:
		if r.Value != "" {
			return r
		}
	}
	total, err := o.Len()
	if err == nil && depth < maxVarDepth {
		var parts []value.Object
		parts, err = o.Parts(0, limit)
		for i := range parts {
			if *left <= 0 {
				break
			}
			r.Members = append(r.Members, describeObject(&parts[i], depth+1, left))
		}
	}
	if err != nil {
		r.Missing = missing(err)
	}
	r.More = total - uint64(len(r.Members))
	return r
}

// shorten cuts a long name off.
func shorten(name string) string {
	if len(name) <= maxVarName {
		return name
	}
	return strings.ToValidUTF8(name[:maxVarName], "") + "..."
}

// missing says why there is no value.
func missing(err error) string {
	for _, reason := range []error{value.ErrOptimizedOut, value.ErrNotRecovered} {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	return err.Error()
}
