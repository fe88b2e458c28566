package value

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/dwarf/expr"
	"github.com/sfcore/sfcore/internal/dwarf/info"
)

// Static returns a scope for what does not depend on a function at the frame:
// variables with a fixed place, objects at an address, computed values. Of the frame,
// only Arch and Mem must be set; Data and Bias if variables are read.
func (f *Frame) Static() *Scope { return &Scope{frame: f} }

// Frame returns the frame that the scope reads.
func (s *Scope) Frame() *Frame { return s.frame }

// At returns the object of a type at an address.
func (s *Scope) At(name string, t *info.Type, addr uint64) Object {
	o := Object{Name: name, Type: t, scope: s}
	o.at = location{[]expr.Piece{{Kind: expr.Memory, Addr: addr}}, o.sizeOf(t)}
	return o
}

// Made returns an object that is not in the process: a computed value. data are its
// bytes as they would be in memory.
func (s *Scope) Made(name string, t *info.Type, data []byte) Object {
	return Object{Name: name, Type: t, scope: s, at: location{[]expr.Piece{{Kind: expr.Bytes, Data: data}}, uint64(len(data))}}
}

// MadeWord is Made for an integer of up to 8 bytes.
func (s *Scope) MadeWord(name string, t *info.Type, v uint64) Object {
	return s.Made(name, t, word(v, t.Strip().Size, s.frame.Arch.BigEndian))
}

// Lost returns an object that has no value, and says why.
func (s *Scope) Lost(name string, why error) Object { return Object{Name: name, scope: s, err: why} }

// As returns the same object as one of another type, as a cast of its address would.
func (o *Object) As(t *info.Type) Object {
	as := *o
	as.Type, as.Base, as.bits = t, false, 0
	return as
}

// Scope returns the scope that the object is read in.
func (o *Object) Scope() *Scope { return o.scope }

// Bits returns the size of a bit field, 0 for other objects.
func (o *Object) Bits() uint64 { return o.bits }

// Size returns the size of the object in bytes, 0 if it is unknown.
func (o *Object) Size() uint64 {
	if o.Type == nil {
		return 0
	}
	return o.sizeOf(o.Type)
}

// SizeOf returns the size of a type in bytes, 0 if it is unknown.
func (s *Scope) SizeOf(t *info.Type) uint64 {
	o := Object{scope: s}
	return o.sizeOf(t)
}

// Read returns size bytes of the object from its beginning on, as they are in memory.
// Size is at most 65536.
func (o *Object) Read(size uint64) ([]byte, error) {
	if o.Type == nil {
		return nil, errNoType
	}
	return o.bytes(size)
}

// Number returns an integer, a character, an enumerator, a bool or a pointer of up to 8
// bytes, without its sign.
func (o *Object) Number() (uint64, error) {
	if o.err != nil {
		return 0, o.err
	}
	if o.Type == nil {
		return 0, errNoType
	}
	switch o.Type.Strip().Kind {
	case info.Base, info.Enum, info.Pointer, info.Reference, info.RvalueReference:
		v, _, err := o.integer()
		return v, err
	default:
		return 0, fmt.Errorf("%w: %s is no number", errNotSupported, o.Type)
	}
}

// Err says why nothing is known of the object; nil if something may be known.
func (o *Object) Err() error {
	if o.err != nil {
		return o.err
	}
	return o.nowhere()
}

// Target returns the object that a pointer or a reference refers to.
func (o *Object) Target() (Object, error) {
	if o.Type == nil {
		return Object{}, errNoType
	}
	return o.target()
}

// maxNested bounds the base classes and structures without a name that a member is
// looked for in, one within the other, and maxSought how many in all.
const (
	maxNested = 16
	maxSought = 512
)

// Member returns a member of a structure or union by its name. The member may be in a
// base class, in a structure without a name or, in Rust, the active variant. found is
// false if there is no such member.
func (o *Object) Member(name string) (m Object, found bool, err error) {
	left := maxSought
	return o.sought(name, 0, &left)
}

func (o *Object) sought(name string, depth int, left *int) (m Object, found bool, err error) {
	if *left--; *left < 0 || depth > maxNested || o.Shape() != Members {
		return Object{}, false, nil
	}
	t := o.Type.Strip()
	if t.Declared {
		return Object{}, false, errIncomplete
	}
	members, variants := t.Members()
	for i := range members {
		if members[i].Name == name && !members[i].Base {
			return o.member(&members[i]), true, o.err
		}
	}
	for i := range members {
		if inner := &members[i]; inner.Name == "" || inner.Base {
			part := o.member(inner)
			if m, found, e := part.sought(name, depth+1, left); found {
				return m, true, e
			} else if err == nil {
				err = e
			}
		}
	}
	if variants == nil {
		return Object{}, false, err
	}
	v, e := o.active(variants)
	if v != nil && v.Member.Name == name {
		return o.member(&v.Member), true, nil
	}
	if err == nil {
		err = e
	}
	return Object{}, false, err
}

// Variant returns the active variant of an enum of Rust. found is false if the object
// is none.
func (o *Object) Variant() (m Object, found bool, err error) {
	if o.Shape() != Members {
		return Object{}, false, nil
	}
	_, variants := o.Type.Strip().Members()
	if variants == nil {
		return Object{}, false, nil
	}
	v, err := o.active(variants)
	if v == nil {
		return Object{}, true, err
	}
	return o.member(&v.Member), true, nil
}
