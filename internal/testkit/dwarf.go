package testkit

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// DWARF builds .debug_info and what it refers to from a text such as
//
//	unit 5
//	compile_unit language=12 low_pc=0x1000 high_pc=0x100
//	  base_type #int name=int byte_size=4 encoding=5
//	  variable name=x type=#int location=9170
//
// A line is an entry, in the one that is indented less. #label names an entry
// and refers to it; a unit's own name is #unit and its number, from 1. The form
// of an attribute is the usual one or given behind a colon: type:ref_addr=#int.
// Blocks are in hex, names with spaces in quotes. [5] before a tag is the code
// of its abbreviation.
//
// "unit" takes the version and, in any order, "64" for 64-bit DWARF,
// "addr4" for addresses of 4 bytes, "kind=N" for a unit type, "id=N" for the
// 8-byte number in its header and "type=#label" for the type in a type unit.
type DWARF struct {
	Order binary.ByteOrder
	Text  string
	// Suffix is that of the names of sections: ".dwo".
	Suffix string
	// Types makes .debug_types of the units, whose version is 4.
	Types bool

	info, abbrevs, strs, lineStrs *Bytes
	unit                          dwarfUnit
	units                         int
	code                          uint64
}

type dwarfUnit struct {
	name       string
	offsetSize int
	addrSize   int
}

// Sections returns the sections.
func (d *DWARF) Sections() []ELFSection {
	d.info, d.abbrevs = New(d.Order), New(d.Order)
	d.strs, d.lineStrs = New(d.Order).Str("at 0"), New(d.Order).Str("at 0")
	var open []int // how far the entries around are indented
	var lines []string
	for _, line := range strings.Split(d.Text, "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	for i, line := range lines {
		words, indent := dwarfWords(line), dwarfIndent(line)
		for len(open) > 0 && (open[len(open)-1] >= indent || words[0] == "unit") {
			d.info.D8(0)
			open = open[:len(open)-1]
		}
		if words[0] == "unit" {
			d.endUnit()
			d.header(words[1:])
			continue
		}
		children := i+1 < len(lines) && dwarfIndent(lines[i+1]) > indent
		d.entry(words, children)
		if children {
			open = append(open, indent)
		}
	}
	for range open {
		d.info.D8(0)
	}
	d.endUnit()
	name := ".debug_info"
	if d.Types {
		name = ".debug_types"
	}
	return []ELFSection{
		{Name: name + d.Suffix, Type: 1, Data: d.info.Done(), Align: 1},
		{Name: ".debug_abbrev" + d.Suffix, Type: 1, Data: d.abbrevs.D8(0).Done(), Align: 1},
		{Name: ".debug_str" + d.Suffix, Type: 1, Data: d.strs.Done(), Align: 1},
		{Name: ".debug_line_str" + d.Suffix, Type: 1, Data: d.lineStrs.Done(), Align: 1},
	}
}

// File returns an ELF file with the sections and more.
func (d *DWARF) File(machine uint16, more ...ELFSection) []byte {
	e := ELF{Order: d.Order, Type: 2, Machine: machine, Sections: append(d.Sections(), more...)}
	return e.File()
}

// dwarfWords splits a line at spaces that are not in quotes.
func dwarfWords(line string) []string {
	quoted := false
	return strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t')
	})
}

func dwarfIndent(line string) int { return len(line) - len(strings.TrimLeft(line, "\t ")) }

func (d *DWARF) endUnit() {
	if d.units > 0 {
		d.info.Mark(d.unit.name + " end")
	}
}

func (d *DWARF) header(words []string) {
	d.units++
	d.unit = dwarfUnit{fmt.Sprintf("#unit%d", d.units), 4, 8}
	b, version, kind, id, typ := d.info, dwarfNumber(words[0]), uint64(1), uint64(0), ""
	for _, w := range words[1:] {
		name, arg, _ := strings.Cut(w, "=")
		switch name {
		case "64":
			d.unit.offsetSize = 8
		case "addr4":
			d.unit.addrSize = 4
		case "kind":
			kind = dwarfNumber(arg)
		case "id":
			id = dwarfNumber(arg)
		case "type":
			typ = arg
		default:
			panic("testkit: unit " + w)
		}
	}
	b.Mark(d.unit.name)
	if d.unit.offsetSize == 8 {
		b.D32(0xffffffff)
	}
	b.Diff(d.unit.offsetSize, d.unit.name+" end", d.unit.name+" begin", 0).Mark(d.unit.name + " begin")
	b.D16(uint16(version))
	if version >= 5 {
		b.D8(uint8(kind), uint8(d.unit.addrSize)).Zero(d.unit.offsetSize)
	} else {
		b.Zero(d.unit.offsetSize).D8(uint8(d.unit.addrSize))
	}
	if version >= 5 && kind != 1 && kind != 3 || d.Types {
		b.D64(id)
	}
	if typ != "" {
		b.Diff(d.unit.offsetSize, typ, d.unit.name, 0)
	}
}

