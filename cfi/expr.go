package cfi

import (
	"errors"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/expr"
)

// RegisterError is a rule or an expression that needs a register whose value
// is unknown in this frame, or that sfcore does not track.
type RegisterError struct {
	Reg uint64 // DWARF number
}

func (e *RegisterError) Error() string { return (*expr.RegisterError)(e).Error() }

// eval computes the expression of r. The stack begins with the CFA on it,
// unless that is what is computed [DWARF 5, 6.4.2.2 and 6.4.2.3].
func (x *context) eval(r rule) (uint64, error) {
	start := int(r.off)
	code := x.s.data[start : start+int(r.arg)]
	c := &x.m.context
	*c = expr.Context{Arch: x.s.arch, Regs: x.regs, Mem: x.mem, Bias: x.s.origin.abs}
	var v uint64
	var err error
	before := x.m.expr.Steps
	defer func() { x.m.Work += 2 * (x.m.expr.Steps - before) }()
	if x.cfa.Base == arch.Undefined {
		v, err = x.m.expr.Value(c, code)
	} else {
		var cfa uint64
		if cfa, err = x.cfaValue(); err != nil {
			return 0, err
		}
		v, err = x.m.expr.Value(c, code, cfa)
	}
	if err != nil {
		return 0, x.damaged(start, err)
	}
	return v, nil
}

// damaged adds the offset in the section to the defect of an expression. It returns
// other errors unchanged, except for the type of a [*RegisterError].
func (x *context) damaged(start int, err error) error {
	if unknown := (*expr.RegisterError)(nil); errors.As(err, &unknown) {
		return (*RegisterError)(unknown)
	}
	var e *expr.Error
	if !errors.As(err, &e) {
		return err
	}
	field := "expression"
	if e.Op != 0 {
		field = expr.OpName(e.Op)
	}
	return x.s.formatError(start+e.Off, field, e.Msg)
}

// cfaValue returns the CFA.
func (x *context) cfaValue() (uint64, error) {
	if x.cfa.Base == arch.Absolute {
		return uint64(x.cfa.Off), nil
	}
	v, ok := x.regs.Get(x.cfa.Reg)
	if !ok {
		return 0, &RegisterError{Reg: uint64(x.cfa.Reg)}
	}
	return v + uint64(x.cfa.Off), nil
}
