package arch

import (
	"iter"
	"math/bits"
)

// Reg names a register of one architecture. Its value is the DWARF register
// number for every register that has a slot; the program counter of aarch64
// and s390x, which DWARF does not number below [NumRegs], has its own.
type Reg uint8

// NumRegs is the number of register slots in a [Regs]: enough for the general
// registers, SP and PC of every architecture and for the floating-point
// registers of s390x, which may hold a frame pointer or a return address.
const NumRegs = 34

// NoReg stands for a register that does not exist, for example the link register of
// amd64.
const NoReg Reg = 0xff

// Regs are the values of a thread's registers in one frame. A register whose
// value was not recovered is unknown, which is different from zero. In the zero
// Regs, all registers are unknown. Regs is a value: copy it freely. To compare two,
// compare what Known and Get return.
type Regs struct {
	val   [NumRegs]uint64 // anything for an unknown register
	known RegSet
}

// Get returns the value of reg and true, or 0 and false if the value is unknown.
func (r *Regs) Get(reg Reg) (v uint64, ok bool) {
	if !r.known.Has(reg) {
		return 0, false
	}
	return r.val[reg], true
}

// Set makes v the known value of reg. It ignores registers without a slot.
func (r *Regs) Set(reg Reg, v uint64) {
	if reg < NumRegs {
		r.val[reg] = v
		r.known |= 1 << reg
	}
}

// Forget makes reg unknown.
func (r *Regs) Forget(reg Reg) { r.known &^= 1 << reg }

// Known returns the set of registers whose values are known.
func (r *Regs) Known() RegSet { return r.known }

// Keep forgets every register that is not in set.
func (r *Regs) Keep(set RegSet) { r.known &= set }

// All yields the known registers in ascending order.
func (r *Regs) All() iter.Seq2[Reg, uint64] {
	return func(yield func(Reg, uint64) bool) {
		for set := r.known; set != 0; set &= set - 1 {
			reg := Reg(bits.TrailingZeros64(uint64(set)))
			if !yield(reg, r.val[reg]) {
				return
			}
		}
	}
}

// RegSet is a set of registers: bit n stands for register n.
type RegSet uint64

// Set returns the set of the given registers.
func Set(regs ...Reg) RegSet {
	var s RegSet
	for _, r := range regs {
		s |= 1 << r
	}
	return s
}

// Range returns the set of the registers from lo to hi, both included.
func Range(lo, hi Reg) RegSet { return (1<<(hi+1) - 1) &^ (1<<lo - 1) }

// Has reports whether r is in the set.
func (s RegSet) Has(r Reg) bool { return r < NumRegs && s>>r&1 != 0 }
