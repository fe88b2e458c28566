package info

// Expr is a DWARF expression, with the unit that its operations refer to. It is
// safe for concurrent use. The zero Expr stands for no expression; only its method
// Known may be called.
type Expr struct {
	// Code are its operations, in a section.
	Code []byte
	unit *unit
}

// Known reports whether there is an expression, which may be empty.
func (e *Expr) Known() bool { return e.unit != nil }

// OffsetSize returns the size of references to other entries, 4 or 8 bytes.
func (e *Expr) OffsetSize() int { return int(e.unit.offsetSize) }

// Address returns the link-time address with an index in .debug_addr.
func (e *Expr) Address(index uint64) (uint64, bool) {
	e.unit.file.d.mu.Lock()
	defer e.unit.file.d.mu.Unlock()
	return e.unit.addrAt(index)
}

// Type returns the base type at an offset from the unit's header.
func (e *Expr) Type(off uint64) (*Type, bool) {
	d := e.unit.file.d
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := e.unit.entryAt(e.unit.off + off)
	if !ok || at.tag != tagBaseType {
		return nil, false
	}
	return d.typeOf(at), true
}

// location returns the expression of an attribute at an address, the zero Expr if
// the object has no location there [DWARF 5, 2.6].
func (u *unit) location(v value, addr uint64) Expr {
	switch v.form {
	case formExprloc, formBlock, formBlock1, formBlock2, formBlock4:
		return Expr{Code: v.data, unit: u}
	case formLoclistx, formSecOffset, formData4, formData8:
		if code, ok := u.locationList(v, addr); ok {
			return Expr{Code: code, unit: u}
		}
	}
	return Expr{}
}

// locationList finds the expression for an address in a list. found is false if
// there is none.
func (u *unit) locationList(v value, addr uint64) (code []byte, found bool) {
	switch {
	case u.version >= 5:
		off := v.num
		if v.form == formLoclistx {
			rel, ok := u.indexed(secLoclists, u.loclists, v.num, u.offsetSize)
			if !ok {
				return nil, false
			}
			off = u.loclists + rel
		}
		r := u.file.reader(secLoclists, off)
		return u.newLocations(&r, addr)
	case u.skeleton != nil:
		r := u.file.reader(secLoc, v.num)
		return u.splitLocations(&r, addr)
	}
	r := u.file.reader(secLoc, v.num)
	return u.oldLocations(&r, addr)
}

// oldLocations reads .debug_loc [DWARF 4, 2.6.2].
func (u *unit) oldLocations(r *reader, addr uint64) ([]byte, bool) {
	base := u.base()
	for u.file.d.work.spend(entryWork) {
		lo, hi := r.uint(u.addrSize), r.uint(u.addrSize)
		switch {
		case r.short || lo == 0 && hi == 0:
			return nil, false
		case lo == ^uint64(0) || u.addrSize == 4 && lo == 0xffffffff:
			base = hi
			continue
		}
		code := r.take(r.uint(2))
		if base+lo <= addr && addr < base+hi {
			return code, !r.short
		}
	}
	return nil, false
}

// splitLocations reads .debug_loc.dwo of split DWARF 4 [GNU DebugFission].
func (u *unit) splitLocations(r *reader, addr uint64) ([]byte, bool) {
	base := u.base()
	for u.file.d.work.spend(entryWork) {
		var lo, hi uint64
		switch r.byte() {
		case 1: // base_address_selection
			base, _ = u.addrAt(r.uleb())
			continue
		case 2: // start_end
			lo, _ = u.addrAt(r.uleb())
			hi, _ = u.addrAt(r.uleb())
		case 3: // start_length
			lo, _ = u.addrAt(r.uleb())
			hi = lo + r.uint(4)
		case 4: // offset_pair
			lo, hi = base+r.uint(4), base+r.uint(4)
		default:
			return nil, false
		}
		code := r.take(r.uint(2))
		if r.short {
			return nil, false
		}
		if lo <= addr && addr < hi {
			return code, true
		}
	}
	return nil, false
}

// newLocations reads .debug_loclists [DWARF 5, 7.29].
func (u *unit) newLocations(r *reader, addr uint64) ([]byte, bool) {
	base := u.base()
	var otherwise []byte
	byDefault := false
	for u.file.d.work.spend(entryWork) {
		var lo, hi uint64
		kind := r.byte()
		switch kind {
		case endOfList:
			return otherwise, byDefault && !r.short
		case defaultLocation:
		case viewPair:
			r.skipLEB()
			r.skipLEB()
			continue
		default:
			var bounded bool
			if lo, hi, bounded = u.bounds(r, kind, &base); !bounded {
				if r.short {
					return nil, false
				}
				continue
			}
		}
		code := r.take(r.uleb())
		switch {
		case r.short:
			return nil, false
		case kind == defaultLocation:
			otherwise, byDefault = code, true
		case lo <= addr && addr < hi:
			return code, true
		}
	}
	return nil, false
}
