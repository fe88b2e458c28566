package value

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/info"
)

// float writes a floating-point number, or a complex one as two of them.
func (o *Object) float(t *info.Type) (string, error) {
	if t.Size == 0 || t.Size > 32 {
		return "", errNotSupported
	}
	b, err := o.bytes(t.Size)
	if err != nil {
		return "", err
	}
	if o.scope.frame.Arch.BigEndian {
		reverse(b)
	}
	if t.Encoding == info.Float {
		return o.real(b, t.String())
	}
	half := len(b) / 2
	re, im := b[:half], b[half:]
	if o.scope.frame.Arch.BigEndian {
		re, im = im, re
	}
	x, err := o.real(re, t.String())
	if err != nil {
		return "", err
	}
	y, err := o.real(im, t.String())
	return x + " + " + y + "i", err
}

// real writes a number, given with its least significant byte first. The name of
// the type tells formats of the same size apart.
func (o *Object) real(b []byte, name string) (string, error) {
	var v uint64
	for i := range min(8, len(b)) {
		v |= uint64(b[i]) << (8 * i)
	}
	switch {
	case len(b) == 2 && strings.Contains(strings.ToLower(name), "bf"):
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v)<<16)), 'g', -1, 32), nil
	case len(b) == 2:
		return exact(v>>15 != 0, int(v>>10&0x1f), 0x1f, 15, v&0x3ff, 10, 4), nil
	case len(b) == 4:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v))), 'g', -1, 32), nil
	case len(b) == 8:
		return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64), nil
	case len(b) == 16 && o.scope.frame.Arch.LongDouble == arch.X87 && !strings.Contains(name, "128"):
		return extended(v, uint16(b[8])|uint16(b[9])<<8), nil
	case len(b) == 16:
		return quad(b), nil
	}
	return "", errNotSupported
}

// exact writes a number of a small format: its exponent, whose value top stands for
// infinity, and a fraction of so many bits.
func exact(negative bool, exp, top, bias int, frac uint64, bits, digits int) string {
	var f float64
	switch {
	case exp == top && frac != 0:
		return "NaN"
	case exp == top:
		f = math.Inf(1)
	case exp == 0:
		f = math.Ldexp(float64(frac), 1-bias-bits)
	default:
		f = math.Ldexp(float64(frac|1<<bits), exp-bias-bits)
	}
	if negative {
		f = math.Copysign(f, -1)
	}
	return strconv.FormatFloat(f, 'g', digits, 64)
}

// extended writes a number of the 80-bit format of x87 [Intel SDM 1, 4.2.2].
func extended(mantissa uint64, signExp uint16) string {
	exp := int(signExp & 0x7fff)
	switch {
	case exp == 0x7fff && mantissa<<1 == 0:
		return infinity(signExp>>15 != 0)
	case exp == 0x7fff:
		return "NaN"
	}
	return scaled(new(big.Int).SetUint64(mantissa), max(exp, 1)-16383-63, signExp>>15 != 0, 64, 21)
}

// quad writes a number of 128 bits [IEEE 754, binary128], the least significant
// byte first.
func quad(b []byte) string {
	var high uint64
	big16 := make([]byte, 16)
	for i := range b {
		big16[15-i] = b[i]
	}
	for _, c := range big16[:8] {
		high = high<<8 | uint64(c)
	}
	negative, exp := high>>63 != 0, int(high>>48&0x7fff)
	frac := new(big.Int).SetBytes(big16[2:])
	switch {
	case exp == 0x7fff && frac.Sign() == 0:
		return infinity(negative)
	case exp == 0x7fff:
		return "NaN"
	case exp > 0:
		frac.SetBit(frac, 112, 1)
	}
	return scaled(frac, max(exp, 1)-16383-112, negative, 113, 36)
}

func infinity(negative bool) string {
	if negative {
		return "-Inf"
	}
	return "+Inf"
}

// scaled writes mantissa times two to the power of exp.
func scaled(mantissa *big.Int, exp int, negative bool, prec uint, digits int) string {
	f := new(big.Float).SetPrec(prec).SetInt(mantissa)
	f.SetMantExp(f, exp)
	if negative {
		f.Neg(f)
	}
	return f.Text('g', digits)
}
