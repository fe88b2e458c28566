package info

import "cmp"

// Kind is a kind of types.
type Kind uint8

// The kinds.
const (
	Unsupported Kind = iota // of a language that is not supported
	Void
	Base
	Pointer
	Reference       // of C++, &
	RvalueReference // of C++, &&
	MemberPointer   // of C++, to data or a function
	Struct          // or class
	Union
	Enum
	Array
	Function
	Typedef
	Const
	Volatile
	Restrict
	Atomic
	Unspecified // such as decltype(nullptr)
)

var kinds = map[uint32]Kind{
	tagBaseType: Base, tagPointerType: Pointer, tagReferenceType: Reference, tagRvalueReference: RvalueReference,
	tagPtrToMemberType: MemberPointer, tagStructureType: Struct, tagClassType: Struct, tagInterfaceType: Struct,
	tagUnionType: Union, tagEnumerationType: Enum, tagArrayType: Array, tagSubroutineType: Function,
	tagTypedef: Typedef, tagConstType: Const, tagVolatileType: Volatile, tagRestrictType: Restrict,
	tagAtomicType: Atomic, tagUnspecifiedType: Unspecified,
}

// Encodings of base types [DWARF 5, table 7.11].
const (
	Boolean      = 0x02
	ComplexFloat = 0x03
	Float        = 0x04
	Signed       = 0x05
	SignedChar   = 0x06
	Unsigned     = 0x07
	UnsignedChar = 0x08
	UTF          = 0x10
	UCS          = 0x11
	ASCII        = 0x12
)

// Type is a type. Its parts are read when they are needed. A damaged part is left
// out, and the next error of a method of [Data] reports it. It is safe for
// concurrent use.
type Type struct {
	Kind Kind
	// Size is in bytes, 0 if unknown. A typedef, a qualified type (see
	// [Type.Strip]) or an array has no size of its own.
	Size uint64
	// Encoding is the encoding of a base type, otherwise 0.
	Encoding uint8
	// Declared is set for a type that is only declared.
	Declared bool

	d    *Data
	e    entry
	dims []Bound // of an array
	name string
	elem *Type
	// Whether name and elem were looked for.
	named, pointed bool
}

// maxTypes bounds the types that are remembered.
const maxTypes = 1 << 16

type typeKey struct {
	f   *file
	off uint64
}

func (e *entry) key() typeKey { return typeKey{e.u.file, e.off} }

var voidType = &Type{Kind: Void, named: true, pointed: true, name: "void"}

// typeOf returns the type that an entry describes.
func (d *Data) typeOf(e entry) *Type {
	key := e.key()
	if t := d.types[key]; t != nil {
		return t
	}
	if d.types == nil || len(d.types) >= maxTypes {
		d.types = map[typeKey]*Type{}
	}
	for range maxOrigins { // what is in a type unit of its own is only declared here
		full, ok := e.u.refer(e.attr(attrSignature))
		if !ok {
			break
		}
		e = full
	}
	t := &Type{d: d, e: e, Kind: kinds[e.tag]}
	d.types[key] = t
	for name, v := range e.attributes() {
		switch name {
		case attrByteSize:
			t.Size = v.num
		case attrEncoding:
			t.Encoding = uint8(v.num)
		case attrDeclaration:
			t.Declared = true
		}
	}
	switch t.Kind {
	case Pointer, Reference, RvalueReference:
		if t.Size == 0 {
			t.Size = e.u.addrSize
		}
	case Array:
		t.dims = e.dimensions()
	default:
	}
	return t
}

// Elem returns the type that a pointer or reference refers to, an array consists
// of, a function returns, an enumeration is stored as, or a typedef stands for; or
// a qualified type without its qualifier. It returns void if there is none.
func (t *Type) Elem() *Type {
	if t.d == nil {
		return cmp.Or(t.elem, voidType)
	}
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	return t.to()
}

func (t *Type) to() *Type {
	if t.pointed {
		return t.elem
	}
	t.pointed = true
	if len(t.dims) > 1 {
		rest := *t
		rest.dims, rest.pointed, rest.named = t.dims[1:], false, false
		t.elem = &rest
		return t.elem
	}
	t.elem = voidType
	if v := t.e.attr(attrType); v.known() {
		t.elem = &Type{Kind: Unsupported, named: true, pointed: true, name: "(unknown type)"}
		t.elem.elem = voidType
		if e, ok := t.e.u.refer(v); ok {
			t.elem = t.d.typeOf(e)
		}
	}
	return t.elem
}

// maxStrip bounds the qualifiers and typedefs of a type.
const maxStrip = 64

// Strip returns t without typedefs and qualifiers.
func (t *Type) Strip() *Type {
	for range maxStrip {
		switch t.Kind {
		case Typedef, Const, Volatile, Restrict, Atomic:
			t = t.Elem()
		default:
			return t
		}
	}
	return &Type{Kind: Unsupported, named: true, name: "(endless type)"}
}

// isC reports whether the unit is of a language in which structures have names
// of their own kind: "struct node".
func (t *Type) isC() bool {
	return !hasScopes(t.e.u.language)
}

// Bound is the number of elements in one dimension of an array.
type Bound struct {
	// Count is the number if Known is set.
	Count uint64
	Known bool
	// Expr yields Count minus Less, or Var is a variable that holds that: the
	// index in DW_AT_upper_bound is inclusive [DW_AT_count, DW_AT_upper_bound].
	Expr Expr
	Var  *Variable
	Less int64
	// Stride is set if the elements are not next to each other.
	Stride bool

	list value // of locations, which depends on the address
	unit *unit
}

// Bound returns the number of elements of an array in its first dimension, for
// code at a link-time address.
func (t *Type) Bound(addr uint64) Bound {
	if len(t.dims) == 0 {
		return Bound{}
	}
	b := t.dims[0]
	if b.unit == nil {
		return b
	}
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	if e, ok := b.unit.refer(b.list); ok {
		var v Variable
		e.describe(&v, addr)
		b.Var = &v
		return b
	}
	b.Expr = b.unit.location(b.list, addr)
	return b
}

// maxDims bounds the dimensions of an array.
const maxDims = 32

func (e *entry) dimensions() []Bound {
	var dims []Bound
	stride := e.attr(attrByteStride, attrBitStride)
	for c := range e.childEntries() {
		if c.tag != tagSubrangeType && c.tag != tagEnumerationType || len(dims) >= maxDims {
			continue
		}
		b := Bound{Stride: stride.known()}
		for name, v := range c.attributes() {
			switch name {
			case attrCount:
				b.set(c.u, v, 0)
			case attrUpperBound:
				b.set(c.u, v, 1)
			case attrByteStride, attrBitStride:
				b.Stride = true
			}
		}
		dims = append(dims, b)
	}
	return dims
}

// set sets the number of elements to v plus more.
func (b *Bound) set(u *unit, v value, more uint64) {
	switch {
	case v.form == formSecOffset, v.form == formLoclistx: // no compiler is known to write one
	case v.isRef(), v.form == formExprloc, v.form == formBlock, v.form == formBlock1:
		b.list, b.unit, b.Less = v, u, int64(more)
	case v.known():
		b.Count, b.Known = v.num+more, true
		if v.form == formData4 && v.num == 1<<32-1 {
			b.Count = 0 // the last index is -1
		}
	}
}
