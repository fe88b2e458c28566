package value

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/internal/dwarf/expr"
	"github.com/sfcore/sfcore/internal/dwarf/info"
)

// Object is a variable, a part of one, or the object that a pointer points to. It
// is read when it is needed.
type Object struct {
	// Name is the name of the variable or member, "[3]" for an element, or "".
	Name string
	// Type is nil if it is unknown.
	Type *info.Type
	// Base is set for the part of an object that belongs to a base class.
	Base bool

	scope *Scope
	at    location
	off   uint64 // in at, in bytes
	bits  uint64 // of a bit field
	bit   uint64 // where it begins, in bits from off
	err   error  // why there is no location
}

// Address returns where the object is, if it is in memory.
func (o *Object) Address() (addr uint64, ok bool) {
	if o.err != nil || o.bits > 0 {
		return 0, false
	}
	return o.at.address(o.off)
}

// Shape says how an object is shown.
type Shape uint8

// The shapes.
const (
	Scalar   Shape = iota // as a text
	Members               // as its members, which have names
	Elements              // as its elements
	Target                // as a text and the object it refers to: a pointer or reference
)

// Shape returns how the object is shown.
func (o *Object) Shape() Shape {
	if o.Type == nil {
		return Scalar
	}
	switch t := o.Type.Strip(); t.Kind {
	case info.Struct, info.Union:
		return Members
	case info.Array:
		return Elements
	case info.Pointer:
		switch to := t.Elem().Strip(); to.Kind {
		case info.Void, info.Function, info.Unsupported, info.Unspecified:
			return Scalar
		case info.Struct, info.Union:
			if to.Declared {
				return Scalar
			}
		default:
		}
		return Target
	case info.Reference, info.RvalueReference:
		return Target
	default:
		return Scalar
	}
}

// IsReference reports whether the object is a C++ reference, which is shown as the
// object it refers to.
func (o *Object) IsReference() bool {
	if o.Type == nil {
		return false
	}
	k := o.Type.Strip().Kind
	return k == info.Reference || k == info.RvalueReference
}

// Len returns how many parts the object has: members, elements, or the one object
// that it refers to. The error says why the number is unknown.
func (o *Object) Len() (uint64, error) {
	switch o.Shape() {
	case Members:
		_, total, err := o.members(0, 0)
		return total, err
	case Elements:
		return o.count(o.Type.Strip())
	case Target:
		return 1, nil
	default:
		return 0, nil
	}
}

// Parts returns up to count parts of the object, from an index on that counts from
// 0. The error says why there are fewer.
func (o *Object) Parts(from, count uint64) ([]Object, error) {
	switch o.Shape() {
	case Members:
		parts, _, err := o.members(from, count)
		return parts, err
	case Elements:
		return o.elements(from, count)
	case Target:
		to, err := o.target()
		if err != nil || from > 0 || count == 0 {
			return nil, err
		}
		return []Object{to}, nil
	default:
		return nil, nil
	}
}

var errIncomplete = errors.New("this unit of the debug information only declares its type")

// members returns up to count members of a structure or union, beginning with number
// from, and how many it has. Of variants only the active one is a member.
func (o *Object) members(from, count uint64) (parts []Object, total uint64, err error) {
	t := o.Type.Strip()
	if t.Declared {
		return nil, 0, errIncomplete
	}
	if o.err != nil {
		return nil, 0, o.err
	}
	members, variants := t.Members()
	total = uint64(len(members))
	from = min(from, total)
	parts = make([]Object, 0, min(count, total-from+1))
	for i := range members[from:][:min(count, total-from)] {
		parts = append(parts, o.member(&members[from:][i]))
	}
	if variants == nil {
		return parts, total, nil
	}
	v, err := o.active(variants)
	if v != nil {
		if from <= total && uint64(len(parts)) < count {
			parts = append(parts, o.member(&v.Member))
		}
		total++
	}
	return parts, total, err
}

func (o *Object) member(m *info.Member) Object {
	p := *o
	p.Name, p.Type, p.Base = m.Name, m.Type, m.Base
	p.bits, p.bit = 0, 0
	switch {
	case m.Type == nil:
		p.err = errNoType
	case m.Bits > 0:
		p.off, p.bits, p.bit = o.off+m.BitOff/8, m.Bits, m.BitOff%8
	case m.Where.Known():
		p.off = 0
		p.at, p.err = o.computed(&m.Where, m.Type)
	default:
		p.off = o.off + m.Off
	}
	return p
}

// computed finds a member by an expression: that of a virtual base class.
func (o *Object) computed(e *info.Expr, t *info.Type) (location, error) {
	addr, ok := o.Address()
	if !ok {
		return location{}, errVirtual
	}
	c := o.scope.context(e, &addr, newTrail())
	var m expr.Machine
	v, err := m.Value(&c, e.Code, addr)
	if err != nil {
		return location{}, reason(err)
	}
	return location{[]expr.Piece{{Kind: expr.Memory, Addr: v}}, o.sizeOf(t)}, nil
}

