package arch

import "encoding/binary"

// Jump is a kind of jump: an instruction that goes elsewhere and does not come back.
type Jump uint8

// Kinds of instructions.
const (
	NoJump       Jump = iota
	DirectJump        // a jump, conditional or not, to an address that the instruction tells
	IndirectJump      // a jump to an address in a register or in memory
)

// What looks like a relative call of amd64 may be another instruction: its first byte
// may be part of an indirect call's addressing mode, and its last bytes may look like
// an indirect call.
func amd64CallTarget(code []byte, ra uint64) (uint64, bool) {
	if n := len(code); n >= 5 && code[n-5] == 0xe8 && !amd64EndsInIndirectCall(code) {
		return ra + sext(binary.LittleEndian.Uint32(code[n-4:]), 32), true
	}
	return 0, false
}

// JMP and Jcc with 8 or 32 bits of displacement, and FF /4 [Intel SDM 2A].
func amd64Jump(code []byte, addr uint64) (Jump, uint64) {
	n := len(code)
	switch op := code[0]; {
	case n >= 2 && (op == 0xeb || op>>4 == 7):
		return DirectJump, addr + 2 + sext(uint32(code[1]), 8)
	case n >= 5 && op == 0xe9:
		return DirectJump, addr + 5 + sext(binary.LittleEndian.Uint32(code[1:]), 32)
	case n >= 6 && op == 0x0f && code[1]>>4 == 8:
		return DirectJump, addr + 6 + sext(binary.LittleEndian.Uint32(code[2:]), 32)
	case n >= 2 && op == 0xff && code[1]>>3&7 == 4:
		return IndirectJump, 0
	}
	return NoJump, 0
}

// BL [Arm ARM, C6.2].
func aarch64CallTarget(code []byte, ra uint64) (uint64, bool) {
	if n := len(code); n >= 4 {
		if insn := binary.LittleEndian.Uint32(code[n-4:]); insn>>26 == 0b100101 {
			return ra - 4 + 4*sext(insn, 26), true
		}
	}
	return 0, false
}

// B, B.cond, CBZ and CBNZ, TBZ and TBNZ; BR and the authenticating BRAA family
// [Arm ARM, C6.2].
func aarch64Jump(code []byte, addr uint64) (Jump, uint64) {
	if len(code) < 4 {
		return NoJump, 0
	}
	insn := binary.LittleEndian.Uint32(code)
	switch {
	case insn>>26 == 0b000101:
		return DirectJump, addr + 4*sext(insn, 26)
	case insn>>24 == 0b0101_0100, insn>>25&0x3f == 0b011010:
		return DirectJump, addr + 4*sext(insn>>5, 19)
	case insn>>25&0x3f == 0b011011:
		return DirectJump, addr + 4*sext(insn>>5, 14)
	case insn&0xffff_fc1f == 0xd61f_0000, insn&0xfeff_f800 == 0xd61f_0800:
		return IndirectJump, 0
	}
	return NoJump, 0
}

// BRASL and BRAS. The displacement of either may make it look like the other, or like
// an indirect call [Principles of Operation, 7].
func s390xCallTarget(code []byte, ra uint64) (uint64, bool) {
	n := len(code)
	long := n >= 6 && code[n-6] == 0xc0 && code[n-5]&0xf == 5
	short := n >= 4 && code[n-4] == 0xa7 && code[n-3]&0xf == 5
	switch {
	case long == short, s390xEndsInIndirectCall(code):
		return 0, false
	case long:
		return ra - 6 + 2*sext(binary.BigEndian.Uint32(code[n-4:]), 32), true
	}
	return ra - 4 + 2*sext(uint32(binary.BigEndian.Uint16(code[n-2:])), 16), true
}

// BRC, BRCL and the compare-and-branch family; BCR other than by r14, which is
// a return [Principles of Operation, 7].
func s390xJump(code []byte, addr uint64) (Jump, uint64) {
	n := len(code)
	switch {
	case n >= 4 && code[0] == 0xa7 && code[1]&0xf == 4:
		return DirectJump, addr + 2*sext(uint32(binary.BigEndian.Uint16(code[2:])), 16)
	case n >= 6 && code[0] == 0xc0 && code[1]&0xf == 4:
		return DirectJump, addr + 2*sext(binary.BigEndian.Uint32(code[2:]), 32)
	case n >= 6 && code[0] == 0xec && (code[5]&0xfe == 0x64 || code[5]&0xfe == 0x76 || code[5]&0xfc == 0x7c):
		return DirectJump, addr + 2*sext(uint32(binary.BigEndian.Uint16(code[2:])), 16)
	case n >= 2 && code[0] == 0x07 && code[1]&0xf0 != 0 && code[1]&0xf != 0 && code[1]&0xf != 14:
		return IndirectJump, 0
	}
	return NoJump, 0
}

// sext returns the low bits of v, a signed number, as 64 bits.
func sext(v uint32, bits int) uint64 { return uint64(int64(uint64(v)<<(64-bits)) >> (64 - bits)) }
