package expression

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/sfcore/sfcore/internal/dwarf/container"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// maxSlice bounds the elements of a slice.
const maxSlice = 1 << 24

var errNoPointer = errors.New("this is not a pointer")

// pointers applies an operator to two numbers of which one is a pointer.
func (e *evaluation) pointers(op string, a, b *num) (*num, error) {
	if a.isFloat() || b.isFloat() {
		return nil, errNoPointer
	}
	switch {
	case op == "+" && !a.isPointer():
		return e.moved(b, a.i)
	case op == "+" && !b.isPointer():
		return e.moved(a, b.i)
	case op == "-" && a.isPointer() && !b.isPointer():
		return e.moved(a, new(big.Int).Neg(b.i))
	case op == "-" && b.isPointer() && a.isPointer():
		size, other := e.stride(a.t), e.stride(b.t)
		if size == 0 || size != other {
			return nil, errors.New("the pointers are to objects of different sizes")
		}
		d := new(big.Int).Sub(a.i, b.i)
		return &num{t: longType, i: d.Quo(fit(d, longType), new(big.Int).SetUint64(size))}, nil
	}
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
		x, y := &num{t: ulongType, i: fit(a.i, ulongType)}, &num{t: ulongType, i: fit(b.i, ulongType)}
		return e.calculateIntegers(op, x, y, ulongType)
	}
	return nil, fmt.Errorf("the operator %s does not take pointers", op)
}

// stride returns how far apart the objects are that a pointer may point to. void and
// functions count as bytes, as for GCC.
func (e *evaluation) stride(t *info.Type) uint64 {
	switch to := t.Elem().Strip(); to.Kind {
	case info.Void, info.Function:
		return 1
	default:
		return e.Scope.SizeOf(to)
	}
}

func (e *evaluation) moved(p *num, by *big.Int) (*num, error) {
	size := e.stride(p.t)
	if size == 0 {
		return nil, errors.New("the size of what the pointer points to is not known")
	}
	v := new(big.Int).Mul(by, new(big.Int).SetUint64(size))
	return &num{t: p.t, i: fit(v.Add(v, p.i), ulongType)}, nil
}

// deref evaluates "*p".
func (e *evaluation) deref(n *node) (operand, error) {
	o, err := e.object(n.args[0])
	if err != nil {
		return operand{}, err
	}
	if isAddress(n.args[0]) { // what a debug console is used for: "*($sp + 8)"
		v, err := read(&o)
		if err != nil {
			return operand{}, err
		}
		if v.isFloat() {
			return operand{}, errNoPointer
		}
		return operand{o: e.Scope.At("", registerType, fit(v.i, ulongType).Uint64())}, nil
	}
	to, err := e.targetOf(&o)
	return operand{o: to}, err
}

// isAddress reports whether an expression consists of numbers and registers. There is a
// word at such an address.
func isAddress(n *node) bool {
	switch n.op {
	case opInteger, opRegister:
		return true
	case "()", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", opNeg, opInvert, opDeref:
	default:
		return false
	}
	for _, arg := range n.args {
		if !isAddress(arg) {
			return false
		}
	}
	return true
}

// targetOf returns what a pointer, a smart pointer or an array points to.
func (e *evaluation) targetOf(o *value.Object) (value.Object, error) {
	if o.Type == nil {
		return value.Object{}, errNoPointer
	}
	if o.Shape() == value.Members {
		if v, ok := container.Of(o); ok && v.Target != nil {
			return *v.Target, v.Err
		} else if ok && v.Err != nil {
			return value.Object{}, v.Err
		}
	}
	p, err := e.numberOf2(o)
	if err != nil {
		return value.Object{}, err
	}
	to := p.t.Elem()
	switch to.Strip().Kind {
	case info.Void, info.Function, info.Unsupported, info.Unspecified:
		return value.Object{}, fmt.Errorf("it points to %s: cast it, as in *(int *)p", to)
	default:
	}
	return e.scopeOf(o).At("", to, p.i.Uint64()), nil
}

// scopeOf is the scope in which an object was read.
func (e *evaluation) scopeOf(o *value.Object) *value.Scope {
	if s := o.Scope(); s != nil {
		return s
	}
	return e.Scope
}

// numberOf2 returns a pointer, without looking through the references of Rust.
func (e *evaluation) numberOf2(o *value.Object) (*num, error) {
	var p *num
	var err error
	if o.Type.Strip().Kind == info.Array {
		p, err = e.decay(o)
	} else {
		p, err = read(o)
	}
	switch {
	case err != nil && errors.Is(err, errNumber), err == nil && !p.isPointer():
		return nil, errNoPointer
	case err != nil:
		return nil, err
	}
	return p, nil
}

// address evaluates "&x".
func (e *evaluation) address(n *node) (operand, error) {
	arg := n.args[0]
	for arg.op == "()" {
		arg = arg.args[0]
	}
	o, err := e.object(arg)
	if err != nil {
		if addr, code, ok := e.symbolOf(arg); ok && !code {
			return operand{o: e.Scope.MadeWord("", info.MakePointer(info.VoidType(), pointerSize), addr)}, nil
		}
		return operand{}, err
	}
	if o.Type != nil && o.Type.Kind == info.Pointer && o.Type.Elem().Kind == info.Function {
		if _, inMemory := o.Address(); !inMemory {
			return operand{o: o}, nil // a function is its address
		}
	}
	if err := o.Err(); err != nil {
		return operand{}, err
	}
	addr, ok := o.Address()
	if !ok {
		return operand{}, errNoAddress
	}
	return operand{o: e.scopeOf(&o).MadeWord("", info.MakePointer(o.Type, pointerSize), addr)}, nil
}

func (e *evaluation) symbolOf(n *node) (addr uint64, code, ok bool) {
	if n.op != opName {
		return 0, false, false
	}
	return e.symbol(n)
}

// member evaluates "a.b" and "a->b".
func (e *evaluation) member(n *node) (operand, error) {
	o, err := e.object(n.args[0])
	if err != nil {
		return operand{}, err
	}
	if n.op == opArrow {
		if o, err = e.targetOf(&o); err != nil {
			return operand{}, e.failed(n.args[0], err)
		}
	}
	name := n.text
	if isDigit(name[0]) {
		name = "__" + name
	}
	for range maxNesting {
		m, ok, err := o.Member(name)
		if ok || err != nil {
			return operand{o: m}, err
		}
		if v, found, err := o.Variant(); found {
			if err != nil {
				return operand{}, err
			}
			if m, ok, err := v.Member(name); ok {
				return operand{o: m}, err
			}
		}
		pointer := o.Type != nil && o.Type.Strip().Kind == info.Pointer
		if !pointer && !e.isRust() {
			break
		}
		next, err := e.targetOf(&o)
		if err != nil {
			if pointer {
				return operand{}, e.failed(n.args[0], err)
			}
			break
		}
		o = next
	}
	if o.Shape() != value.Members {
		return operand{}, fmt.Errorf("%s has no members", typeText(&o))
	}
	return operand{}, fmt.Errorf("%s has no member of this name", typeText(&o))
}

func typeText(o *value.Object) string {
	if o.Type == nil {
		return "an unknown type"
	}
	return o.Type.String()
}
