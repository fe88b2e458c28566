package info

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// ranges says which unit an address belongs to. It is filled from
// .debug_aranges, and only if that does not know an address, from the entries
// of the units that are not in it: some compilers write no .debug_aranges.
type ranges struct {
	list    []unitRange // by lo
	listed  map[uint64]bool
	opened  bool
	entries bool // the units' entries were read too
}

type unitRange struct{ lo, hi, unit uint64 }

// maxRanges bounds the ranges of all units and functions that are kept. The largest
// programs have some millions.
const maxRanges = 3 << 21

var errRanges = fmt.Errorf("debug information: units and functions have more than %d ranges of code; the rest is ignored", maxRanges)

// keep counts a range and reports whether it may be kept.
func (d *Data) keep() bool {
	if d.kept >= maxRanges {
		d.work.fail(errRanges)
		return false
	}
	d.kept++
	return true
}

// unitAt returns the unit that holds the code at an address, or nil.
func (d *Data) unitAt(addr uint64) *unit {
	g := &d.ranges
	if !g.opened {
		g.opened, g.listed = true, map[uint64]bool{}
		d.readAranges()
	}
	u := g.find(addr)
	if u == nil && !g.entries {
		g.entries = true
		d.readUnitRanges()
		u = g.find(addr)
	}
	if u == nil {
		return nil
	}
	return d.main.unit(u.unit)
}

func (g *ranges) find(addr uint64) *unitRange {
	i, found := slices.BinarySearchFunc(g.list, addr, func(r unitRange, a uint64) int { return cmp.Compare(r.lo, a) })
	if !found {
		i--
	}
	// Code that the linker discarded may overlap code that it kept.
	for n := 0; i >= 0 && n < maxOverlaps; i, n = i-1, n+1 {
		if addr < g.list[i].hi {
			return &g.list[i]
		}
	}
	return nil
}

// maxOverlaps bounds how many ranges that begin between that of an address and
// the address are passed over.
const maxOverlaps = 64

// addRange adds a range of a unit, and reports whether there may be more.
func (d *Data) addRange(lo, hi, unit uint64) bool {
	if lo == 0 || lo >= hi { // 0 is where linkers put what they discard
		return true
	}
	if !d.keep() {
		return false
	}
	d.ranges.list = append(d.ranges.list, unitRange{lo, hi, unit})
	return true
}

func (g *ranges) sort() {
	slices.SortFunc(g.list, func(a, b unitRange) int { return cmp.Compare(a.lo, b.lo) })
}

// readAranges reads .debug_aranges [DWARF 5, 6.1.2].
func (d *Data) readAranges() {
	section := d.main.reader(secAranges, 0)
	for section.more() && d.work.spend(unitWork) {
		off := section.pos
		n, offsetSize := section.length()
		begin := section.pos
		body := section.take(n)
		if section.short {
			d.main.bad(secAranges, off, "unit_length", "the set does not end within the section")
			break
		}
		r := reader{data: section.data[:begin+uint64(len(body))], pos: begin, big: d.main.big}
		version, unit, addrSize, segment := r.uint(2), r.uint(offsetSize), r.uint(1), r.uint(1)
		if version != 2 || segment != 0 || addrSize != 4 && addrSize != 8 {
			continue
		}
		r.take((2*addrSize - (r.pos-off)%(2*addrSize)) % (2 * addrSize))
		some := false
		for !r.short && d.work.spend(rangeWork) {
			lo, size := r.uint(addrSize), r.uint(addrSize)
			if r.short || lo == 0 && size == 0 {
				break
			}
			some = true
			if !d.addRange(lo, lo+size, unit) {
				break
			}
		}
		if some {
			d.ranges.listed[unit] = true
		}
	}
	d.ranges.sort()
}

// readUnitRanges reads the addresses of the units that .debug_aranges does not
// list.
func (d *Data) readUnitRanges() {
	for _, off := range d.main.unitOffsets() {
		if d.ranges.listed[off] {
			continue
		}
		if !d.work.spend(unitWork) {
			break
		}
		u := d.main.parseUnit(off)
		if u == nil || u.kind == unitPartial || u.kind == unitType {
			continue
		}
		e, ok := u.entryAt(u.first)
		if !ok {
			continue
		}
		for lo, hi := range e.ranges() {
			if !d.addRange(lo, hi, off) {
				d.ranges.sort()
				return
			}
		}
	}
	d.ranges.sort()
}

