package info

import (
	"fmt"
	"math"
)

// unit is a unit of .debug_info [DWARF 5, 7.5.1].
type unit struct {
	file       *file
	off, end   uint64 // of the header; of the byte after the unit
	first      uint64 // offset of the first entry
	version    uint16
	kind       uint8
	addrSize   uint64
	offsetSize uint64
	id         uint64 // of a skeleton or split unit; the signature of a type unit
	typeOff    uint64 // of the type in a type unit, from its header
	abbrevs    *abbrevs

	// From the unit's entry.
	lowPC      uint64
	compDir    string
	language   uint64
	dwoName    string
	lines      value // DW_AT_stmt_list
	strOffsets uint64
	addrBase   uint64
	rnglists   uint64
	loclists   uint64
	rangesBase uint64

	skeleton      *unit // of a split unit
	splitUnit     *unit // of a skeleton, or the unit itself; nil if not looked for
	functions     []function
	haveFunctions bool
	table         *lineTable
	names         *nameIndex
	outline       outline
}

// maxKept bounds the decoded units that a file keeps, of some 500 bytes each.
const maxKept = 1 << 16

// unit returns the unit whose header is at an offset, or nil.
func (f *file) unit(off uint64) *unit {
	u, ok := f.units[off]
	if !ok {
		if len(f.units) >= maxKept {
			f.forget()
		}
		u = f.parseUnit(off)
		f.units[off] = u
	}
	return u
}

// maxHeader is the size of the largest header of a unit [DWARF 5, 7.5.1].
const maxHeader = 40

func (f *file) parseUnit(off uint64) *unit {
	u := unit{file: f, off: off, kind: unitCompile}
	bad := func(field, format string, args ...any) *unit {
		if f.d.work.err != nil {
			return nil // only the first is told, and there may be millions
		}
		f.bad(secInfo, off, field, fmt.Sprintf(format, args...))
		return nil
	}
	r := reader{data: f.prefix(secInfo, off+min(maxHeader, math.MaxUint64-off)), pos: off, big: f.big}
	var n uint64
	n, u.offsetSize = r.length()
	if r.data = f.prefix(secInfo, r.pos+min(n, math.MaxUint64-r.pos)); r.short || n > uint64(len(r.data))-r.pos {
		return bad("unit_length", "%#x is past the end of the section", n)
	}
	u.end = r.pos + n
	r.data = r.data[:u.end]
	u.version = uint16(r.uint(2))
	var table uint64
	switch {
	case u.version >= 2 && u.version <= 4:
		table, u.addrSize = r.uint(u.offsetSize), r.uint(1)
		if f.isTypes {
			u.kind, u.id, u.typeOff = unitType, r.uint(8), r.uint(u.offsetSize)
		}
	case u.version == 5:
		u.kind = r.byte()
		u.addrSize, table = r.uint(1), r.uint(u.offsetSize)
		switch u.kind {
		case unitSkeleton, unitSplitCompile:
			u.id = r.uint(8)
		case unitType, unitSplitType:
			u.id, u.typeOff = r.uint(8), r.uint(u.offsetSize)
		}
	default:
		return bad("version", "%d is not a version from 2 to 5", u.version)
	}
	switch {
	case r.short:
		return bad("unit header", "the header is cut off")
	case u.addrSize != 8 && u.addrSize != 4:
		return bad("address_size", "%d is neither 4 nor 8", u.addrSize)
	}
	u.first = r.pos
	u.abbrevs = f.abbrevsAt(table)
	good := new(unit)
	*good = u
	good.readEntry()
	return good
}

// readEntry reads what the first entry says about the whole unit.
func (u *unit) readEntry() {
	if u.file.suffix != "" && u.version >= 5 {
		// The tables of a split unit begin after their headers [DWARF 5, 7.3.2.1].
		u.strOffsets, u.rnglists, u.loclists = 2*u.offsetSize, 2*u.offsetSize+4, 2*u.offsetSize+4
	}
	e, ok := u.entryAt(u.first)
	if !ok {
		return
	}
	// Strings and addresses are in tables that later attributes locate.
	var low, dir, dwo value
	for s, v := range e.attributes() {
		switch s {
		case attrLowPC:
			low = v
		case attrCompDir:
			dir = v
		case attrDwoName, attrGNUDwoName:
			dwo = v
		case attrLanguage:
			u.language = v.num
		case attrStmtList:
			u.lines = v
		case attrStrOffsetsBase:
			u.strOffsets = v.num
		case attrAddrBase, attrGNUAddrBase:
			u.addrBase = v.num
		case attrRnglistsBase:
			u.rnglists = v.num
		case attrLoclistsBase:
			u.loclists = v.num
		case attrGNURangesBase:
			u.rangesBase = v.num
		case attrGNUDwoID:
			u.id = v.num
		}
	}
	u.compDir, u.dwoName = u.str(dir), u.str(dwo)
	u.lowPC, _ = u.addr(low)
}
