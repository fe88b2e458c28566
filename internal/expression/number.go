package expression

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// num is the value of an integer, a floating-point number, an enumerator or a pointer.
type num struct {
	t       *info.Type // stripped
	i       *big.Int   // nil for a floating-point number
	f       float64
	literal bool // without a suffix: in Rust, of the type of the other operand
}

func (n *num) isFloat() bool   { return n.i == nil }
func (n *num) isPointer() bool { return n.t.Kind == info.Pointer }

func (n *num) isTrue() bool {
	if n.isFloat() {
		return n.f != 0
	}
	return n.i.Sign() != 0
}

func isSigned(t *info.Type) bool {
	switch t.Encoding {
	case info.Signed, info.SignedChar:
		return true
	}
	return false
}

var (
	errNumber  = errors.New("this is not a number")
	errDivide  = errors.New("division by zero")
	errPrecise = errors.New("arithmetic of floating-point numbers of this size is not supported")
)

// read returns the number that an object holds.
func read(o *value.Object) (*num, error) {
	if err := o.Err(); err != nil {
		return nil, err
	}
	if o.Type == nil {
		_, err := o.Text()
		return nil, err
	}
	t := o.Type.Strip()
	switch t.Kind {
	case info.Base, info.Enum, info.Pointer:
	default:
		return nil, fmt.Errorf("%w, but %s", errNumber, o.Type)
	}
	if t.Encoding == info.Float {
		return readFloat(o, t)
	}
	if t.Encoding == info.ComplexFloat || t.Size == 0 {
		return nil, errNumber
	}
	signed := t
	if t.Kind == info.Enum {
		signed = t.Elem().Strip()
	}
	bits := 8 * t.Size
	v := new(big.Int)
	if t.Size <= 8 {
		n, err := o.Number()
		if err != nil {
			return nil, err
		}
		if o.Bits() > 0 {
			bits = o.Bits()
		}
		v.SetUint64(n)
	} else if err := readWide(o, t.Size, v); err != nil {
		return nil, err
	}
	n := &num{t: t, i: v}
	if isSigned(signed) && v.Bit(int(bits)-1) != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(bits)))
	}
	if o.Bits() > 0 && o.Bits() < 32 && t.Kind == info.Base { // its type is int [C 2011, 6.3.1.1]
		n.t = intType
	}
	return n, nil
}

func readWide(o *value.Object, size uint64, v *big.Int) error {
	if size != 16 {
		return errNumber
	}
	b, err := o.Read(size)
	if err != nil {
		return err
	}
	v.SetBytes(inBigEndian(o, b))
	return nil
}

// inBigEndian returns bytes with the most significant one first.
func inBigEndian(o *value.Object, b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = b[i]
		if !o.Scope().Frame().Arch.BigEndian {
			out[i] = b[len(b)-1-i]
		}
	}
	return out
}

func readFloat(o *value.Object, t *info.Type) (*num, error) {
	if t.Size != 4 && t.Size != 8 {
		return nil, errPrecise
	}
	b, err := o.Read(t.Size)
	if err != nil {
		return nil, err
	}
	bits := new(big.Int).SetBytes(inBigEndian(o, b)).Uint64()
	if t.Size == 4 {
		return &num{t: t, f: float64(math.Float32frombits(uint32(bits)))}, nil
	}
	return &num{t: t, f: math.Float64frombits(bits)}, nil
}

// write makes an object of a number.
func (env *Env) write(n *num) value.Object {
	size := n.t.Strip().Size
	var v *big.Int
	switch {
	case !n.isFloat():
		v = new(big.Int).And(n.i, mask(8*size))
	case size == 4:
		v = new(big.Int).SetUint64(uint64(math.Float32bits(float32(n.f))))
	default:
		v = new(big.Int).SetUint64(math.Float64bits(n.f))
	}
	data := v.FillBytes(make([]byte, size))
	if !env.Scope.Frame().Arch.BigEndian {
		for i, j := 0, len(data)-1; i < j; i, j = i+1, j-1 {
			data[i], data[j] = data[j], data[i]
		}
	}
	return env.Scope.Made("", n.t, data)
}

func mask(bits uint64) *big.Int {
	m := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	return m.Sub(m, big.NewInt(1))
}

