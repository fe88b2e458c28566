package disasm

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/arch"
)

// effect is what instructions of aarch64 do, apart from control flow. Registers
// have the names of the encoding's fields.
type effect uint16

const (
	setRd    effect = 1 << iota // Rd or Rt may change, which is not SP
	setRdSP                     // Rd may change, which may be SP
	setRt2                      // Rt2 may change
	setRs                       // Rs and the one after it may change
	setLR                       // LR changes
	addImm                      // Rd is Rn and an immediate
	moves                       // Rt is stored or, if bit 22 is set, loaded
	movesRt2                    // ... and Rt2 behind it
	imm7                        // the address is Rn and bits 15-21; 23, 24 say when Rn changes
	imm9                        // the address is Rn and bits 12-20; 10, 11 say when Rn changes
	imm12                       // the address is Rn and bits 10-21, without a sign
	rnBit10                     // Rn changes if bit 10 is set
	rnBit11                     // Rn changes if bit 11 is set
	rnBit23                     // Rn changes if bit 23 is set
	entry                       // functions begin there
)

// aarch64Forms are the known instructions. The first entry whose value is there
// under the mask applies. Instructions without an entry, like BRK, BR and ERET,
// lead nowhere [Arm ARM, C4.1].
var aarch64Forms = []struct {
	mask, value uint32
	next        Next
	effect      effect
	scale       uint8 // of the immediate, as a power of two
}{
	{0xfc00_0000, 0x1400_0000, Jump, 0, 0},        // B
	{0xfc00_0000, 0x9400_0000, Call, setLR, 0},    // BL
	{0xffff_fc1f, 0xd63f_0000, Call, setLR, 0},    // BLR
	{0xfeff_f800, 0xd63f_0800, Call, setLR, 0},    // BLRAA, BLRAB, BLRAAZ, BLRABZ
	{0xff00_0000, 0x5400_0000, Branch, 0, 0},      // B.cond, BC.cond
	{0x7c00_0000, 0x3400_0000, Branch, 0, 0},      // CBZ, CBNZ, TBZ, TBNZ
	{0xffff_ffff, 0xd65f_03c0, Return, 0, 0},      // RET
	{0xffff_fbff, 0xd65f_0bff, Return, 0, 0},      // RETAA, RETAB
	{0xffc0_001f, 0x5500_001f, Return, 0, 0},      // RETAASPPC, RETABSPPC
	{0xffe0_001f, 0xd400_0001, System, 0, 0},      // SVC
	{0xffff_ff7f, 0xd503_245f, Through, entry, 0}, // BTI c, BTI jc
	{0xffff_ffbf, 0xd503_233f, Through, entry, 0}, // PACIASP, PACIBSP
	{0xffc0_0000, 0xd500_0000, Through, setRd, 0}, // other hints, barriers, MSR, MRS, SYS

	{0x1f00_0000, 0x1000_0000, Through, setRd, 0},   // ADR, ADRP
	{0x1f80_0000, 0x1100_0000, Through, addImm, 0},  // ADD, SUB
	{0x1f80_0000, 0x1180_0000, Through, setRdSP, 0}, // ADDG, SUBG, SMAX and such
	{0x7f80_0000, 0x7200_0000, Through, setRd, 0},   // ANDS
	{0x1f80_0000, 0x1200_0000, Through, setRdSP, 0}, // AND, ORR, EOR
	{0x1e00_0000, 0x1200_0000, Through, setRd, 0},   // MOVZ, SBFM, EXTR and such
	{0x3fe0_0000, 0x0b20_0000, Through, setRdSP, 0}, // ADD, SUB of an extended register
	{0xffe0_fc00, 0x9ac0_1000, Through, setRdSP, 0}, // IRG
	{0x0e00_0000, 0x0a00_0000, Through, setRd, 0},   // other data processing of registers

	{0x5f20_fc00, 0x1e20_0000, Through, setRd, 0},   // FMOV, FCVTZS and such
	{0x5f20_0000, 0x1e00_0000, Through, setRd, 0},   // FCVTZS and such, of fixed point
	{0xbfe0_ec00, 0x0e00_2c00, Through, setRd, 0},   // SMOV, UMOV
	{0x0e00_0000, 0x0e00_0000, Through, 0, 0},       // other floating point and vectors
	{0xffa0_f000, 0x0420_5000, Through, setRdSP, 0}, // ADDVL, ADDPL, ADDSVL, ADDSPL
	{0x1e00_0000, 0x0400_0000, Through, setRd, 0},   // other SVE

	{0xfe00_0000, 0xa800_0000, Through, moves | movesRt2 | imm7, 3}, // STP, LDP of X registers
	{0xfe00_0000, 0x2800_0000, Through, setRd | setRt2 | imm7, 2},   // ... of W registers
	{0xfe40_0000, 0x6840_0000, Through, setRd | setRt2 | imm7, 2},   // LDPSW
	{0xfe00_0000, 0x2c00_0000, Through, imm7, 2},                    // STP, LDP of S registers
	{0xfe00_0000, 0x6c00_0000, Through, imm7, 3},                    // ... of D registers
	{0xfe00_0000, 0xac00_0000, Through, imm7, 4},                    // ... of Q registers
	{0xffa0_0000, 0xf800_0000, Through, moves | imm9, 0},            // STR, LDR of X registers
	{0xff80_0000, 0xf900_0000, Through, moves | imm12, 3},           // ... with a larger offset
	{0x3f20_0000, 0x3800_0000, Through, setRd | imm9, 0},            // STRB, LDRSW and such
	{0x3f20_0000, 0x3c00_0000, Through, imm9, 0},                    // STR, LDR of vectors
	{0x3f00_0000, 0x3900_0000, Through, setRd, 0},                   // STRB, LDRSW with a larger offset
	{0x3f00_0000, 0x3d00_0000, Through, 0, 0},                       // STR, LDR of vectors with a larger offset
	{0x3f20_0c00, 0x3820_0800, Through, setRd, 0},                   // STR, LDR with an offset in a register
	{0x3f20_0c00, 0x3c20_0800, Through, 0, 0},                       // ... of vectors
	{0x3f00_0000, 0x1800_0000, Through, setRd, 0},                   // LDR of a literal
	{0x3f00_0000, 0x1c00_0000, Through, 0, 0},                       // ... to a vector
	{0xffff_fc00, 0xf83f_d000, Nowhere, 0, 0},                       // LD64B, of eight registers
	{0x3f20_0c00, 0x3820_0000, Through, setRd | setRs, 0},           // LDADD, SWP and such
	{0x3f00_0000, 0x0800_0000, Through, setRd | setRt2 | setRs, 0},  // LDXR, STLXR, CAS and such
	{0x3f20_0c00, 0x1900_0000, Through, setRd, 0},                   // LDAPUR, STLUR and such
	{0xbe00_0000, 0x0c00_0000, Through, rnBit23, 0},                 // LD1, ST4 and such
	{0xff20_0000, 0xd920_0000, Through, setRd | rnBit10, 0},         // STG, LDG and such
	{0xff20_0400, 0xf820_0400, Through, setRd | rnBit11, 0},         // LDRAA, LDRAB
}

