package expression

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/info"
)

// truth makes the result of a comparison.
func (env *Env) truth(b bool) *num {
	n := &num{t: boolType, i: new(big.Int)}
	if env.isC() {
		n.t = intType
	}
	if b {
		n.i.SetInt64(1)
	}
	return n
}

// promote converts a small number to int [C 2011, 6.3.1.1].
func promote(n *num) *num {
	if n.isFloat() || n.isPointer() {
		return n
	}
	t := n.t
	if t.Kind == info.Enum {
		if t.Size == 4 {
			t = intType
			if n.i.Cmp(fit(n.i, intType)) != 0 {
				t = uintType
			}
		} else {
			t = signOf(t)
		}
	}
	if t.Size < 4 {
		t = intType
	}
	return &num{t: t, i: n.i, literal: n.literal}
}

// common returns the type that both operands are converted to [C 2011, 6.3.1.8].
func common(a, b *num) *info.Type {
	switch {
	case a.isFloat() && (!b.isFloat() || a.t.Size >= b.t.Size):
		return a.t
	case b.isFloat():
		return b.t
	case a.t.Size > b.t.Size:
		return a.t
	case b.t.Size > a.t.Size:
		return b.t
	case !isSigned(a.t):
		return a.t
	}
	return b.t
}

// convert converts a number to a type as a cast does.
func (env *Env) convert(n *num, t *info.Type) (*num, error) {
	s := t.Strip()
	switch {
	case s.Kind == info.Base && s.Encoding == info.Boolean:
		r := env.truth(n.isTrue())
		r.t = t
		return r, nil
	case s.Kind == info.Base && s.Encoding == info.Float:
		if s.Size != 4 && s.Size != 8 {
			return nil, errPrecise
		}
		f := n.f
		if !n.isFloat() {
			f, _ = new(big.Float).SetInt(n.i).Float64()
		}
		return &num{t: t, f: round(f, s)}, nil
	case s.Kind == info.Base && s.Encoding != info.ComplexFloat, s.Kind == info.Enum, s.Kind == info.Pointer:
		if s.Size == 0 || s.Size > 16 {
			return nil, errNumber
		}
		if !n.isFloat() {
			return &num{t: t, i: fit(n.i, s)}, nil
		}
		v, err := env.truncated(n.f, s)
		return &num{t: t, i: v}, err
	}
	return nil, fmt.Errorf("a number cannot be converted to %s", t)
}

// truncated converts a floating-point number to an integer. In C the result is undefined
// if it does not fit; in Rust it is the nearest one that does.
func (env *Env) truncated(f float64, t *info.Type) (*big.Int, error) {
	if f != f {
		if env.isRust() {
			return new(big.Int), nil
		}
		return nil, fmt.Errorf("NaN is no %s", t)
	}
	low, high := new(big.Int), mask(8*t.Size)
	if isSigned(signOf(t)) {
		high = mask(8*t.Size - 1)
		low.Not(high)
	}
	v := new(big.Int)
	switch {
	case f > 1e39:
		v.Add(high, big.NewInt(1))
	case f < -1e39:
		v.Sub(low, big.NewInt(1))
	default:
		big.NewFloat(f).Int(v)
	}
	outside := high
	switch {
	case v.Cmp(low) < 0:
		outside = low
	case v.Cmp(high) <= 0:
		return v, nil
	}
	if env.isRust() {
		return outside, nil
	}
	return nil, fmt.Errorf("%v does not fit in %s", f, t)
}

// sameTypes makes literals of Rust take the type of the other operand, and refuses
// other types that differ.
func (env *Env) sameTypes(a, b *num) (*num, *num, error) {
	if a.isPointer() || b.isPointer() { // raw pointers are compared as numbers
		return a, b, nil
	}
	adapt := func(lit, to *num) (*num, error) {
		if lit.isFloat() != to.isFloat() {
			return nil, fmt.Errorf("one operand is of type %s, the other one is %s", to.t, literalName(lit))
		}
		r, err := env.convert(lit, to.t)
		if err == nil && !r.isFloat() && r.i.Cmp(lit.i) != 0 {
			return nil, fmt.Errorf("%s does not fit in %s", lit.i, to.t)
		}
		return r, err
	}
	var err error
	switch {
	case a.literal && b.literal && a.isFloat() == b.isFloat():
		if a.isFloat() || a.t.Size >= b.t.Size {
			b = &num{t: a.t, i: b.i, f: b.f, literal: true}
		} else {
			a = &num{t: b.t, i: a.i, literal: true}
		}
	case a.literal && !b.literal:
		a, err = adapt(a, b)
	case b.literal && !a.literal:
		b, err = adapt(b, a)
	case a.t.String() != b.t.String():
		err = fmt.Errorf("one operand is of type %s, the other one of type %s; convert one with as", a.t, b.t)
	}
	return a, b, err
}

func literalName(n *num) string {
	if n.isFloat() {
		return "a floating-point number"
	}
	return "an integer"
}

