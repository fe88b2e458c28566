package info

import (
	"encoding/hex"
	"math"
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
)

// section is one of the sections that are read.
type section int

const (
	secInfo section = iota
	secAbbrev
	secLine
	secStr
	secLineStr
	secStrOffsets
	secAddr
	secRanges
	secRnglists
	secAranges
	secLoc
	secLoclists
	numSections
)

var sectionNames = [numSections]string{
	".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_str_offsets",
	".debug_addr", ".debug_ranges", ".debug_rnglists", ".debug_aranges", ".debug_loc", ".debug_loclists",
}

// file is a set of sections that refer to each other.
type file struct {
	contents [numSections][]byte // as far as they were needed
	whole    [numSections]bool   // contents will not become more
	elf      *elfx.File
	suffix   string // of the names of sections: ".dwo" in split files
	big      bool
	d        *Data
	abbrevs  map[uint64]*abbrevs
	// keptAbbrevs is what these tables take, as for maxAbbrevs.
	keptAbbrevs int
	units       map[uint64]*unit // by offset
	offsets     []uint64         // of the units before next
	next        uint64           // the offset of the first unit that is not listed
	listed      bool             // there is no such unit
	alt         *file
	altDone     bool
	types       typeUnits
	isTypes     bool // .debug_info stands for .debug_types
}

func newFile(d *Data, f *elfx.File, suffix string) *file {
	return &file{d: d, elf: f, suffix: suffix, big: f.BigEndian, abbrevs: map[uint64]*abbrevs{}, units: map[uint64]*unit{}}
}

// ahead is how many bytes more than those that are asked for are inflated at once.
const ahead = 16 << 10

// prefix returns at least the first n bytes of a section, or all if there are fewer. It
// never returns less than before.
// They are a part of the mapped file unless the section is compressed.
func (f *file) prefix(s section, n uint64) []byte {
	if n <= uint64(len(f.contents[s])) || f.whole[s] {
		return f.contents[s]
	}
	h := f.elf.Section(sectionNames[s] + f.suffix)
	if h == nil {
		f.whole[s] = true
		return nil
	}
	data, err := f.elf.SectionPrefix(h, n+min(ahead, math.MaxUint64-n))
	if err != nil {
		f.fail(err)
	}
	if len(data) < len(f.contents[s]) { // more would take more than the limit
		data = f.contents[s]
	}
	if h.Flags&elfx.SectCompressed != 0 {
		f.d.packed += len(data) - len(f.contents[s])
	}
	f.contents[s], f.whole[s] = data, err != nil || uint64(len(data)) < n
	return data
}

// data returns the contents of a section.
func (f *file) data(s section) []byte { return f.prefix(s, math.MaxUint64) }

// beginning is how many bytes of a string are inflated at first. Few are longer.
const beginning = 1 << 10

// text returns the string at an offset of a section.
func (f *file) text(s section, off uint64) []byte {
	for n := uint64(beginning); ; n *= 8 {
		r := reader{data: f.prefix(s, off+min(n, math.MaxUint64-off)), pos: off}
		if text := r.cstring(); !r.short || f.whole[s] {
			return text
		}
	}
}

// reader returns a reader of a section from an offset on.
func (f *file) reader(s section, off uint64) reader {
	return reader{data: f.data(s), pos: off, big: f.big}
}

func (f *file) bad(s section, off uint64, field, msg string) {
	f.fail(&FormatError{Section: sectionNames[s] + f.suffix, Off: off, Field: field, Msg: msg})
}

func (f *file) fail(err error) { f.d.work.fail(f.elf.Named(err)) }

// forget drops the units that were decoded, and their tables.
func (f *file) forget() {
	clear(f.units)
	clear(f.abbrevs)
	f.keptAbbrevs = 0
}

// abbrevsAt returns the table of abbreviations at an offset.
func (f *file) abbrevsAt(off uint64) *abbrevs {
	t := f.abbrevs[off]
	if t == nil {
		if f.keptAbbrevs > maxAbbrevs {
			f.forget()
		}
		t = &abbrevs{file: f, r: reader{data: f.prefix(secAbbrev, off+min(usualTable, math.MaxUint64-off)), pos: off, big: f.big}}
		f.abbrevs[off] = t
	}
	return t
}

// maxUnits bounds the units of a file. The largest programs have some hundred
// thousand.
const maxUnits = 1 << 22

// unitOffsets returns where units begin, reading all their lengths.
func (f *file) unitOffsets() []uint64 { return f.unitsTo(math.MaxUint64) }

// maxLength is the size of the largest initial length.
const maxLength = 12

// unitsTo returns where units begin, at least up to the unit that holds an offset.
func (f *file) unitsTo(off uint64) []uint64 {
	for !f.listed && f.next <= off {
		r := reader{data: f.prefix(secInfo, f.next+maxLength), pos: f.next, big: f.big}
		if !r.more() || len(f.offsets) >= maxUnits || !f.d.work.spend(listWork) {
			f.listed = true
			break
		}
		n, _ := r.length()
		r.data = f.prefix(secInfo, r.pos+n)
		if r.take(n); r.short {
			f.bad(secInfo, f.next, "unit_length", "the unit does not end within the section")
			f.listed = true
			break
		}
		f.offsets, f.next = append(f.offsets, f.next), r.pos
	}
	return f.offsets
}

// unitHolding returns the unit that an offset may be in, or nil.
func (f *file) unitHolding(off uint64) *unit {
	offsets := f.unitsTo(off)
	i, found := slices.BinarySearch(offsets, off)
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return f.unit(offsets[i])
}

// supplement returns the supplementary file, or nil [DWARF 5, 7.3.6; dwz(1)].
func (f *file) supplement() *file {
	if f.altDone {
		return f.alt
	}
	f.altDone = true
	h := f.elf.Section(".gnu_debugaltlink")
	if h == nil {
		return nil
	}
	data, _ := f.elf.SectionData(h)
	r := reader{data: data}
	name := string(r.cstring())
	id := hex.EncodeToString(data[min(r.pos, uint64(len(data))):])
	if f.d.opts.Supplement != nil {
		if alt := f.d.opts.Supplement(name, id); alt != nil && alt.BigEndian == f.big {
			f.alt = newFile(f.d, alt, "")
			f.alt.altDone = true // one does not have another
			return f.alt
		}
	}
	f.fail(errNoSupplement)
	return nil
}
