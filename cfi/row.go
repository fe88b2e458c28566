package cfi

import (
	"fmt"
	"math/bits"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// context holds what the evaluation of rules needs.
type context struct {
	m    *Machine
	s    *Section
	regs *arch.Regs
	mem  *memreader.Words
	cfa  arch.Rule // Undefined while it is being computed itself

	// symbolic is set to have expressions listed, not evaluated.
	symbolic bool
	// evaluated is set once an expression has been evaluated.
	evaluated bool
	exprs     []Expr
}

// row translates the Machine's state, which is the row of p at loc.
func (x *context) row(p *program, loc uint64, row *arch.Row) error {
	a, st := x.s.arch, &x.m.state
	*row = arch.Row{Signal: p.k.signal, SignedRA: st.signed, CalleeSaved: true, FP: arch.SameValue(a.FP)}

	var err error
	if st.cfa.kind == unspecified {
		return p.s.formatError(p.fde, "CFA", fmt.Sprintf("no rule at %#x", loc))
	}
	if row.CFA, err = x.rule(arch.NoReg, st.cfa); err != nil {
		return fmt.Errorf("computing the CFA: %w", err)
	}
	x.cfa = row.CFA
	ra, _ := column(a, p.k, p.k.ra)
	if row.RA, err = x.returnAddress(p, ra, loc); err != nil {
		return fmt.Errorf("computing the return address: %w", err)
	}
	n := 0
	for set := st.set &^ (1<<ra | 1<<raColumn); set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		reg := arch.Reg(i)
		r, _ := x.rule(reg, st.cols[i])
		if reg == a.FP {
			row.FP = r
			continue
		}
		x.m.extra[n] = arch.RegRule{Reg: reg, Rule: r}
		n++
	}
	if n > 0 {
		row.Extra = x.m.extra[:n]
	}
	row.Evaluated = x.evaluated
	return nil
}

// returnAddress translates the rule of the column of the return address. If there is
// no rule, the address is in the link register, if the ABI has one; where calls
// push it, it has no default.
func (x *context) returnAddress(p *program, column int, loc uint64) (arch.Rule, error) {
	r := x.m.state.column(column)
	if r.kind == unspecified {
		if x.s.arch.LR == arch.NoReg || column == raColumn {
			return arch.Rule{}, p.s.formatError(p.fde, "return_address_register", fmt.Sprintf("no rule at %#x for register %d", loc, p.k.ra))
		}
		r.kind = sameValue
	}
	if r.kind == sameValue && column == raColumn {
		return arch.Rule{}, &RegisterError{Reg: p.k.ra}
	}
	if r.kind == sameValue {
		return arch.SameValue(arch.Reg(column)), nil
	}
	return x.rule(x.s.arch.PC, r)
}

// rule translates the rule of a register, of the return address (Arch.PC) or
// of the CFA (arch.NoReg). With an error it is Undefined.
func (x *context) rule(of arch.Reg, r rule) (arch.Rule, error) {
	switch r.kind {
	case sameValue:
		return arch.SameValue(of), nil
	case offset:
		return arch.AtCFA(r.off), nil
	case valOffset:
		return arch.Rule{Base: arch.CFA, Off: r.off}, nil
	case register:
		reg, ok := x.s.arch.FromDWARF(uint64(r.arg))
		if !ok {
			return arch.Rule{}, &RegisterError{Reg: uint64(r.arg)}
		}
		return arch.RegOffset(reg, r.off), nil
	case expression, valExpression:
		if x.symbolic {
			x.exprs = append(x.exprs, Expr{Reg: of, Value: r.kind == valExpression, Code: x.s.data[r.off : r.off+int64(r.arg)]})
			return arch.Rule{}, nil
		}
		x.evaluated = true
		v, err := x.eval(r)
		if err != nil {
			return arch.Rule{}, err
		}
		return arch.Rule{Base: arch.Absolute, Off: int64(v), Deref: r.kind == expression}, nil
	default: // unspecified, undefined
		return arch.Rule{}, nil
	}
}
