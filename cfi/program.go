package cfi

import (
	"math/bits"

	"github.com/sfcore/sfcore/arch"
)

// maxRemember bounds the states that DW_CFA_remember_state keeps, which are
// part of the Machine. Compilers nest them once or twice; gimli allows 4.
const maxRemember = 16

// program is a run of call frame instructions. Its state is that of the
// Machine.
type program struct {
	s   *Section
	k   *cie
	fde int    // offset of the FDE
	fn  uint64 // where the function begins
	c   cursor
	loc uint64 // run-time address at which the current row begins
}

// step executes instructions up to the next row or the end of the program. It
// returns the address at which the next row begins; ok is false at the end.
func (m *Machine) step(p *program) (next uint64, ok bool, err error) {
	c := &p.c
	for c.pos < len(c.data) {
		at := c.pos
		o := instruction(c.u8(""))
		moves, problem := false, ""
		switch {
		case o&cfaPrimary == cfaOffset:
			m.setRule(p.k, uint64(o&^cfaPrimary), rule{kind: offset, off: int64(c.uleb("")) * p.k.dataAlign})
		case o&cfaPrimary == cfaRestore:
			problem = m.restore(p.k, uint64(o&^cfaPrimary))
		case o.moves():
			moves = true
			next, problem = p.advance(o)
		default:
			problem = m.execute(p, o)
		}
		if c.failed() {
			problem = c.fault.msg
		}
		if problem != "" {
			return 0, false, p.s.formatError(at, o.String(), problem)
		}
		if moves {
			return next, true, nil
		}
	}
	return 0, false, nil
}

// advance executes an instruction that changes the location. It returns where the
// next row begins, or the defect of the instruction.
func (p *program) advance(o instruction) (next uint64, problem string) {
	c := &p.c
	var delta uint64
	switch o {
	case cfaSetLoc:
		origin := p.s.origin
		origin.fn = p.fn
		next = origin.pointer(c, p.k.enc, "")
		if next < p.loc {
			problem = "it goes back"
		}
		return next, problem
	case cfaAdvanceLoc1:
		delta = uint64(c.u8(""))
	case cfaAdvanceLoc2:
		delta = uint64(c.u16(""))
	case cfaAdvanceLoc4:
		delta = uint64(c.u32(""))
	case cfaMIPSAdvanceLoc8:
		delta = c.u64("")
	default:
		delta = uint64(o &^ cfaPrimary)
	}
	hi, lo := bits.Mul64(delta, p.k.codeAlign)
	next, carry := bits.Add64(p.loc, lo, 0)
	if hi|carry != 0 {
		problem = "it goes past the end of the address space"
	}
	return next, problem
}

// execute executes an instruction that does not change the location. It returns the
// defect of the instruction.
func (m *Machine) execute(p *program, o instruction) (problem string) {
	c, k, st := &p.c, p.k, &m.state
	switch o {
	case cfaNop:
	case cfaGNUArgsSize: // only needed to run landing pads
		c.uleb("")
	case cfaDefCFA:
		st.cfa = rule{kind: register, arg: regNumber(c), off: int64(c.uleb(""))}
	case cfaDefCFASF:
		st.cfa = rule{kind: register, arg: regNumber(c), off: c.sleb("") * k.dataAlign}
	case cfaDefCFARegister, cfaDefCFAOffset, cfaDefCFAOffsetSF:
		if st.cfa.kind != register {
			return "the CFA is not a register and an offset"
		}
		switch o {
		case cfaDefCFARegister:
			st.cfa.arg = regNumber(c)
		case cfaDefCFAOffset:
			st.cfa.off = int64(c.uleb(""))
		default:
			st.cfa.off = c.sleb("") * k.dataAlign
		}
	case cfaDefCFAExpression:
		st.cfa = block(c, valExpression)
	case cfaUndefined:
		m.setRule(k, c.uleb(""), rule{kind: undefined})
	case cfaSameValue:
		m.setRule(k, c.uleb(""), rule{kind: sameValue})
	case cfaOffsetExtended:
		m.setRule(k, c.uleb(""), rule{kind: offset, off: int64(c.uleb("")) * k.dataAlign})
	case cfaOffsetExtendedSF:
		m.setRule(k, c.uleb(""), rule{kind: offset, off: c.sleb("") * k.dataAlign})
	case cfaGNUNegativeOffsetExtend:
		m.setRule(k, c.uleb(""), rule{kind: offset, off: -int64(c.uleb("")) * k.dataAlign})
	case cfaValOffset:
		m.setRule(k, c.uleb(""), rule{kind: valOffset, off: int64(c.uleb("")) * k.dataAlign})
	case cfaValOffsetSF:
		m.setRule(k, c.uleb(""), rule{kind: valOffset, off: c.sleb("") * k.dataAlign})
	case cfaRegister:
		m.setRule(k, c.uleb(""), rule{kind: register, arg: regNumber(c)})
	case cfaExpression:
		m.setRule(k, c.uleb(""), block(c, expression))
	case cfaValExpression:
		m.setRule(k, c.uleb(""), block(c, valExpression))
	case cfaRestoreExtended:
		return m.restore(k, c.uleb(""))
	case cfaRememberState:
		if m.depth == maxRemember {
			return "more than 16 states are remembered"
		}
		m.saved[m.depth].assign(st)
		m.depth++
	case cfaRestoreState:
		if m.depth == 0 {
			return "no state is remembered"
		}
		m.depth--
		st.assign(&m.saved[m.depth])
	case cfaNegateRAState, cfaNegateRAStateWithPC:
		if !p.s.arch.PAC {
			return "the architecture has no such instruction"
		}
		st.signed = !st.signed
	default:
		return "unknown"
	}
	return ""
}

// setRule makes r the rule of the column of register n, if that is tracked.
func (m *Machine) setRule(k *cie, n uint64, r rule) {
	if i, ok := column(m.arch, k, n); ok {
		m.state.set |= 1 << i
		m.state.cols[i] = r
	}
}

// restore gives the column of register n the rule it has by the initial
// instructions of the CIE.
func (m *Machine) restore(k *cie, n uint64) (problem string) {
	if m.initial == nil {
		return "it is among the initial instructions"
	}
	if i, ok := column(m.arch, k, n); ok {
		m.state.set = m.state.set&^(1<<i) | m.initial.set&(1<<i)
		m.state.cols[i] = m.initial.cols[i]
	}
	return ""
}

// column returns the column of the register with DWARF number n.
func column(a *arch.Arch, k *cie, n uint64) (i int, ok bool) {
	if reg, ok := a.FromDWARF(n); ok {
		return int(reg), true
	}
	return raColumn, n == k.ra
}

// regNumber reads a register number.
func regNumber(c *cursor) uint32 { return uint32(min(c.uleb(""), noReg)) }

// block reads an expression.
func block(c *cursor, kind kind) rule {
	size := c.uleb("")
	r := rule{kind: kind, off: int64(c.pos), arg: uint32(size)}
	c.take(size, "")
	return r
}
