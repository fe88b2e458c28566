package expression

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/internal/dwarf/container"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// index evaluates "a[i]" of pointers, arrays and containers.
func (e *evaluation) index(n *node) (operand, error) {
	o, err := e.object(n.args[0])
	if err != nil {
		return operand{}, err
	}
	if v, ok := e.containerOf(&o); ok {
		if v.Keys != nil {
			r, err := e.byKey(v, n.args[1])
			return operand{o: r}, err
		}
		i, err := e.whole(n.args[1])
		if err != nil {
			return operand{}, err
		}
		r, err := elementOf(v, i)
		return operand{o: r}, err
	}
	i, err := e.number(n.args[1])
	if err != nil {
		return operand{}, err
	}
	if i.isFloat() || i.isPointer() {
		return operand{}, e.failed(n.args[1], errors.New("an index must be an integer"))
	}
	if o.Type != nil && o.Type.Strip().Kind == info.Array {
		count, err := o.Len()
		inside := err == nil && i.i.IsUint64() && i.i.Uint64() < count
		if e.isRust() && !inside {
			return operand{}, outside(i.i.String(), count)
		}
		if _, inMemory := o.Address(); !inMemory && inside {
			r, err := o.Parts(i.i.Uint64(), 1)
			if err != nil || len(r) == 0 {
				return operand{}, errors.Join(err, o.Err())
			}
			return operand{o: r[0]}, nil
		}
	}
	p, err := e.pointerOf(&o)
	if err != nil {
		return operand{}, e.failed(n.args[0], err)
	}
	at, err := e.moved(p, i.i)
	if err != nil {
		return operand{}, err
	}
	return operand{o: e.scopeOf(&o).At("", p.t.Elem(), at.i.Uint64())}, nil
}

// containerOf returns the view of a container; in Rust also of one that references
// and smart pointers refer to.
func (e *evaluation) containerOf(o *value.Object) (*container.View, bool) {
	at := *o
	for range maxNesting {
		v, ok := container.Of(&at)
		if ok && v.Target == nil {
			return v, v.Kind != container.Text
		}
		if !e.isRust() || !isRustReference(&at) && !ok {
			return nil, false
		}
		to, err := e.targetOf(&at)
		if err != nil {
			return nil, false
		}
		at = to
		*o = to
	}
	return nil, false
}

func outside(i string, count uint64) error {
	return fmt.Errorf("the index %s is outside: there are %d elements", i, count)
}

// pointerOf returns the address of the first element of what can be indexed.
func (e *evaluation) pointerOf(o *value.Object) (*num, error) {
	if o.Type == nil {
		return nil, errNoPointer
	}
	p, err := e.numberOf2(o)
	if err != nil && o.Type.Strip().Kind != info.Pointer && errors.Is(err, errNoPointer) {
		return nil, fmt.Errorf("%s has no elements", o.Type)
	}
	return p, err
}

// whole evaluates to an index.
func (e *evaluation) whole(n *node) (uint64, error) {
	v, err := e.number(n)
	if err != nil {
		return 0, err
	}
	if v.isFloat() || !v.i.IsUint64() {
		return 0, e.failed(n, errors.New("an index must be an integer from 0 on"))
	}
	return v.i.Uint64(), nil
}

func elementOf(v *container.View, i uint64) (value.Object, error) {
	if v.Err != nil {
		return value.Object{}, v.Err
	}
	if i >= v.Len {
		return value.Object{}, outside(fmt.Sprint(i), v.Len)
	}
	parts, err := v.Parts(i, 1)
	if len(parts) == 1 {
		return parts[0], nil
	}
	return value.Object{}, errors.Join(err, errNoElement)
}

var errNoElement = errors.New("the element cannot be read")

// maxKeys bounds the elements that are compared to find a key.
const maxKeys = 1 << 16