// fit cuts a number to its type, as the machine does.
func fit(v *big.Int, t *info.Type) *big.Int {
	bits := 8 * t.Size
	v = new(big.Int).And(v, mask(bits))
	if isSigned(signOf(t)) && bits > 0 && v.Bit(int(bits)-1) != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(bits)))
	}
	return v
}

// signOf returns the type that says whether numbers of t have a sign.
func signOf(t *info.Type) *info.Type {
	if t.Kind == info.Enum {
		return t.Elem().Strip()
	}
	return t
}

var (
	intType    = info.MakeBase("int", 4, info.Signed)
	uintType   = info.MakeBase("unsigned int", 4, info.Unsigned)
	longType   = info.MakeBase("long", 8, info.Signed)
	ulongType  = info.MakeBase("unsigned long", 8, info.Unsigned)
	floatType  = info.MakeBase("float", 4, info.Float)
	doubleType = info.MakeBase("double", 8, info.Float)
	boolType   = info.MakeBase("bool", 1, info.Boolean)
	// registerType is that of registers, which are known as 64 bits.
	registerType = info.MakeBase("uint64", 8, info.Unsigned)
	charType     = info.MakeBase("char", 1, info.SignedChar)
)

// parseInteger reads a number of C or Rust.
func parseInteger(s string) (*num, error) {
	digits := strings.ReplaceAll(strings.ReplaceAll(s, "'", ""), "_", "")
	for _, name := range rustSuffixes {
		if d, ok := strings.CutSuffix(digits, name); ok && d != "" && !strings.HasPrefix(d, "0x") {
			v, ok := new(big.Int).SetString(d, 0)
			t := rustBase(name)
			if !ok || t.Encoding != info.Float && fit(v, t).Cmp(v) != 0 {
				return nil, fmt.Errorf("%s is not a number of type %s", s, name)
			}
			if t.Encoding == info.Float {
				f, _ := new(big.Float).SetInt(v).Float64()
				return &num{t: t, f: f}, nil
			}
			return &num{t: t, i: v}, nil
		}
	}
	plain := strings.TrimRight(digits, "uUlL")
	suffix := strings.ToLower(digits[len(plain):])
	v, ok := new(big.Int).SetString(plain, 0)
	if !ok || v.BitLen() > 64 {
		return nil, fmt.Errorf("%s is not a 64-bit number", s)
	}
	decimal := plain == "0" || plain[0] != '0'
	unsigned := strings.Contains(suffix, "u")
	for _, t := range []*info.Type{intType, uintType, longType, ulongType} {
		isUnsigned := t.Encoding == info.Unsigned
		if isUnsigned != unsigned && (unsigned || decimal && t != ulongType) || strings.Contains(suffix, "l") && t.Size < 8 {
			continue
		}
		if fit(v, t).Cmp(v) == 0 {
			return &num{t: t, i: v, literal: suffix == ""}, nil
		}
	}
	return nil, fmt.Errorf("%s is not a 64-bit number", s)
}

var rustSuffixes = []string{"i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f32", "f64"}

// parseFloat reads a floating-point number of C or Rust.
func parseFloat(s string) (*num, error) {
	t, digits := doubleType, strings.ReplaceAll(s, "_", "")
	literal := true
	for suffix, as := range map[string]*info.Type{"f32": rustBase("f32"), "f64": rustBase("f64"), "f": floatType, "F": floatType} {
		if d, ok := strings.CutSuffix(digits, suffix); ok {
			t, digits, literal = as, d, false
			break
		}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || strings.ContainsAny(digits, "xXpPnN") {
		return nil, fmt.Errorf("%s is not a floating-point number", s)
	}
	return &num{t: t, f: round(v, t), literal: literal}, nil
}

// round rounds to the precision of a type.
func round(v float64, t *info.Type) float64 {
	if t.Size == 4 {
		return float64(float32(v))
	}
	return v
}

// parseChar reads a character between quotes.
func parseChar(s string) (rune, error) {
	body := s[1 : len(s)-1]
	if body == `\0` {
		return 0, nil
	}
	r, _, rest, err := strconv.UnquoteChar(body, '\'')
	if err != nil || rest != "" {
		return 0, fmt.Errorf("%s is not a character", s)
	}
	return r, nil
}
