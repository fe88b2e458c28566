package sframe

// Where producers bend the rules, or the rules leave a choice. Each function
// says who does what and how that was found out.

// startsFromField reports whether function starts are written relative to the
// field they are in; otherwise they are relative to the table's header.
//
// V2 errata 1 and V3 say it by a flag. Tables of V1 and V2 without the flag
// are section-relative by the texts, and those merged by GNU ld up to 2.44 are.
// But the assembler's relocations are relative to the field, so tables that
// were never merged are field-relative: those of relocated objects, of lld,
// and of GNU ld where it concatenates a version it does not know. What tells
// them apart in the output of all linkers tried is that merging sorts.
func (t *Table) startsFromField() bool {
	if t.Flags&t.ver.flags&FuncStartPCRel != 0 {
		return true
	}
	return t.Version < V3 && t.Flags&FDESorted == 0
}

// maskBlock returns the size of the repeated block of a PCMASK function.
//
// V1 and CTF Frame store none. The only producer is GNU ld 2.40, for the PLT
// of x86-64, whose entries have 16 bytes.
func (f *Func) maskBlock() uint8 {
	if f.table.ver.repSize == 0 {
		return ctfMaskBlock
	}
	return f.RepSize
}

const ctfMaskBlock = 16

// looksLikeCTFFrame tells a CTF Frame header from one of V1, which has the
// same magic number and version but one byte more, sfh_auxhdr_len, before the
// five integers. Producers of both put the FDEs right after the header and the
// FREs right after the FDEs, which makes the integers add up in one way only,
// unless they are multiples of 256. Shifted by a byte, such integers are 256
// times too small, or too large for all but a long row of tables; in the latter
// case the FRE type of the first function is wrong too, as it is the high byte
// of a count.
func looksLikeCTFFrame(d view) bool {
	ctf, v1 := sumSize(d, CTFFrame), sumSize(d, V1)
	if ctf == 0 || v1 == 0 {
		return ctf != 0
	}
	const infoAt = 27 + 16
	return ctf > v1 && len(d.b) > infoAt && d.b[infoAt]&infoFREType != 0
}

// sumSize returns the size of a table if its header, taken as one of version
// v, describes sub-sections that follow it and one another, within the data;
// otherwise 0.
func sumSize(d view, v Version) uint64 {
	l := &layouts[v]
	if len(d.b) < l.headerSize {
		return 0
	}
	at := l.headerSize - 5*4
	fdes, freLen, fdeOff, freOff := uint64(d.u32(at)), uint64(d.u32(at+8)), d.u32(at+12), uint64(d.u32(at+16))
	size := uint64(l.headerSize) + freOff + freLen
	if fdeOff != 0 || freOff != fdes*uint64(l.fdeSize) || size > uint64(len(d.b)) {
		return 0
	}
	return size
}