// calculate applies an operator to numbers by the rules of the language.
func (env *Env) calculate(op string, a, b *num) (*num, error) {
	if op == "<<" || op == ">>" {
		return env.shift(op, a, b)
	}
	if env.isRust() {
		var err error
		if a, b, err = env.sameTypes(a, b); err != nil {
			return nil, err
		}
	} else {
		a, b = promote(a), promote(b)
	}
	t := a.t
	if !env.isRust() {
		t = common(a, b)
	}
	if t.Encoding == info.Boolean && strings.Contains("+-*/%", op) {
		return nil, errNumber
	}
	if t.Encoding == info.Float {
		return env.calculateFloats(op, a, b, t)
	}
	return env.calculateIntegers(op, a, b, t)
}

func (env *Env) calculateFloats(op string, a, b *num, t *info.Type) (*num, error) {
	x, err := env.convert(a, t)
	if err != nil {
		return nil, err
	}
	y, err := env.convert(b, t)
	if err != nil {
		return nil, err
	}
	r := &num{t: t, literal: a.literal && b.literal}
	switch op {
	case "+":
		r.f = round(x.f+y.f, t)
	case "-":
		r.f = round(x.f-y.f, t)
	case "*":
		r.f = round(x.f*y.f, t)
	case "/":
		r.f = round(x.f/y.f, t)
	case "==":
		return env.truth(x.f == y.f), nil
	case "!=":
		return env.truth(x.f != y.f), nil
	case "<":
		return env.truth(x.f < y.f), nil
	case "<=":
		return env.truth(x.f <= y.f), nil
	case ">":
		return env.truth(x.f > y.f), nil
	case ">=":
		return env.truth(x.f >= y.f), nil
	default:
		return nil, fmt.Errorf("floating-point numbers have no %s", op)
	}
	return r, nil
}

func (env *Env) calculateIntegers(op string, a, b *num, t *info.Type) (*num, error) {
	x, y, v := a.i, b.i, new(big.Int)
	if !env.isRust() {
		x, y = fit(x, t), fit(y, t)
	}
	switch c := x.Cmp(y); op {
	case "==":
		return env.truth(c == 0), nil
	case "!=":
		return env.truth(c != 0), nil
	case "<":
		return env.truth(c < 0), nil
	case "<=":
		return env.truth(c <= 0), nil
	case ">":
		return env.truth(c > 0), nil
	case ">=":
		return env.truth(c >= 0), nil
	}
	switch op {
	case "+":
		v.Add(x, y)
	case "-":
		v.Sub(x, y)
	case "*":
		v.Mul(x, y)
	case "/", "%":
		if y.Sign() == 0 {
			return nil, errDivide
		}
		if op == "/" {
			v.Quo(x, y)
		} else {
			v.Rem(x, y)
		}
	case "&":
		v.And(x, y)
	case "|":
		v.Or(x, y)
	case "^":
		v.Xor(x, y)
	default:
		return nil, fmt.Errorf("the operator %s is not known", op)
	}
	return env.result(op, v, t, a.literal && b.literal)
}

// result makes a number of the result of an operator. In C it is cut to its type; in
// Rust it must fit.
func (env *Env) result(op string, v *big.Int, t *info.Type, literal bool) (*num, error) {
	cut := fit(v, t)
	if env.isRust() && cut.Cmp(v) != 0 {
		return nil, fmt.Errorf("the result of %s, %s, does not fit in %s", op, v, t)
	}
	return &num{t: t, i: cut, literal: literal}, nil
}

func (env *Env) shift(op string, a, b *num) (*num, error) {
	if !env.isRust() {
		a, b = promote(a), promote(b)
	}
	if a.isFloat() || b.isFloat() {
		return nil, errNumber
	}
	bits := 8 * a.t.Size
	if b.i.Sign() < 0 || b.i.Cmp(new(big.Int).SetUint64(bits)) >= 0 {
		return nil, fmt.Errorf("%s of a number of %d bits by %s", op, bits, b.i)
	}
	v, n := new(big.Int), uint(b.i.Uint64())
	if op == ">>" {
		v.Rsh(a.i, n)
	} else {
		v.Lsh(a.i, n)
	}
	return &num{t: a.t, i: fit(v, a.t), literal: a.literal}, nil
}

// negate applies a unary operator to a number.
func (env *Env) negate(op string, n *num) (*num, error) {
	if op == opNot && !(env.isRust() && n.t.Encoding != info.Boolean) {
		return env.truth(!n.isTrue()), nil
	}
	if n.isPointer() {
		return nil, errNumber
	}
	if !env.isRust() {
		n = promote(n)
	}
	switch {
	case n.isFloat() && op == opNeg:
		return &num{t: n.t, f: -n.f, literal: n.literal}, nil
	case op == opPlus:
		return n, nil
	case n.isFloat(), n.t.Encoding == info.Boolean:
		return nil, errNumber
	case op == opNeg:
		if env.isRust() && !isSigned(n.t) {
			return nil, fmt.Errorf("a number of type %s has no negative", n.t)
		}
		return env.result("-", new(big.Int).Neg(n.i), n.t, n.literal)
	}
	return &num{t: n.t, i: fit(new(big.Int).Not(n.i), n.t), literal: n.literal}, nil
}