// ranges yields the addresses of an entry, each as [lo, hi) [DWARF 5, 2.17].
func (e *entry) ranges() iter.Seq2[uint64, uint64] {
	return func(yield func(lo, hi uint64) bool) {
		var low, high, list value
		for name, v := range e.attributes() {
			switch name {
			case attrLowPC:
				low = v
			case attrHighPC:
				high = v
			case attrRanges:
				list = v
			}
		}
		switch {
		case list.known():
			e.u.rangeList(list, yield)
		case low.known() && high.known():
			lo, ok := e.u.addr(low)
			if !ok {
				return
			}
			hi, isAddr := e.u.addr(high)
			if !isAddr {
				hi = lo + high.num
			}
			if lo < hi {
				yield(lo, hi)
			}
		}
	}
}

// contains reports whether addr is code of e, and whether e has code at all.
func (e *entry) contains(addr uint64) (inside, hasCode bool) {
	for lo, hi := range e.ranges() {
		hasCode = true
		if addr >= lo && addr < hi {
			return true, true
		}
	}
	return false, hasCode
}

func (u *unit) rangeList(v value, yield func(lo, hi uint64) bool) {
	if u.version < 5 {
		u.oldRangeList(v.num, yield)
		return
	}
	off := v.num
	if v.form == formRnglistx {
		rel, ok := u.indexed(secRnglists, u.rnglists, v.num, u.offsetSize)
		if !ok {
			return
		}
		off = u.rnglists + rel
	}
	r := u.file.reader(secRnglists, off)
	u.listRanges(&r, yield)
}

// oldRangeList reads .debug_ranges [DWARF 4, 2.17.3].
func (u *unit) oldRangeList(off uint64, yield func(lo, hi uint64) bool) {
	f, base := u.file, u.lowPC
	if u.skeleton != nil { // a split unit has no .debug_ranges of its own
		f, base, off = u.skeleton.file, u.skeleton.lowPC, off+u.skeleton.rangesBase
	}
	r := f.reader(secRanges, off)
	for f.d.work.spend(rangeWork) {
		lo, hi := r.uint(u.addrSize), r.uint(u.addrSize)
		switch {
		case r.short || lo == 0 && hi == 0:
			return
		case lo == ^uint64(0) || u.addrSize == 4 && lo == 0xffffffff:
			base = hi
		case lo < hi && !yield(base+lo, base+hi):
			return
		}
	}
}

// base returns the address that lists begin with.
func (u *unit) base() uint64 {
	if u.skeleton != nil {
		return u.skeleton.lowPC
	}
	return u.lowPC
}

// listRanges yields a range list of DWARF 5 [DWARF 5, 7.25].
func (u *unit) listRanges(r *reader, yield func(lo, hi uint64) bool) {
	base := u.base()
	for u.file.d.work.spend(rangeWork) {
		kind := r.byte()
		if kind == endOfList {
			return
		}
		if kind >= defaultLocation {
			kind++
		}
		lo, hi, bounded := u.bounds(r, kind, &base)
		if r.short || bounded && lo < hi && !yield(lo, hi) {
			return
		}
	}
}

// Kinds of the entries of location lists [DWARF 5, 7.29]. Range lists have the
// same, but for defaultLocation and viewPair, numbered without gaps.
const (
	endOfList = iota
	baseAddressx
	startxEndx
	startxLength
	offsetPair
	defaultLocation
	baseAddress
	startEnd
	startLength
	viewPair // GNU's, for location lists
)

// bounds reads the addresses that an entry of a list is for. There are none if the
// entry sets base instead. If its kind is unknown, r becomes short.
func (u *unit) bounds(r *reader, kind byte, base *uint64) (lo, hi uint64, bounded bool) {
	switch kind {
	case baseAddressx:
		*base, _ = u.addrAt(r.uleb())
		return 0, 0, false
	case startxEndx:
		lo, _ = u.addrAt(r.uleb())
		hi, _ = u.addrAt(r.uleb())
	case startxLength:
		lo, _ = u.addrAt(r.uleb())
		hi = lo + r.uleb()
	case offsetPair:
		lo = *base + r.uleb()
		hi = *base + r.uleb()
	case baseAddress:
		*base = r.uint(u.addrSize)
		return 0, 0, false
	case startEnd:
		lo, hi = r.uint(u.addrSize), r.uint(u.addrSize)
	case startLength:
		lo = r.uint(u.addrSize)
		hi = lo + r.uleb()
	default:
		r.short = true
		return 0, 0, false
	}
	return lo, hi, true
}
