package arch

// RegLoc is the place of an 8-byte register in a structure.
type RegLoc struct {
	Reg Reg
	Off uint16 // bytes
}

// Offsets in struct elf_prstatus that all 64-bit architectures share, in bytes
// [linux include/linux/elfcore.h].
const (
	PrStatusSignal = 12  // pr_cursig, 16 bits
	PrStatusPID    = 32  // pr_pid, 32 bits: the thread id
	PrStatusRegs   = 112 // pr_reg, the general registers
)

// RawReg is a register that no rule recovers. It is known only in the innermost
// frame, from a note.
type RawReg struct {
	Name string
	// FP is set if the register is in the descriptor of NT_FPREGSET, not in that of
	// NT_PRSTATUS.
	FP        bool
	Off, Size int // the offset in the descriptor, and the size of the register, in bytes
	Bits      []RegBit
}

// RegBit is a named bit of a register, or a named field of several bits.
type RegBit struct {
	Name  string
	Shift uint
	Width uint // 0 for a single bit, which is named if it is set
}

// VectorRegs are registers that are not recovered in callers: they lie one after
// the other in the descriptor of NT_FPREGSET.
type VectorRegs struct {
	Name      string // without the number
	First     uint64 // DWARF number of the first register
	Num       uint64
	Off, Size uint64 // offset of the first in the descriptor, and size of each, in bytes
	Upper     UpperRegs
}

// UpperRegs are the upper halves of vector registers. They lie one after the
// other in the descriptor of NT_X86_XSTATE. The zero value means that the
// architecture has no such registers.
type UpperRegs struct {
	Off uint64 // offset of the first, in bytes
	// The descriptor has them if its byte at Present has the bits of Mask.
	Present uint64
	Mask    byte
}

// Bytes returns the register with DWARF number n from a descriptor of NT_FPREGSET. The
// result is a part of the descriptor; nil if the register is not there.
func (v *VectorRegs) Bytes(n uint64, desc []byte) []byte {
	i := n - v.First // huge before the first
	off := v.Off + i*v.Size
	if i >= v.Num || off+v.Size > uint64(len(desc)) {
		return nil
	}
	return desc[off : off+v.Size]
}

// UpperBytes returns the upper half of register i, counted from 0, from a descriptor
// of NT_X86_XSTATE. The result is a part of the descriptor; nil if it is not there.
func (v *VectorRegs) UpperBytes(i uint64, desc []byte) []byte {
	off := v.Upper.Off + i*v.Size
	if i >= v.Num || off+v.Size > uint64(len(desc)) || desc[v.Upper.Present]&v.Upper.Mask == 0 {
		return nil
	}
	return desc[off : off+v.Size]
}

// FloatFormat is a format of floating-point numbers.
type FloatFormat uint8

// The formats of long double.
const (
	Binary128 FloatFormat = iota // [IEEE 754, 3.6]
	X87                          // 80 bits, of the x87 [Intel SDM 1, 4.2.2]
)

// inOrder returns the places of registers that are stored one after the other. NoReg
// stands for 8 bytes to skip.
func inOrder(off uint16, regs ...Reg) []RegLoc {
	var locs []RegLoc
	for i, r := range regs {
		if r != NoReg {
			locs = append(locs, RegLoc{Reg: r, Off: off + uint16(8*i)})
		}
	}
	return locs
}

// run returns the places of registers 0 to n-1 stored in a row.
func run(n int, off uint16) []RegLoc {
	locs := make([]RegLoc, n)
	for i := range locs {
		locs[i] = RegLoc{Reg: Reg(i), Off: off + uint16(8*i)}
	}
	return locs
}

// first returns the registers 0 to n-1.
func first(n int) []Reg {
	regs := make([]Reg, n)
	for i := range regs {
		regs[i] = Reg(i)
	}
	return regs
}

// stored makes rules for registers stored at the given offsets from SP.
func stored(sp Reg, locs []RegLoc) []RegRule {
	rules := make([]RegRule, len(locs))
	for i, l := range locs {
		rules[i] = RegRule{Reg: l.Reg, Rule: AtReg(sp, int64(l.Off))}
	}
	return rules
}

// Perf is what perf.data files say of an architecture.
type Perf struct {
	// Machine is its name there, as uname(2) has it.
	Machine string
	// Regs are the registers by the number of their bit in sample_regs_user
	// [linux arch/*/include/uapi/asm/perf_regs.h], NoReg for others.
	Regs []Reg
}
