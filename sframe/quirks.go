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
// five integers. Read a byte off, they are 256 times too small or too large, so
// that both readings make sense in few tables only. The reading with the better
// fit decides. If both fit equally, the one with more bytes does, as the other
// then has only multiples of 256 that were divided.
func looksLikeCTFFrame(d view) bool {
	ctf, ctfSize := fitOf(d, CTFFrame)
	v1, v1Size := fitOf(d, V1)
	return ctf > v1 || ctf == v1 && ctfSize > v1Size
}

// fit says how well the bytes of a table agree with the layout of a version.
type fit int

const (
	noFit   fit = iota
	damaged     // the sub-sections are within the data, but what they hold contradicts the header
	gaps        // a table whose sub-sections do not follow one another, or whose end is missing
	compact     // a table as producers write it
)

// fitOf returns how well d agrees with version v, and the size that the table then
// has in bytes, 0 if it does not fit.
func fitOf(d view, v Version) (fit, uint64) {
	var t Table
	if t.readHeader(d, v) != nil || t.place(d) != nil {
		return noFit, 0
	}
	switch size := uint64(t.end); {
	case !t.plausible():
		return damaged, size
	case t.Cut, t.FDEOff != 0, uint64(t.FREOff) != uint64(len(t.fdes.b)):
		return gaps, size
	default:
		return compact, size
	}
}

// plausible reports whether the counts of the header agree with one another and with
// the first and the last function.
func (t *Table) plausible() bool {
	const smallestRow = 2 // bytes: a start and an info byte
	if uint64(t.NumFREs)*smallestRow > uint64(t.FRELen) {
		return false
	}
	if t.NumFDEs == 0 {
		return t.FRELen == 0 && t.FREOff == t.FDEOff
	}
	for _, i := range [...]int{0, int(t.NumFDEs) - 1} {
		var f Func
		if t.fn(i, &f) != nil || f.NumFREs > t.NumFREs || uint64(f.DataOff)+uint64(f.NumFREs)*smallestRow > uint64(t.FRELen) {
			return false
		}
	}
	return true
}
