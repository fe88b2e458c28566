package disasm

// Prefixes of vector instructions, which x86asm does not know. Outside of
// 64-bit code they are others [Intel SDM 2A, 2.3.5, 2.7.1].
const (
	vex2 = 0xc5
	vex3 = 0xc4
	evex = 0x62
)

// vector is a VEX or EVEX encoded instruction. It neither jumps nor changes SP.
type vector struct {
	size int
	// fp is set if it may change FP.
	fp bool
}

// decodeVector decodes the instruction that code begins with. The size is 0 if it is
// not a vector instruction, or cut off. All but VZEROUPPER and VZEROALL have a ModRM byte
// [Intel SDM 2A, 2.3, 2.7].
func decodeVector(code []byte) (v vector) {
	var opcodeMap, other byte // other is the register VEX.vvvv, inverted
	at := 0                   // of the opcode
	switch {
	case len(code) > 2 && code[0] == vex2:
		opcodeMap, other, at = 1, code[1]>>3, 2
	case len(code) > 3 && code[0] == vex3:
		opcodeMap, other, at = code[1]&0x1f, code[2]>>3, 3
	case len(code) > 4 && code[0] == evex && code[2]&4 != 0:
		opcodeMap, other, at = code[1]&7, code[2]>>3, 4
	default:
		return vector{}
	}
	opcode := code[at]
	immediate, general := 0, false // general: it writes a general register
	switch opcodeMap {
	case 1:
		switch opcode {
		case 0x77:
			return vector{size: at + 1}
		case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc6:
			immediate = 1
		case 0xc5:
			immediate, general = 1, true
		case 0x2c, 0x2d, 0x50, 0x78, 0x79, 0x7e, 0x93, 0xd7:
			general = true
		}
	case 2:
		general = opcode >= 0xf2 && opcode <= 0xf7
	case 3:
		immediate, general = 1, opcode == 0xf0 || opcode >= 0x14 && opcode <= 0x17
	case 5, 6:
		general = true // of EVEX.MAP5 a few do
	default:
		return vector{}
	}
	operand := code[at+1:]
	size := operandSize(operand)
	if size += at + 1 + immediate; size == at+1+immediate || size > min(len(code), MaxSize) {
		return vector{}
	}
	const fp = 5 // as encoded, without the bit that makes it r13
	reg, rm := operand[0]>>3&7, operand[0]&7
	return vector{size, general && (reg == fp || rm == fp || ^other&7 == fp)}
}

// operandSize returns the size of a ModRM byte with what follows of the
// address, 0 if it is cut off [Intel SDM 2A, 2.1.5].
func operandSize(code []byte) int {
	if len(code) == 0 {
		return 0
	}
	mod, rm := code[0]>>6, code[0]&7
	size := 1
	if mod != 3 && rm == 4 {
		if len(code) < 2 {
			return 0
		}
		rm, size = code[1]&7, 2 // the base, in the SIB byte
	}
	switch {
	case mod == 1:
		size++
	case mod == 2, mod == 0 && rm == 5:
		size += 4
	}
	return size
}