// entry writes an entry and its abbreviation.
func (d *DWARF) entry(words []string, children bool) {
	d.code++
	code := d.code
	if words[0][0] == '[' {
		code = dwarfNumber(strings.Trim(words[0], "[]"))
		words = words[1:]
	}
	tag, ok := dwarfTags[words[0]]
	if !ok {
		panic("testkit: no tag " + words[0])
	}
	d.abbrevs.ULEB(code, tag)
	if children {
		d.abbrevs.D8(1)
	} else {
		d.abbrevs.D8(0)
	}
	attrs := words[1:]
	if len(attrs) > 0 && attrs[0][0] == '#' {
		d.info.Mark(attrs[0])
		attrs = attrs[1:]
	}
	d.info.ULEB(code)
	for _, a := range attrs {
		name, text, _ := strings.Cut(a, "=")
		name, form, _ := strings.Cut(name, ":")
		attr, ok := dwarfAttrs[name]
		if !ok {
			panic("testkit: no attribute " + name)
		}
		if form == "" {
			form = attr.form
		}
		d.abbrevs.ULEB(attr.number, dwarfForm(form))
		d.value(form, strings.Trim(text, `"`))
	}
	d.abbrevs.ULEB(0, 0)
}

func dwarfForm(form string) uint64 {
	form, _, _ = strings.Cut(form, ".")
	n, ok := dwarfForms[form]
	if !ok {
		n = dwarfNumber(form)
	}
	return n
}

// value writes the value of an attribute.
func (d *DWARF) value(form, text string) {
	b := d.info
	raw := func() []byte {
		data, err := hex.DecodeString(text)
		if err != nil {
			panic("testkit: " + err.Error())
		}
		return data
	}
	switch form, inner, _ := strings.Cut(form, "."); form {
	case "string":
		b.Str(text)
	case "strp":
		b.uint(d.unit.offsetSize, uint64(d.strs.Len()))
		d.strs.Str(text)
	case "line_strp":
		b.uint(d.unit.offsetSize, uint64(d.lineStrs.Len()))
		d.lineStrs.Str(text)
	case "flag_present":
	case "implicit_const":
		d.abbrevs.SLEB(int64(dwarfNumber(text)))
	case "indirect":
		b.ULEB(dwarfForm(inner))
		d.value(inner, text)
	case "sdata":
		b.SLEB(int64(dwarfNumber(text)))
	case "exprloc", "block":
		b.ULEB(uint64(len(raw()))).Raw(raw())
	case "block1", "block2", "block4":
		b.uint(int(form[5]-'0'), uint64(len(raw()))).Raw(raw())
	case "data16":
		b.Raw(raw())
	default:
		size, fixed := d.unit.size(form)
		switch {
		case !fixed:
			b.ULEB(dwarfNumber(text))
		case strings.HasPrefix(text, "#") && (form == "ref_addr" || form == "GNU_ref_alt" || strings.HasPrefix(form, "ref_sup")):
			b.Diff(size, text, "", 0)
		case strings.HasPrefix(text, "#"):
			b.Diff(size, text, d.unit.name, 0)
		default:
			b.uint(size, dwarfNumber(text))
		}
	}
}

var dwarfSizes = map[string]int{
	"data1": 1, "flag": 1, "ref1": 1, "strx1": 1, "addrx1": 1, "data2": 2, "ref2": 2, "strx2": 2, "addrx2": 2, "strx3": 3, "addrx3": 3,
	"data4": 4, "ref4": 4, "ref_sup4": 4, "strx4": 4, "addrx4": 4, "data8": 8, "ref8": 8, "ref_sup8": 8, "ref_sig8": 8,
}

// size returns how many bytes an integer of a form has, if that does not vary.
func (u *dwarfUnit) size(form string) (size int, fixed bool) {
	switch form {
	case "addr":
		return u.addrSize, true
	case "sec_offset", "strp_sup", "GNU_ref_alt", "GNU_strp_alt", "ref_addr":
		return u.offsetSize, true
	}
	size, fixed = dwarfSizes[form]
	return size, fixed
}

// uint appends an integer of up to 8 bytes.
func (b *Bytes) uint(size int, v uint64) *Bytes {
	var word [8]byte
	b.Order.PutUint64(word[:], v)
	if b.Order == binary.ByteOrder(binary.BigEndian) {
		return b.Raw(word[8-size:])
	}
	return b.Raw(word[:size])
}

func dwarfNumber(text string) uint64 {
	v, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		u, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			panic("testkit: " + err.Error())
		}
		return u
	}
	return uint64(v)
}
