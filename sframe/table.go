package sframe

import "github.com/sfcore/sfcore/arch"

// Magic is sfp_magic. Its first byte is 0xe2 in little-endian tables
// [SFrame 2, 2.1.1].
const Magic = 0xdee2

// ABI identifies architecture and byte order, sfh_abi_arch [SFrame 2, 2.2.1].
type ABI uint8

// The ABIs. The numbers that package arch has decide; these are names for them.
const (
	AArch64BE ABI = 1
	AArch64LE ABI = 2
	AMD64LE   ABI = 3
	S390XBE   ABI = 4
)

// Arch returns the architecture, or nil for an unknown ABI.
func (a ABI) Arch() *arch.Arch {
	for known := range arch.All() {
		if a != 0 && a == ABI(known.SFrame.ABI) {
			return known
		}
	}
	return nil
}

// Header is the header of a table, as written [SFrame 3, 2.2].
type Header struct {
	Version Version
	Flags   Flags
	ABI     ABI
	// FixedFP and FixedRA are where the frame pointer and the return address
	// are stored in every frame, in bytes from the CFA; 0 if rows tell.
	FixedFP, FixedRA int8
	// AuxLen is the size of the auxiliary header, which has no defined content.
	AuxLen  uint8
	NumFDEs uint32
	NumFREs uint32
	// FRELen is the size of the FRE sub-section in bytes.
	FRELen uint32
	// FDEOff and FREOff are the offsets of the sub-sections in bytes, from the
	// end of the header and the auxiliary header.
	FDEOff, FREOff uint32
}

// Table is one table of a section. It refers to the section's bytes.
type Table struct {
	Header
	// Off is the offset of the header from the start of the section, in bytes.
	Off int64
	// Addr is the address of the header.
	Addr uint64
	// Arch is the architecture, which includes the byte order.
	Arch *arch.Arch
	// Cut is set when the FRE sub-section continues past the end of the data.
	// Rows that are there can be used.
	Cut bool

	ver                *layout
	fdes               view // the FDE sub-section
	fres               view // the FRE sub-section, as far as it is there
	fdeSize, startSize int
	bias, step         uint64 // the start of function i is bias + i*step + the value in its FDE
	fdesAt, fresAt     int    // offsets of the sub-sections from the start of the section
	end                int    // offset of the table's end from the start of the section
}

// parseTable decodes the header at off, in time that does not depend on the
// table's size.
func parseTable(data []byte, off int, addr uint64, opts *Options) (t Table, err *FormatError) {
	d := view{b: data[off:]}
	if len(d.b) < 4 {
		return t, damage("header-truncated", off, "sfp_magic", "only %d bytes are left", len(d.b))
	}
	switch {
	case d.u16(0) == Magic:
	case d.b[0] == Magic>>8 && d.b[1] == Magic&0xff:
		d.big = true
	default:
		return t, damage("magic-unknown", off, "sfp_magic", "bytes %#x %#x are not %#x in either byte order", d.b[0], d.b[1], Magic)
	}
	t.Off, t.Addr = int64(off), addr+uint64(off)
	v := Version(d.b[2])
	if v < V1 || v > V3 {
		return t, damage("version-unsupported", off+2, "sfp_version", "version %d is not 1, 2 or 3", v)
	}
	if v == V1 && (opts.CTFFrame || looksLikeCTFFrame(d)) {
		v = CTFFrame
	}
	if err := t.readHeader(d, v); err != nil {
		return t, err
	}
	if err := t.checkABI(d.big, opts.Arch); err != nil {
		return t, err
	}
	return t, t.place(d)
}

// readHeader decodes the fields of a header of version v.
func (t *Table) readHeader(d view, v Version) *FormatError {
	t.ver = &layouts[v]
	if len(d.b) < t.ver.headerSize {
		return damage("header-truncated", int(t.Off), t.ver.header.magic, "%d bytes are left, but a header of version %s has %d", len(d.b), v, t.ver.headerSize)
	}
	t.Header = Header{
		Version: v, Flags: Flags(d.b[3]), ABI: ABI(d.b[4]),
		FixedFP: int8(d.b[5]), FixedRA: int8(d.b[6]),
	}
	at := 7
	if t.ver.hasAux {
		t.AuxLen = d.b[at]
		at++
	}
	for i, field := range []*uint32{&t.NumFDEs, &t.NumFREs, &t.FRELen, &t.FDEOff, &t.FREOff} {
		*field = d.u32(at + 4*i)
	}
	return nil
}