// byKey finds the element of a map with a key: a string, or what is a number.
func (e *evaluation) byKey(v *container.View, n *node) (value.Object, error) {
	if v.Err != nil {
		return value.Object{}, v.Err
	}
	var want *num
	word := ""
	if n.op == opText {
		s, err := unquote(n.text)
		if err != nil {
			return value.Object{}, err
		}
		word = s
	} else {
		var err error
		if want, err = e.number(n); err != nil {
			return value.Object{}, err
		}
	}
	for from := uint64(0); from < min(v.Len, maxKeys); from += keysAtOnce {
		keys, err := v.Keys(from, keysAtOnce)
		for i := range keys {
			same, err := e.isKey(&keys[i], want, word)
			if err != nil {
				return value.Object{}, err
			}
			if same {
				parts, err := v.Parts(from+uint64(i), 1)
				if len(parts) == 1 {
					return parts[0], nil
				}
				return value.Object{}, errors.Join(err, errNoElement)
			}
		}
		if err != nil {
			return value.Object{}, err
		}
	}
	if v.Len > maxKeys {
		return value.Object{}, fmt.Errorf("the key is not among the first %d of %d elements", maxKeys, v.Len)
	}
	return value.Object{}, errors.New("there is no element with this key")
}

const keysAtOnce = 1024

func (e *evaluation) isKey(key *value.Object, want *num, word string) (bool, error) {
	if want == nil {
		s, whole, ok := container.String(key)
		return ok && whole && s == word, nil
	}
	k, err := e.numberOf(key)
	if err != nil {
		return false, err
	}
	if k.isFloat() || want.isFloat() {
		return k.isFloat() == want.isFloat() && k.f == want.f, nil
	}
	return k.i.Cmp(want.i) == 0, nil
}

// slice evaluates "a[i..j]", "a[i..=j]" and "a[i]@n".
func (e *evaluation) slice(n *node) (operand, error) {
	if n.op == opRepeat {
		o, err := e.object(n.args[0])
		if err != nil {
			return operand{}, err
		}
		count, err := e.whole(n.args[1])
		if err != nil {
			return operand{}, err
		}
		r, err := e.run(&o, count)
		return operand{o: r}, err
	}
	o, err := e.object(n.args[0])
	if err != nil {
		return operand{}, err
	}
	from, to := uint64(0), uint64(0)
	if n.args[1] != nil {
		if from, err = e.whole(n.args[1]); err != nil {
			return operand{}, err
		}
	}
	count, known := e.countOf(&o)
	switch {
	case n.args[2] != nil:
		if to, err = e.whole(n.args[2]); err != nil {
			return operand{}, err
		}
		if n.op == opClosed {
			to++
		}
	case known:
		to = count
	default:
		return operand{}, errors.New("the end of the slice is missing: a pointer does not say how many elements there are")
	}
	if from > to || known && to > count {
		return operand{}, fmt.Errorf("the slice from %d to %d is outside: there are %d elements", from, to, count)
	}
	first, err := e.elementAt(&o, from, to > from)
	if err != nil {
		return operand{}, err
	}
	r, err := e.run(&first, to-from)
	return operand{o: r}, err
}

// countOf returns how many elements an array or a container has.
func (e *evaluation) countOf(o *value.Object) (uint64, bool) {
	if v, ok := e.containerOf(o); ok {
		return v.Len, v.Err == nil
	}
	if o.Shape() == value.Elements {
		n, err := o.Len()
		return n, err == nil
	}
	return 0, false
}

// elementAt returns an element from which on others follow.
func (e *evaluation) elementAt(o *value.Object, i uint64, some bool) (value.Object, error) {
	if v, ok := e.containerOf(o); ok {
		if !v.Adjacent {
			return value.Object{}, errors.New("its elements are not next to each other; index them one by one")
		}
		if !some {
			i = 0
		}
		return elementOf(v, i)
	}
	p, err := e.pointerOf(o)
	if err != nil {
		return value.Object{}, err
	}
	if i > maxSlice {
		return value.Object{}, outside(fmt.Sprint(i), maxSlice)
	}
	step := e.stride(p.t)
	return e.scopeOf(o).At("", p.t.Elem(), p.i.Uint64()+i*step), nil
}

// run returns count objects from one on that are next to each other.
func (e *evaluation) run(o *value.Object, count uint64) (value.Object, error) {
	if count > maxSlice {
		return value.Object{}, fmt.Errorf("a slice has at most %d elements", maxSlice)
	}
	if err := o.Err(); err != nil {
		return value.Object{}, err
	}
	addr, ok := o.Address()
	if !ok {
		return value.Object{}, errNoAddress
	}
	return e.scopeOf(o).At("", info.MakeArray(o.Type, count), addr), nil
}
