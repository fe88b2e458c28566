package cfi

import (
	"math/bits"

	"github.com/sfcore/sfcore/arch"
)

// kind is how a rule recovers a value [DWARF 5, 6.4.1].
type kind uint8

const (
	unspecified   kind = iota // no rule
	undefined                 // the value cannot be recovered
	sameValue                 // the register has kept its value
	offset                    // stored at CFA + off
	valOffset                 // CFA + off
	register                  // arg + off
	expression                // stored at the address that the expression computes
	valExpression             // what the expression computes
)

// rule is how a column or the CFA is recovered. For the CFA the kind is
// register, valExpression or unspecified.
type rule struct {
	off  int64  // bytes; of an expression, its position in the section
	arg  uint32 // register, or size of the expression in bytes
	kind kind
}

// noReg stands for all register numbers that do not fit in a rule. None is
// tracked.
const noReg = 1<<32 - 1

// columns are the registers whose rules are kept: those that have a slot in
// arch.Regs, by number, and at raColumn the return address if its column is another
// one, like the PSW address (65) of s390x.
const (
	raColumn = arch.NumRegs
	columns  = arch.NumRegs + 1
)

// state is a row of the table that a program describes.
type state struct {
	cfa    rule
	set    uint64 // the columns that have a rule
	signed bool   // the return address is signed: bit 0 of RA_SIGN_STATE
	cols   [columns]rule
}

// assign makes st a copy of from. It copies only rules that are set, which are few.
func (st *state) assign(from *state) {
	st.cfa, st.set, st.signed = from.cfa, from.set, from.signed
	for set := from.set; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		st.cols[i] = from.cols[i]
	}
}

// column returns the rule of a column.
func (st *state) column(i int) rule {
	if st.set>>i&1 == 0 {
		return rule{}
	}
	return st.cols[i]
}
