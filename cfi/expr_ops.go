package cfi

import "fmt"

// Operations [DWARF 5, 7.7.1].
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opLit31      = 0x4f
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

// compute returns the result of an operation on the two top values, b being
// the top [DWARF 5, 2.5.1.4 and 2.5.1.5]. For a division b is not 0.
func compute(op uint8, a, b uint64) uint64 {
	switch op {
	case opAnd:
		return a & b
	case opDiv:
		return uint64(int64(a) / int64(b))
	case opMinus:
		return a - b
	case opMod:
		return a % b
	case opMul:
		return a * b
	case opOr:
		return a | b
	case opPlus:
		return a + b
	case opShl:
		return a << b
	case opShr:
		return a >> b
	case opShra:
		return uint64(int64(a) >> b)
	case opXor:
		return a ^ b
	case opEq:
		return truth(a == b)
	case opGe:
		return truth(int64(a) >= int64(b))
	case opGt:
		return truth(int64(a) > int64(b))
	case opLe:
		return truth(int64(a) <= int64(b))
	case opLt:
		return truth(int64(a) < int64(b))
	case opNe:
		return truth(a != b)
	}
	return 0
}

func truth(cond bool) uint64 {
	if cond {
		return 1
	}
	return 0
}

func operationName(op uint8) string { return fmt.Sprintf("DW_OP %#02x", op) }