// checkABI compares the ABI with the byte order of the data and with the
// architecture of the file that the section is from, if that is known.
func (t *Table) checkABI(big bool, file *arch.Arch) *FormatError {
	at, field := int(t.Off)+4, t.ver.header.abi
	t.Arch = t.ABI.Arch()
	switch {
	case t.Arch == nil || t.Version < Version(t.Arch.SFrame.Since):
		return damage("abi-unknown", at, field, "%d is not an ABI of version %s", t.ABI, t.Version)
	case t.Arch.BigEndian != big:
		return damage("abi-byte-order", at, field, "the byte order of ABI %d is not that of the magic number", t.ABI)
	case file != nil && file != t.Arch:
		return damage("abi-machine", at, field, "%d is %s, but the file is for %s", t.ABI, target(t.Arch), target(file))
	}
	return nil
}

// target names an architecture and its byte order.
func target(a *arch.Arch) string {
	if a.BigEndian {
		return "big-endian " + a.Name
	}
	return "little-endian " + a.Name
}

// place finds the sub-sections in d, which begins with the header.
func (t *Table) place(d view) *FormatError {
	var (
		headerEnd = uint64(t.ver.headerSize) + uint64(t.AuxLen)
		fdesAt    = headerEnd + uint64(t.FDEOff)
		fdesEnd   = fdesAt + uint64(t.NumFDEs)*uint64(t.ver.fdeSize)
		fresAt    = headerEnd + uint64(t.FREOff)
		end       = fresAt + uint64(t.FRELen)
		size      = uint64(len(d.b))
		ints      = int(t.Off) + t.ver.headerSize - 5*4 // the five integers end the header
	)
	switch {
	case headerEnd > size:
		return damage("header-truncated", int(t.Off)+7, t.ver.header.auxLen, "%d bytes do not fit in the %d that are left", t.AuxLen, size-uint64(t.ver.headerSize))
	case fdesAt > size:
		return damage("fdes-out-of-range", ints+12, t.ver.header.fdeOff, "FDEs at %#x begin after the end of the data at %#x", fdesAt, size)
	case fdesEnd > size:
		return damage("fdes-out-of-range", ints, t.ver.header.numFDEs, "%d FDEs of %d bytes at %#x end at %#x, beyond the end of the data at %#x", t.NumFDEs, t.ver.fdeSize, fdesAt, fdesEnd, size)
	case fdesEnd > fresAt:
		return damage("sub-sections-overlap", ints+16, t.ver.header.freOff, "FREs at %#x begin before the end of the FDEs at %#x", fresAt, fdesEnd)
	case fresAt > size:
		return damage("fres-out-of-range", ints+16, t.ver.header.freOff, "FREs at %#x begin after the end of the data at %#x", fresAt, size)
	}
	t.Cut = end > size
	end = min(end, size)
	t.fdes = view{d.b[fdesAt:fdesEnd:fdesEnd], d.big}
	t.fres = view{d.b[fresAt:end:end], d.big}
	off := int(t.Off)
	t.fdesAt, t.fresAt, t.end = off+int(fdesAt), off+int(fresAt), off+int(end)
	t.fdeSize, t.startSize = t.ver.fdeSize, t.ver.startSize
	t.bias = t.Addr
	if t.startsFromField() {
		t.bias += fdesAt
		t.step = uint64(t.ver.fdeSize)
	}
	return nil
}

// start returns the address of function i.
func (t *Table) start(i int) uint64 {
	base, at := t.bias+uint64(i)*t.step, i*t.fdeSize
	if t.startSize == 8 {
		return base + t.fdes.u64(at)
	}
	return base + uint64(int32(t.fdes.u32(at)))
}