var errVirtual = errors.New("its location depends on the address of an object that is not in memory")

var errVariant = errors.New("its discriminant has a value that the debug information does not list")

// active returns the variant that the discriminant selects.
func (o *Object) active(vs *info.Variants) (*info.Variant, error) {
	if vs.Discr.Type == nil {
		if len(vs.List) == 1 {
			return &vs.List[0], nil
		}
		return nil, errVariant
	}
	discr := o.member(&vs.Discr)
	v, size, err := discr.integer()
	if err != nil {
		return nil, err
	}
	var otherwise *info.Variant
	for i := range vs.List {
		candidate := &vs.List[i]
		if candidate.Default {
			otherwise = candidate
		}
		for _, value := range candidate.Values {
			if truncate(value, size) == truncate(v, size) {
				return candidate, nil
			}
		}
	}
	if otherwise == nil {
		return nil, errVariant
	}
	return otherwise, nil
}

// target returns the object that a pointer or reference refers to.
func (o *Object) target() (Object, error) {
	addr, _, err := o.integer()
	if err != nil {
		return Object{}, err
	}
	elem := o.Type.Strip().Elem()
	name := "*" + o.Name
	if o.IsReference() {
		name = o.Name
	}
	return Object{Name: name, Type: elem, scope: o.scope, at: location{[]expr.Piece{{Kind: expr.Memory, Addr: addr}}, o.sizeOf(elem)}}, nil
}

// elements returns elements of an array.
func (o *Object) elements(from, count uint64) ([]Object, error) {
	if o.err != nil {
		return nil, o.err
	}
	t := o.Type.Strip()
	n, err := o.count(t)
	if err != nil {
		return nil, err
	}
	elem := t.Elem()
	size := o.sizeOf(elem)
	if size == 0 {
		return nil, errNoSize
	}
	from = min(from, n)
	count = min(count, n-from)
	if n > ^uint64(0)/size {
		return nil, errTooLarge
	}
	var parts []Object
	for i := from; i < from+count; i++ {
		p := *o
		p.Name, p.Type, p.Base = fmt.Sprintf("[%d]", i), elem, false
		p.off = o.off + i*size
		parts = append(parts, p)
	}
	return parts, nil
}

var (
	errNoSize  = errors.New("the size of its elements is unknown")
	errNoCount = errors.New("the number of its elements is unknown")
	errStride  = errors.New("its elements are not next to each other, which is not supported")
)

// count returns how many elements an array has, in its first dimension.
func (o *Object) count(t *info.Type) (uint64, error) {
	b := t.Bound(o.scope.frame.PC - o.scope.frame.Bias)
	if b.Stride {
		return 0, errStride
	}
	if b.Known {
		return b.Count, nil
	}
	var v uint64
	switch {
	case b.Var != nil && b.Var.Type != nil:
		bound := o.scope.object(b.Var, newTrail())
		n, _, err := bound.integer()
		if err != nil {
			return 0, err
		}
		v = n
	case b.Expr.Known():
		n, err := o.scope.bound(&b.Expr)
		if err != nil {
			return 0, reason(err)
		}
		v = n
	default:
		return 0, errNoCount
	}
	if n := v + uint64(b.Less); n <= maxCount {
		return n, nil
	}
	return 0, errNoCount
}

// maxCount bounds the elements that an array on a stack is believed to have.
const maxCount = 1 << 32

// bound computes a number of elements, from a value or from a location.
func (s *Scope) bound(e *info.Expr) (uint64, error) {
	pieces, err := s.locate(e, nil, newTrail())
	if err != nil || len(pieces) != 1 {
		return 0, errors.Join(errNoCount, err)
	}
	switch p := &pieces[0]; p.Kind {
	case expr.Memory:
		return p.Addr, nil // of an exprloc, the value that it leaves on the stack
	case expr.Value:
		return p.Value, nil
	case expr.Unknown:
		return 0, p.Err
	default:
		return 0, errNoCount
	}
}

// maxDepth bounds arrays of arrays whose size is computed.
const maxDepth = 32

// sizeOf returns the size of a type in bytes, 0 if it is unknown.
func (o *Object) sizeOf(t *info.Type) uint64 {
	total := uint64(1)
	for range maxDepth {
		t = t.Strip()
		if t.Kind != info.Array {
			size := t.Size * total
			if t.Size != 0 && size/t.Size != total {
				return 0
			}
			return size
		}
		n, err := o.count(t)
		if err != nil || n != 0 && total > ^uint64(0)/n {
			return 0
		}
		total *= n
		t = t.Elem()
	}
	return 0
}