// The numbers of exit and exit_group go to x8, as 64 bits or 32 that are
// extended; then the system is called [linux asm-generic/unistd.h].
const (
	moveExit      = 0x5280_0ba8 // mov w8, #93
	moveExitGroup = 0x5280_0bc8 // mov w8, #94
	moveWide      = 1 << 31
	callSystem    = 0xd400_0001 // svc #0
)

func flowAArch64(a *arch.Arch, code []byte, pc uint64) Flow {
	f := unchanged(a)
	f.aarch64(a, code, pc)
	return f
}

func (f *Flow) aarch64(a *arch.Arch, code []byte, pc uint64) {
	if len(code) < 4 {
		return
	}
	insn := binary.LittleEndian.Uint32(code)
	if mov := insn &^ moveWide; (mov == moveExit || mov == moveExitGroup) && len(code) >= 8 && binary.LittleEndian.Uint32(code[4:]) == callSystem {
		f.Next, f.Size = Exit, 8
		return
	}
	for i := range aarch64Forms {
		known := &aarch64Forms[i]
		if insn&known.mask != known.value {
			continue
		}
		if f.Next = known.next; f.Next == Nowhere {
			return
		}
		f.Size = 4
		switch f.Next {
		case Jump, Branch:
			_, f.Target = a.Jump(code[:4], pc)
		case Call:
			f.Target, _ = a.CallTarget(code[:4], pc+4)
		default:
		}
		f.Entry = known.effect&entry != 0
		f.aarch64Effect(a, insn, known.effect, known.scale)
		return
	}
}

