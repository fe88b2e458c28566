package info

// Results of fixedSize that are no sizes.
const (
	sizeAddr     = -1
	sizeOffset   = -2
	sizeVariable = -3
)

// fixedSize returns the number of bytes of a form.
func fixedSize(form uint32) int {
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx1 + 1, formAddrx1 + 1:
		return 2
	case formStrx1 + 2, formAddrx1 + 2:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return sizeAddr
	case formStrp, formSecOffset, formStrpSup, formLineStrp, formGNURefAlt, formGNUStrpAlt:
		return sizeOffset
	}
	return sizeVariable
}

// value is the value of an attribute. num is what the form encodes, not yet
// resolved: an index, an offset, or the number itself. data are the bytes of
// blocks, expressions, strings and 16-byte numbers.
type value struct {
	form uint32
	num  uint64
	data []byte
}

// known reports whether there was such an attribute.
func (v *value) known() bool { return v.form != 0 }

// isRef reports whether the value is another entry.
func (v *value) isRef() bool {
	switch v.form {
	case formRefAddr, formRef1, formRef2, formRef4, formRef8, formRefUdata,
		formRefSup4, formRefSup8, formGNURefAlt, formRefSig8:
		return true
	}
	return false
}

// isAddr reports whether the value is an address.
func (v *value) isAddr() bool {
	return v.form == formAddr || v.form == formAddrx || v.form == formGNUAddrIndex || v.form >= formAddrx1 && v.form <= formAddrx4
}

// value reads an attribute [DWARF 5, 7.5.6]. A form that is not known ends the
// section, since its size is not known either.
func (u *unit) value(r *reader, s attrSpec) value {
	form := s.form
	for form == formIndirect {
		form = uint32(r.uleb())
		if form == formImplicitConst || r.short {
			form, r.short = 0, true
		}
	}
	v := value{form: form}
	switch n := fixedSize(form); {
	case form == formImplicitConst:
		v.num = uint64(s.constant)
	case form == formFlagPresent:
		v.num = 1
	case form == formData16:
		v.data = r.take(16)
	case n > 0:
		v.num = r.uint(uint64(n))
	case n == sizeAddr:
		v.num = r.uint(u.addrSize)
	case n == sizeOffset:
		v.num = r.uint(u.offsetSize)
	default:
		u.variable(r, &v)
	}
	return v
}

// variable reads a form whose size varies.
func (u *unit) variable(r *reader, v *value) {
	switch v.form {
	case formString:
		v.data = r.cstring()
	case formBlock1:
		v.data = r.take(r.uint(1))
	case formBlock2:
		v.data = r.take(r.uint(2))
	case formBlock4:
		v.data = r.take(r.uint(4))
	case formBlock, formExprloc:
		v.data = r.take(r.uleb())
	case formSdata:
		v.num = uint64(r.sleb())
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		v.num = r.uleb()
	case formRefAddr:
		if u.version < 3 {
			v.num = r.uint(u.addrSize)
		} else {
			v.num = r.uint(u.offsetSize)
		}
	default:
		v.form = 0
		r.pos, r.short = uint64(len(r.data)), true
	}
}

// maxString bounds a string that is copied, in bytes: the longest names known,
// of C++ templates, have some thousands.
const maxString = 64 << 10

// str returns a string.
func (u *unit) str(v value) string {
	s := u.text(v)
	return string(s[:min(len(s), maxString)])
}

// text is str without a copy: a table may name one long string many times.
func (u *unit) text(v value) []byte {
	at := func(s section, off uint64) []byte {
		return u.file.text(s, off)
	}
	switch v.form {
	case formString:
		return v.data
	case formStrp:
		return at(secStr, v.num)
	case formLineStrp:
		return at(secLineStr, v.num)
	case formStrpSup, formGNUStrpAlt:
		if alt := u.file.supplement(); alt != nil {
			return alt.text(secStr, v.num)
		}
	case formStrx, formGNUStrIndex, formStrx1, formStrx1 + 1, formStrx1 + 2, formStrx4:
		if off, ok := u.indexed(secStrOffsets, u.strOffsets, v.num, u.offsetSize); ok {
			return at(secStr, off)
		}
	}
	return nil
}

// addr returns an address.
func (u *unit) addr(v value) (uint64, bool) {
	switch {
	case v.form == formAddr:
		return v.num, true
	case v.isAddr():
		return u.addrAt(v.num)
	}
	return 0, false
}

// addrAt returns an entry of .debug_addr, which is in the file with the code.
func (u *unit) addrAt(index uint64) (uint64, bool) {
	if u.skeleton != nil {
		return u.skeleton.addrAt(index)
	}
	return u.indexed(secAddr, u.addrBase, index, u.addrSize)
}

// indexed returns an element of a table of integers.
func (u *unit) indexed(s section, base, index, size uint64) (uint64, bool) {
	data := u.file.data(s)
	if base > uint64(len(data)) || index >= (uint64(len(data))-base)/size {
		return 0, false
	}
	off := base + index*size
	return integer(data[off:off+size], u.file.big), true
}
