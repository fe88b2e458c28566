package info

import (
	"encoding/hex"
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
	contents [numSections][]byte
	loaded   [numSections]bool
	elf      *elfx.File
	suffix   string // of the names of sections: ".dwo" in split files
	big      bool
	d        *Data
	abbrevs  map[uint64]*abbrevs
	// keptAbbrevs is what these tables take, as for maxAbbrevs.
	keptAbbrevs int
	units       map[uint64]*unit // by offset
	offsets     []uint64         // of all units, once listed
	listed      bool
	alt         *file
	altDone     bool
	types       typeUnits
	isTypes     bool // .debug_info stands for .debug_types
}

func newFile(d *Data, f *elfx.File, suffix string) *file {
	return &file{d: d, elf: f, suffix: suffix, big: f.BigEndian, abbrevs: map[uint64]*abbrevs{}, units: map[uint64]*unit{}}
}

// data returns the contents of a section, which are a part of the mapped file
// unless the section is compressed.
func (f *file) data(s section) []byte {
	if f.loaded[s] {
		return f.contents[s]
	}
	f.loaded[s] = true
	if h := f.elf.Section(sectionNames[s] + f.suffix); h != nil {
		data, err := f.elf.SectionData(h)
		if err != nil {
			f.fail(err)
		}
		f.contents[s] = data
	}
	return f.contents[s]
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
		t = &abbrevs{r: f.reader(secAbbrev, off), kept: &f.keptAbbrevs}
		f.abbrevs[off] = t
	}
	return t
}

// maxUnits bounds the units of a file. The largest programs have some hundred
// thousand.
const maxUnits = 1 << 22

// unitOffsets returns where units begin, reading all their lengths.
func (f *file) unitOffsets() []uint64 {
	if f.listed {
		return f.offsets
	}
	f.listed = true
	r := f.reader(secInfo, 0)
	for r.more() && len(f.offsets) < maxUnits && f.d.work.spend(entryWork) {
		off := r.pos
		n, _ := r.length()
		if r.take(n); r.short {
			f.bad(secInfo, off, "unit_length", "the unit does not end within the section")
			break
		}
		f.offsets = append(f.offsets, off)
	}
	return f.offsets
}

// unitHolding returns the unit that an offset may be in, or nil.
func (f *file) unitHolding(off uint64) *unit {
	offsets := f.unitOffsets()
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
