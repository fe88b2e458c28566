package expr

import "math"

// Encoding is the meaning of the bits of a base type [DWARF 5, 7.8].
type Encoding uint8

// The encodings that the stack knows. All others count as unsigned integers.
const (
	Float      Encoding = 0x04
	Signed     Encoding = 0x05
	SignedChar Encoding = 0x06
)

// Type is the type of a value on the stack. The zero Type is the generic one:
// an integer of the size of an address [DWARF 5, 2.5.1].
type Type struct {
	Size     uint64 // in bytes
	Encoding Encoding
}

func (t Type) isFloat() bool  { return t.Encoding == Float }
func (t Type) isSigned() bool { return t.Encoding == Signed || t.Encoding == SignedChar }

// supported reports whether the stack has room for values of a base type.
func (t Type) supported() bool {
	switch t.Size {
	case 1, 2:
		return !t.isFloat()
	case 4, 8:
		return true
	}
	return false
}

// fit makes an integer one of the type: it is cut off and extended.
func (t Type) fit(bits uint64) uint64 {
	if t.Size == 0 || t.Size >= 8 || t.isFloat() {
		return bits
	}
	shift := 64 - 8*t.Size
	if t.isSigned() {
		return uint64(int64(bits<<shift) >> shift)
	}
	return bits << shift >> shift
}

func (t Type) float(bits uint64) float64 {
	if t.Size == 4 {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

func (t Type) fromFloat(f float64) uint64 {
	if t.Size == 4 {
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}

// twoTo63 bounds the floats that conversion to an integer is defined for.
const twoTo63 = 1 << 63

// convert is DW_OP_convert: the value stays as near as it can.
func (v value) convert(t Type) (value, bool) {
	from := v.typ
	v.typ = t
	switch {
	case v.unknown:
	case from.isFloat() && t.isFloat():
		v.bits = t.fromFloat(from.float(v.bits))
	case from.isFloat():
		f := from.float(v.bits)
		if !(f > -twoTo63 && f < twoTo63) {
			return v, false
		}
		v.bits = t.fit(uint64(int64(f)))
	case t.isFloat() && from.isSigned():
		v.bits = t.fromFloat(float64(int64(v.bits)))
	case t.isFloat():
		v.bits = t.fromFloat(float64(v.bits))
	default:
		v.bits = t.fit(v.bits)
	}
	return v, true
}

// computeFloat is compute for values of a floating-point type.
func computeFloat(op uint8, a, b float64) (f float64, isTruth, ok bool) {
	switch op {
	case OpPlus:
		return a + b, false, true
	case OpMinus:
		return a - b, false, true
	case OpMul:
		return a * b, false, true
	case OpDiv:
		return a / b, false, true
	case OpEq:
		return float(a == b), true, true
	case OpNe:
		return float(a != b), true, true
	case OpLt:
		return float(a < b), true, true
	case OpLe:
		return float(a <= b), true, true
	case OpGt:
		return float(a > b), true, true
	case OpGe:
		return float(a >= b), true, true
	}
	return 0, false, false
}

func float(cond bool) float64 { return float64(truth(cond)) }

// computeUnsigned has the results that differ from those of compute for types
// without a sign.
func computeUnsigned(op uint8, a, b uint64) (uint64, bool) {
	switch op {
	case OpDiv:
		return a / b, true
	case OpGe:
		return truth(a >= b), true
	case OpGt:
		return truth(a > b), true
	case OpLe:
		return truth(a <= b), true
	case OpLt:
		return truth(a < b), true
	}
	return 0, false
}

// compute returns the result of an operation on two generic values, b being
// the top [DWARF 5, 2.5.1.4 and 2.5.1.5]. For a division b is not 0.
func compute(op uint8, a, b uint64) uint64 {
	switch op {
	case OpAnd:
		return a & b
	case OpDiv:
		return uint64(int64(a) / int64(b))
	case OpMinus:
		return a - b
	case OpMod:
		return a % b
	case OpMul:
		return a * b
	case OpOr:
		return a | b
	case OpPlus:
		return a + b
	case OpShl:
		return a << b
	case OpShr:
		return a >> b
	case OpShra:
		return uint64(int64(a) >> b)
	case OpXor:
		return a ^ b
	case OpEq:
		return truth(a == b)
	case OpGe:
		return truth(int64(a) >= int64(b))
	case OpGt:
		return truth(int64(a) > int64(b))
	case OpLe:
		return truth(int64(a) <= int64(b))
	case OpLt:
		return truth(int64(a) < int64(b))
	case OpNe:
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