// aarch64Effect says what an instruction does to registers. The register that holds
// an address is changed first, because LDP may load it too.
func (f *Flow) aarch64Effect(a *arch.Arch, insn uint32, e effect, scale uint8) {
	field := func(at int) arch.Reg { return arch.Reg(insn >> at & 31) }
	rd, rn := field(0), field(5)
	at := stackRule(a, rn, 0)
	switch {
	case e&imm7 != 0:
		at = f.indexed(a, rn, sext(insn>>15, 7)<<scale, insn>>23)
	case e&imm9 != 0:
		at = f.indexed(a, rn, sext(insn>>12, 9), insn>>10)
	case e&imm12 != 0:
		at = stackRule(a, rn, int64(insn>>10&0xfff)<<scale)
	case e&rnBit10 != 0 && insn>>10&1 != 0, e&rnBit11 != 0 && insn>>11&1 != 0, e&rnBit23 != 0 && insn>>23&1 != 0:
		f.set(a, rn, arch.Rule{})
	case e&addImm != 0:
		f.aarch64Add(a, insn, rd, rn)
	}
	if e&setRdSP != 0 {
		f.set(a, rd, arch.Rule{})
	}
	if e&setLR != 0 {
		f.set(a, a.LR, arch.Rule{})
	}
	if e&setRd != 0 {
		f.change(a, rd)
	}
	if e&setRt2 != 0 {
		f.change(a, field(10))
	}
	if e&setRs != 0 {
		f.change(a, field(16))
		f.change(a, field(16)|1)
	}
	load := insn>>22&1 != 0
	if e&moves != 0 {
		f.moveRt(a, rd, load, at)
	}
	if e&movesRt2 != 0 {
		at.Off += 8
		f.moveRt(a, field(10), load, at)
	}
}

// change is for instructions that read register 31 as zero.
func (f *Flow) change(a *arch.Arch, reg arch.Reg) {
	if reg != a.SP {
		f.set(a, reg, arch.Rule{})
	}
}

// moveRt is for STR and LDR of one register.
func (f *Flow) moveRt(a *arch.Arch, reg arch.Reg, load bool, at arch.Rule) {
	switch {
	case reg == a.SP: // zero
	case load:
		f.load(a, reg, 1, at)
	default:
		f.store(reg, 1, at)
	}
}

// indexed returns the address rn plus an offset. If mode is odd, rn becomes that
// address: after the access if mode is 1, before it if mode is 3.
func (f *Flow) indexed(a *arch.Arch, rn arch.Reg, off int64, mode uint32) arch.Rule {
	at := stackRule(a, rn, off)
	if mode &= 3; mode&1 != 0 {
		f.set(a, rn, at)
	}
	if mode == 1 {
		at = stackRule(a, rn, 0)
	}
	return at
}

// aarch64Add is for ADD and SUB with an immediate.
func (f *Flow) aarch64Add(a *arch.Arch, insn uint32, rd, rn arch.Reg) {
	off := int64((insn >> 10 & 0xfff) << (insn >> 22 & 1 * 12))
	if insn>>30&1 != 0 {
		off = -off
	}
	to := stackRule(a, rn, off)
	switch flags := insn>>29&1 != 0; {
	case flags && rd == a.SP:
		return // a comparison
	case insn>>31 == 0:
		to = arch.Rule{} // 32 bits
	}
	f.set(a, rd, to)
	f.Leaves = rd == a.SP && off == 0 && to.Base == arch.Undefined
}
