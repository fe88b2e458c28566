package cfi

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/expr"
)

// Simple returns the row with the rules that its expressions stand for in their
// places, and the expressions that stand for none. The row shares Extra.
func (r *Row) Simple(a *arch.Arch) (row arch.Row, rest []Expr) {
	row = r.Row
	for i := range r.Exprs {
		e := &r.Exprs[i]
		rule, ok := e.Rule(a)
		switch {
		case !ok:
			rest = append(rest, *e)
		case e.Reg == arch.NoReg:
			row.CFA = rule
		case e.Reg == a.PC:
			row.RA = rule
		case e.Reg == a.FP:
			row.FP = rule
		}
	}
	return row, rest
}

// Rule returns the rule that an expression stands for, if it is one: a
// register and an offset, or what is stored there. Compilers write such
// expressions for frames that they align, as "breg6 -8; deref" for *(rbp-8).
func (e *Expr) Rule(a *arch.Arch) (r arch.Rule, ok bool) {
	c := cursor{data: e.Code, big: a.BigEndian}
	if r, ok = c.breg(a); !ok {
		return r, false
	}
	for c.pos < len(c.data) {
		switch op := c.u8(""); {
		case r.Deref: // an offset after it, or twice
			return r, false
		case op == expr.OpPlusUconst:
			r.Off += int64(c.uleb(""))
		case op == expr.OpDeref:
			r.Deref = true
		default:
			return r, false
		}
	}
	if !e.Value {
		if r.Deref {
			return r, false
		}
		r.Deref = true
	}
	return r, !c.failed()
}

// breg reads DW_OP_breg<n> or DW_OP_bregx.
func (c *cursor) breg(a *arch.Arch) (r arch.Rule, ok bool) {
	var n uint64
	switch op := c.u8(""); {
	case expr.OpBreg0 <= op && op <= expr.OpBreg31:
		n = uint64(op - expr.OpBreg0)
	case op == expr.OpBregx:
		n = c.uleb("")
	default:
		return r, false
	}
	off := c.sleb("")
	reg, known := a.FromDWARF(n)
	return arch.RegOffset(reg, off), known && !c.failed()
}

// pltBlock is the size of the entries that [Expr.PLT] is about.
const pltBlock = 16

// PLT recognises the expression that linkers write for the CFA in procedure
// linkage tables of x86-64, whose entries have 16 bytes and push one word:
// rsp+off for the first bytes of every entry, rsp+off+8 from byte at on.
func (e *Expr) PLT(a *arch.Arch) (rule arch.Rule, at uint32, ok bool) {
	c := cursor{data: e.Code, big: a.BigEndian}
	if rule, ok = c.breg(a); !ok || !e.Value {
		return rule, 0, false
	}
	if _, ok := a.FromDWARF(uint64(a.PC)); !ok {
		return rule, 0, false // no expression can name the PC
	}
	// breg16 (rip) +0; lit15; and; lit<at>; ge; lit3; shl; plus
	rest := c.data[c.pos:]
	if len(rest) != 9 || rest[4] < expr.OpLit0 || rest[4] >= expr.OpLit0+pltBlock {
		return rule, 0, false
	}
	at = uint32(rest[4] - expr.OpLit0)
	want := [...]byte{expr.OpBreg0 + byte(a.PC), 0, expr.OpLit0 + 15, expr.OpAnd, rest[4], expr.OpGe, expr.OpLit0 + 3, expr.OpShl, expr.OpPlus}
	return rule, at, string(rest) == string(want[:])
}
