package expression

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/sfcore/sfcore/internal/dwarf/info"
)

func unquote(s string) (string, error) {
	r, err := strconv.Unquote(s)
	if err != nil {
		return "", fmt.Errorf("%s is not a string", s)
	}
	return r, nil
}

// cast evaluates casts to a type.
func (e *evaluation) cast(n *node) (operand, error) {
	to := n.typ.Strip()
	r, err := e.eval(n.args[0])
	if err != nil {
		return operand{}, err
	}
	if r.n == nil && r.o.IsReference() {
		if r.o, err = r.o.Target(); err != nil {
			return operand{}, err
		}
	}
	switch to.Kind {
	case info.Struct, info.Union, info.Array:
		return e.castObject(n, r)
	case info.Void, info.Function, info.Unsupported, info.Unspecified:
		return operand{}, fmt.Errorf("nothing can be cast to %s", n.typ)
	default:
	}
	v := r.n
	if v == nil {
		if v, err = e.numberOf(&r.o); err != nil {
			return operand{}, e.failed(n.args[0], err)
		}
	}
	if to.Kind == info.Pointer && v.isPointer() && n.op == opCast && v.i.Sign() != 0 {
		if v, err = e.related(v, to); err != nil {
			return operand{}, err
		}
	}
	if v.isFloat() && to.Kind == info.Pointer {
		return operand{}, errors.New("a floating-point number is no pointer")
	}
	if v, err = e.convert(v, n.typ); err != nil {
		return operand{}, err
	}
	return operand{o: ptr(e.write(&num{t: n.typ.Strip(), i: v.i, f: v.f})).As(n.typ)}, nil
}

// castObject looks at an object as one of another class: a base class of its own, or
// one that it is a base class of.
func (e *evaluation) castObject(n *node, r operand) (operand, error) {
	if r.n != nil || r.o.Type == nil {
		return operand{}, fmt.Errorf("a number cannot be cast to %s", n.typ)
	}
	if same(r.o.Type.Strip().String(), n.typ.Strip().String()) {
		return operand{o: r.o}, nil
	}
	addr, ok := r.o.Address()
	if !ok {
		return operand{}, errNoAddress
	}
	off, found, err := e.distance(r.o.Type.Strip(), n.typ.Strip())
	if err != nil {
		return operand{}, err
	}
	if !found {
		return operand{}, fmt.Errorf("%s cannot be cast to %s: cast its address, as in *(T *)&x", r.o.Type, n.typ)
	}
	return operand{o: r.o.Scope().At("", n.typ, addr+off)}, nil
}

// related moves a pointer between a class and its base class.
func (e *evaluation) related(v *num, to *info.Type) (*num, error) {
	off, found, err := e.distance(v.t.Elem().Strip(), to.Elem().Strip())
	if !found || err != nil {
		return v, err
	}
	return &num{t: v.t, i: fit(new(big.Int).Add(v.i, new(big.Int).SetUint64(off)), ulongType)}, nil
}

// distance returns how far it is from an object of a class to the one of another class
// that it is a part of, or that is a part of it.
func (e *evaluation) distance(from, to *info.Type) (off uint64, found bool, err error) {
	if from.Kind != info.Struct || to.Kind != info.Struct {
		return 0, false, nil
	}
	left := maxBases
	if off, found, err = baseOffset(from, to.String(), 0, &left); found || err != nil {
		return off, found, err
	}
	left = maxBases
	off, found, err = baseOffset(to, from.String(), 0, &left)
	return -off, found, err
}

// maxBases bounds the base classes of a class that are looked at.
const maxBases = 512

func baseOffset(t *info.Type, name string, depth int, left *int) (off uint64, found bool, err error) {
	if depth > maxNesting {
		return 0, false, nil
	}
	members, _ := t.Members()
	for i := range members {
		m := &members[i]
		if *left--; !m.Base || m.Type == nil || *left < 0 {
			continue
		}
		base := m.Type.Strip()
		if base.String() == name {
			if m.Where.Known() {
				return 0, false, errors.New("a virtual base class cannot be reached by a cast")
			}
			return m.Off, true, nil
		}
		if inner, ok, err := baseOffset(base, name, depth+1, left); ok || err != nil {
			if err == nil && m.Where.Known() {
				err = errors.New("a virtual base class cannot be reached by a cast")
			}
			return m.Off + inner, ok, err
		}
	}
	return 0, false, nil
}
