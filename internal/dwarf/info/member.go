package info

import "slices"

// Member is a part of a structure or union.
type Member struct {
	// Name is "" for an anonymous structure.
	Name string
	Type *Type
	// Base is set for a base class.
	Base bool
	// Off is the offset in bytes. If Where is known, it computes the address
	// instead, with the address of the structure on the stack.
	Off   uint64
	Where Expr
	// Bits is the size of a bit field, or 0, and BitOff where it begins, in bits
	// from the start of the structure; in big-endian memory the most significant
	// bit of a byte is the first.
	Bits, BitOff uint64
}

// Variants are members of which only one exists at a time; an integer selects it.
// Rust's enums have them [DWARF 5, 5.7.10].
type Variants struct {
	// Discr is the integer. Its Type is nil if there is only one variant.
	Discr Member
	List  []Variant
}

// Variant is a member that exists if the discriminant has one of certain values.
type Variant struct {
	Member Member
	// Default is set if the variant exists for all values that no other has.
	Default bool
	Values  []uint64
}

// maxMembers bounds the members of a structure and the names of an enumeration.
// Generated ones have some thousands.
const maxMembers = 1 << 14

// memberList are the members of a type.
type memberList struct {
	list     []Member
	variants *Variants
}

// size is how many members are held.
func (l *memberList) size() int {
	if l.variants == nil {
		return len(l.list)
	}
	return len(l.list) + len(l.variants.List)
}

// Members returns the members of a structure or union, base classes included,
// in their order, and its variants if it has any. The caller must not change them.
func (t *Type) Members() (members []Member, variants *Variants) {
	if t.d == nil {
		return nil, nil
	}
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	if l, ok := t.d.members.get(t.e.key()); ok {
		return l.list, l.variants
	}
	defer func() {
		l := memberList{slices.Clip(members), variants}
		t.d.members.put(t.e.key(), l, l.size())
	}()
	for c := range t.e.childEntries() {
		if len(members) >= maxMembers {
			break
		}
		switch c.tag {
		case tagMember, tagInheritance:
			if m, ok := c.member(); ok {
				members = append(members, m)
			}
		case tagVariantPart:
			if variants == nil {
				variants = c.variants()
			}
		}
	}
	return members, variants
}

// member describes a member. A static member is left out.
func (e *entry) member() (m Member, ok bool) {
	m = Member{Base: e.tag == tagInheritance}
	var byteSize, oldOff, bitOff value
	for name, v := range e.attributes() {
		switch name {
		case attrName:
			m.Name = e.u.str(v)
		case attrType:
			if t, ok := e.u.refer(v); ok {
				m.Type = e.u.file.d.typeOf(t)
			}
		case attrMemberLocation:
			switch v.form {
			case formBlock, formBlock1, formBlock2, formBlock4, formExprloc:
				m.Where = Expr{Code: v.data, unit: e.u}
				m.constantOffset()
			default:
				m.Off = v.num
			}
		case attrBitSize:
			m.Bits = v.num
		case attrByteSize:
			byteSize = v
		case attrBitOffset:
			oldOff = v
		case attrDataBitOffset:
			bitOff = v
		case attrExternal, attrDeclaration:
			return m, false
		}
	}
	switch {
	case m.Bits == 0:
	case bitOff.known():
		m.BitOff = bitOff.num
	case oldOff.known(): // counted from the left, in a unit of byteSize bytes [DWARF 3, 5.5.6]
		storage := 8 * byteSize.num
		if storage == 0 && m.Type != nil {
			storage = 8 * m.Type.stripped().Size
		}
		m.BitOff = 8*m.Off + oldOff.num
		if !e.u.file.big {
			m.BitOff = 8*m.Off + storage - oldOff.num - m.Bits
		}
	default:
		m.BitOff = 8 * m.Off
	}
	return m, true
}

const opPlusUconst = 0x23

// constantOffset makes Where, as DWARF 2 has it for all members, a number.
func (m *Member) constantOffset() {
	if r := (reader{data: m.Where.Code}); r.byte() == opPlusUconst {
		if off := r.uleb(); !r.short && !r.more() {
			m.Off, m.Where = off, Expr{}
		}
	}
}

// stripped is [Type.Strip] for where the Data is locked.
func (t *Type) stripped() *Type {
	for range maxStrip {
		switch t.Kind {
		case Typedef, Const, Volatile, Restrict, Atomic:
			t = t.to()
		default:
			return t
		}
	}
	return voidType
}

func (e *entry) variants() *Variants {
	vs := &Variants{}
	discr, _ := e.u.refer(e.attr(attrDiscr))
	for c := range e.childEntries() {
		switch c.tag {
		case tagMember:
			if c.off == discr.off {
				vs.Discr, _ = c.member()
			}
		case tagVariant:
			if len(vs.List) >= maxMembers {
				return vs
			}
			vs.List = append(vs.List, c.variant())
		}
	}
	return vs
}

func (e *entry) variant() Variant {
	v := Variant{Default: true}
	for name, a := range e.attributes() {
		switch name {
		case attrDiscrValue:
			v.Default = false
			v.Values = append(v.Values, a.num)
		case attrDiscrList: // of ranges: no compiler for Linux writes one
			v.Default = false
		}
	}
	for c := range e.childEntries() {
		if c.tag == tagMember {
			v.Member, _ = c.member()
			break
		}
	}
	return v
}

// Enumerator is a name for a value of an enumeration.
type Enumerator struct {
	Name  string
	Value uint64
}

// Enumerators returns the names of an enumeration, up to 16384. The caller must not
// change them.
func (t *Type) Enumerators() []Enumerator {
	if t.d == nil {
		return nil
	}
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	if list, ok := t.d.enumerators.get(t.e.key()); ok {
		return list
	}
	var list []Enumerator
	for c := range t.e.childEntries() {
		if len(list) >= maxMembers {
			break
		}
		if c.tag != tagEnumerator {
			continue
		}
		n := Enumerator{Name: c.u.str(c.attr(attrName))}
		v := c.attr(attrConstValue)
		n.Value = v.num
		if len(v.data) > 0 { // a block, of 16 bytes
			low := v.data[:min(8, len(v.data))]
			if c.u.file.big {
				low = v.data[max(0, len(v.data)-8):]
			}
			n.Value = integer(low, c.u.file.big)
		}
		list = append(list, n)
	}
	list = slices.Clip(list)
	t.d.enumerators.put(t.e.key(), list, len(list))
	return list
}
