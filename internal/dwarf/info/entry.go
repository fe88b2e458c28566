package info

import "iter"

// entry is a debugging information entry [DWARF 5, 2.1].
type entry struct {
	u     *unit
	off   uint64 // in .debug_info
	attrs uint64 // where its attributes begin
	*abbrev
}

// entries reads the entries of a unit one after the other.
func (u *unit) entries(off uint64) reader {
	data := u.file.contents[secInfo]
	return reader{data: data[:min(u.end, uint64(len(data)))], pos: off, big: u.file.big}
}

// next reads the code of the next entry. It returns a nil abbrev at the end of
// a list of siblings; ok is false at the end of the unit or where it is
// damaged.
func (u *unit) next(r *reader) (e entry, ok bool) {
	e = entry{u: u, off: r.pos}
	if !r.more() || !u.file.d.work.spend(entryWork) {
		return e, false
	}
	code := r.uleb()
	e.attrs = r.pos
	if code == 0 || r.short {
		return e, !r.short
	}
	if e.abbrev = u.abbrevs.find(code, &u.file.d.work); e.abbrev == nil {
		u.file.bad(secInfo, e.off, "abbreviation code", "the code is not in the unit's table of abbreviations")
		return e, false
	}
	return e, true
}

// entryAt returns the entry at an offset of the unit.
func (u *unit) entryAt(off uint64) (entry, bool) {
	if off < u.first || off >= u.end {
		return entry{}, false
	}
	r := u.entries(off)
	e, ok := u.next(&r)
	return e, ok && e.abbrev != nil
}

// attributes yields the attributes as they are written.
func (e *entry) attributes() iter.Seq2[uint32, value] {
	return func(yield func(uint32, value) bool) {
		if n := len(e.abbrev.attrs); n > maxUsual && !e.u.file.d.work.spend(n) {
			return
		}
		r := e.u.entries(e.attrs)
		for _, s := range e.abbrev.attrs {
			v := e.u.value(&r, s)
			if r.short || !yield(s.name, v) {
				return
			}
		}
	}
}

// attr returns the first attribute with one of the names.
func (e *entry) attr(names ...uint32) value {
	for name, v := range e.attributes() {
		for _, n := range names {
			if name == n {
				return v
			}
		}
	}
	return value{}
}

// skip passes over the attributes of e, where r must be. It returns where the
// next sibling is, or 0 if the entry does not say.
func (e *entry) skip(r *reader) (sibling uint64) {
	if !e.sibling && e.size >= 0 {
		r.take(uint64(e.size) + uint64(e.addrs)*e.u.addrSize + uint64(e.offsets)*e.u.offsetSize)
		return 0
	}
	for _, s := range e.abbrev.attrs {
		if v := e.u.value(r, s); s.name == attrSibling && v.isRef() {
			sibling = e.u.off + v.num
		}
	}
	e.u.file.d.work.spend(len(e.abbrev.attrs))
	return sibling
}

// skipTree passes over e, at whose attributes r must be, and all below it.
func (e *entry) skipTree(r *reader) {
	sibling := e.skip(r)
	if !e.children {
		return
	}
	if sibling > r.pos {
		r.pos = sibling // past the end of the unit, it ends there
		return
	}
	for depth := 1; depth > 0; {
		child, ok := e.u.next(r)
		if !ok {
			return
		}
		if child.abbrev == nil {
			depth--
			continue
		}
		sibling := child.skip(r)
		switch {
		case !child.children:
		case sibling > r.pos:
			r.pos = sibling
		default:
			depth++
		}
	}
}

// refer returns the entry that an attribute refers to.
func (u *unit) refer(v value) (entry, bool) {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		return u.entryAt(u.off + v.num)
	case formRefAddr:
		return u.file.entryAt(v.num)
	case formRefSig8:
		return u.file.typeWithSignature(v.num)
	case formGNURefAlt, formRefSup4, formRefSup8:
		if alt := u.file.supplement(); alt != nil {
			return alt.entryAt(v.num)
		}
	}
	return entry{}, false
}

func (f *file) entryAt(off uint64) (entry, bool) {
	if u := f.unitHolding(off); u != nil {
		return u.entryAt(off)
	}
	return entry{}, false
}

// childEntries yields the entries right below e.
func (e *entry) childEntries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		r := e.u.entries(e.attrs)
		e.skip(&r)
		if !e.children {
			return
		}
		for {
			c, ok := e.u.next(&r)
			if !ok || c.abbrev == nil || !yield(c) {
				return
			}
			c.skipTree(&r)
		}
	}
}
