package sframe

// Func is one function descriptor entry. All fields except Start are as written. It
// refers to the section's bytes.
type Func struct {
	// Off is the offset of the FDE in the section, in bytes.
	Off int64
	// Start is the address of the function's first instruction.
	Start uint64
	// Size is in bytes.
	Size uint32
	// DataOff is the offset of the function's data in the FRE sub-section, in
	// bytes.
	DataOff uint32
	// NumFREs is the number of rows; 16 bits in V3.
	NumFREs uint32
	// Info and Info2 are the info bytes; Info2 is 0 before V3.
	Info, Info2 uint8
	// RepSize is the size of the repeated block of a PCMASK function in bytes;
	// 0 before V2.
	RepSize uint8

	table *Table
	attr  int // offset of NumFREs and Info from the start of the section
	rows  int // offset of the first row in the FRE sub-section
}

// Bits of the info bytes [SFrame 3, 2.3].
const (
	infoFREType  = 0x0f
	infoPCMask   = 0x10
	infoPAuthKey = 0x20
	infoSignal   = 0x80

	info2FDEType = 0x1f
	fdeDefault   = 0
	fdeFlex      = 1
)

// Table returns the table that the function is in.
func (f *Func) Table() *Table { return f.table }

// PCMask reports whether the rows describe a block of instructions that is
// repeated throughout the function, like a PLT (FDE type PCMASK).
func (f *Func) PCMask() bool { return f.Info&infoPCMask != 0 }

// Block returns the size of the block that a PCMASK function repeats, in
// bytes: RepSize or, if the version has no such field, 16. It is 0 if the function
// is not PCMASK, or damaged.
func (f *Func) Block() uint32 {
	if !f.PCMask() {
		return 0
	}
	return uint32(f.maskBlock())
}

// KeyB reports whether return addresses are signed with key B of AArch64
// pointer authentication, not A (pauth_key).
func (f *Func) KeyB() bool { return f.Info&^f.table.ver.infoUnused&infoPAuthKey != 0 }

// Signal reports whether the function is a signal trampoline (signal_p, V3).
func (f *Func) Signal() bool { return f.Info&^f.table.ver.infoUnused&infoSignal != 0 }

// Flexible reports whether rows name registers and dereference
// (SFRAME_FDE_TYPE_FLEX, V3).
func (f *Func) Flexible() bool { return f.Info2&info2FDEType == fdeFlex }

// startWidth returns the size of a row's start offset in bytes; 0 if the FRE
// type is not defined.
func (f *Func) startWidth() int {
	switch f.Info&infoFREType - f.table.ver.firstFREType {
	case 0:
		return 1
	case 1:
		return 2
	case 2:
		return 4
	}
	return 0
}

// size returns the size of function i in bytes.
func (t *Table) size(i int) uint32 { return t.fdes.u32(i*t.fdeSize + t.startSize) }

// fn decodes FDE i, which must exist, into f. An error means that the rows
// cannot be found; the fields of the FDE itself are filled in nevertheless.
func (t *Table) fn(i int, f *Func) *FormatError {
	t.span(i, f)
	return f.attributes()
}

// span decodes what every version has in the FDE.
func (t *Table) span(i int, f *Func) {
	at := i * t.fdeSize
	f.table = t
	f.Off = int64(t.fdesAt + at)
	f.Start = t.start(i)
	at += t.startSize
	f.Size = t.fdes.u32(at)
	f.DataOff = t.fdes.u32(at + 4)
}

// attributes decodes the other fields, which are next in the FDE, or in a
// record before the rows.
func (f *Func) attributes() *FormatError {
	t := f.table
	at := int(f.Off) - t.fdesAt + t.startSize + 8
	f.rows = int(f.DataOff)
	if uint64(f.DataOff)+uint64(t.ver.attrSize) > uint64(len(t.fres.b)) {
		return damage("fre-off-out-of-range", t.fdesAt+at-4, t.ver.fde.dataOff, "%#x is outside of the %#x bytes of FREs", f.DataOff, len(t.fres.b))
	}
	d := &t.fdes
	f.attr = t.fdesAt + at
	if t.ver.attrSize != 0 {
		d, at = &t.fres, f.rows
		f.attr = t.fresAt + at
		f.rows += t.ver.attrSize
		f.NumFREs = uint32(d.u16(at))
		at += 2
	} else {
		f.NumFREs = d.u32(at)
		at += 4
	}
	f.Info = d.b[at]
	if t.ver.info2 != 0 {
		f.Info2 = d.b[at+t.ver.info2]
	}
	if t.ver.repSize != 0 {
		f.RepSize = d.b[at+t.ver.repSize]
	}
	return f.check()
}

// check says whether the rows of a function can be read.
func (f *Func) check() *FormatError {
	n := &f.table.ver.fde
	switch {
	case f.startWidth() == 0:
		return damage("fre-type-unknown", f.infoAt(), n.info, "%d is not an FRE type of version %s", f.Info&infoFREType, f.table.Version)
	case f.Info2&info2FDEType > fdeFlex:
		return damage("fde-type-unknown", f.infoAt()+f.table.ver.info2, n.info2, "%d is not an FDE type", f.Info2&info2FDEType)
	case f.PCMask() && f.maskBlock() == 0:
		return damage("rep-size-zero", f.infoAt()+f.table.ver.repSize, n.repSize, "a PCMASK function has blocks of 0 bytes")
	}
	return nil
}

// infoAt returns the offset of the info byte from the start of the section.
func (f *Func) infoAt() int {
	if f.table.ver.attrSize != 0 {
		return f.attr + 2
	}
	return f.attr + 4
}
