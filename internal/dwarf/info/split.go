package info

import "errors"

// splitFiles are the files of split units that were opened.
type splitFiles struct {
	files   map[string][]*file // by name and directory
	pkg     *file
	pkgOpen bool
	index   *packageIndex // of pkg, once it was read
}

var errNoSplit = errors.New("a file of split debug information (.dwo or .dwp) was not found: inlined functions are missing")

// split returns the unit that describes the code of u: u itself or, for a
// skeleton, the split unit with its id; u if that is not found
// [DWARF 5, 7.3.2; GNU DebugFission].
func (u *unit) split() *unit {
	if u.dwoName == "" || u.skeleton != nil {
		return u
	}
	if u.splitUnit == nil {
		if u.splitUnit = u.findSplit(); u.splitUnit == nil {
			u.splitUnit = u
			u.file.fail(errNoSplit)
		}
	}
	return u.splitUnit
}

func (u *unit) findSplit() *unit {
	d := u.file.d
	if f := d.packageOf(u); f != nil {
		if s := u.splitIn(f); s != nil {
			return s
		}
	}
	for _, f := range d.splitFilesOf(u) {
		if s := u.splitIn(f); s != nil {
			return s
		}
	}
	return nil
}

// splitFilesOf returns the files that may be the .dwo of a skeleton.
func (d *Data) splitFilesOf(u *unit) []*file {
	key := u.compDir + "\x00" + u.dwoName
	files, ok := d.split.files[key]
	if ok || d.opts.Split == nil {
		return files
	}
	for f := range d.opts.Split(u.dwoName, u.compDir) {
		if f.BigEndian == d.main.big {
			files = append(files, newFile(d, f, ".dwo"))
		}
	}
	if d.split.files == nil {
		d.split.files = map[string][]*file{}
	}
	d.split.files[key] = files
	return files
}

// splitIn returns the split unit of a skeleton in a file.
func (u *unit) splitIn(f *file) *unit {
	for _, off := range f.unitOffsets() {
		s := f.unit(off)
		if s == nil || s.id != u.id || s.kind == unitType || s.kind == unitSplitType {
			continue
		}
		if s.skeleton == nil {
			s.skeleton = u
			s.compDir = u.compDir
		}
		return s
	}
	return nil
}

// Sections in a package file [DWARF 5, table 7.1; GNU DebugFissionDWP], which
// differ in versions 2 and 5 of its index.
var packageSections = map[uint64][]section{
	2: {1: secInfo, 3: secAbbrev, 4: secLine, 5: secLoc, 6: secStrOffsets},
	5: {1: secInfo, 3: secAbbrev, 4: secLine, 5: secLoclists, 6: secStrOffsets, 8: secRnglists},
}

// maxColumns bounds the columns of an index; there are eight kinds.
const maxColumns = 64

// packageOf returns the part of the package file that holds the split unit of a
// skeleton, as a file of its own; nil if there is none.
func (d *Data) packageOf(u *unit) *file {
	if d.opts.Package == nil {
		return nil
	}
	if !d.split.pkgOpen {
		d.split.pkgOpen = true
		if f := d.opts.Package(); f != nil && f.BigEndian == d.main.big {
			d.split.pkg = newFile(d, f, ".dwo")
		}
	}
	pkg := d.split.pkg
	if pkg == nil {
		return nil
	}
	if d.split.index == nil {
		d.split.index = &packageIndex{}
		if h := pkg.elf.Section(".debug_cu_index"); h != nil {
			data, err := pkg.elf.SectionData(h)
			if err != nil {
				pkg.fail(err)
			}
			d.split.index.read(pkg, reader{data: data, big: pkg.big})
		}
	}
	return d.split.index.contribution(pkg, u.id)
}

// packageIndex is what an index lists for split units [DWARF 5, 7.3.5.3].
type packageIndex struct {
	sections             []section
	columns              uint64
	rows                 map[uint64]uint64 // by the ids of units, from 1 on
	head, offsets, sizes []byte
}

// maxSlots bounds the slots of an index. The largest programs have some hundred
// thousand units, and twice as many slots.
const maxSlots = 1 << 22

// read reads an index. One that is damaged stays empty.
func (x *packageIndex) read(f *file, r reader) {
	version := r.uint(4)
	if version != 2 { // version 5 is of two bytes, and two of padding
		r.pos = 0
		version = r.uint(2)
		r.take(2)
	}
	columns, units, slots := r.uint(4), r.uint(4), r.uint(4)
	if columns > maxColumns || slots > maxSlots { // so that the products below do not overflow
		return
	}
	ids, rows := r.take(8*slots), r.take(4*slots)
	x.sections, x.columns = packageSections[version], columns
	x.head, x.offsets, x.sizes = r.take(4*columns), r.take(4*columns*units), r.take(4*columns*units)
	if x.sections == nil || r.short {
		return
	}
	x.rows = map[uint64]uint64{}
	for slot := range slots {
		row := integer(rows[4*slot:4*slot+4], f.big)
		if row == 0 || row > units || !f.d.work.spend(entryWork) {
			continue
		}
		if id := integer(ids[8*slot:8*slot+8], f.big); x.rows[id] == 0 {
			x.rows[id] = row
		}
	}
}

// contribution returns the parts of f that an index lists for the split unit with an
// id.
func (x *packageIndex) contribution(f *file, id uint64) *file {
	row := x.rows[id]
	if row == 0 {
		return nil
	}
	u32 := func(b []byte, i uint64) uint64 { return integer(b[4*i:4*i+4], f.big) }
	part := newFile(f.d, f.elf, f.suffix)
	for c := range x.columns {
		kind, at := u32(x.head, c), (row-1)*x.columns+c
		if kind >= uint64(len(x.sections)) || x.sections[kind] == secInfo && kind != 1 {
			continue
		}
		s := x.sections[kind]
		whole, off, size := f.data(s), u32(x.offsets, at), u32(x.sizes, at)
		part.whole[s] = true
		if off <= uint64(len(whole)) {
			part.contents[s] = whole[off : off+min(size, uint64(len(whole))-off)]
		}
	}
	return part
}
