package info

import "errors"

// splitFiles are the files of split units that were opened.
type splitFiles struct {
	files   map[string][]*file // by name and directory
	pkg     *file
	pkgOpen bool
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
	h := pkg.elf.Section(".debug_cu_index")
	if h == nil {
		return nil
	}
	data, err := pkg.elf.SectionData(h)
	if err != nil {
		pkg.fail(err)
	}
	return pkg.contribution(reader{data: data, big: pkg.big}, u.id)
}

// contribution returns the parts that an index lists for the split unit with an id
// [DWARF 5, 7.3.5.3].
func (f *file) contribution(r reader, id uint64) *file {
	version := r.uint(4)
	if version != 2 { // version 5 is of two bytes, and two of padding
		r.pos = 0
		version = r.uint(2)
		r.take(2)
	}
	columns, units, slots := r.uint(4), r.uint(4), r.uint(4)
	if columns > maxColumns { // so that the products below do not overflow
		return nil
	}
	sections := packageSections[version]
	ids, rows := r.take(8*slots), r.take(4*slots)
	head, offsets, sizes := r.take(4*columns), r.take(4*columns*units), r.take(4*columns*units)
	if sections == nil || r.short {
		return nil
	}
	u32 := func(b []byte, i uint64) uint64 { return integer(b[4*i:4*i+4], f.big) }
	for slot := range slots {
		row := u32(rows, slot)
		if integer(ids[8*slot:8*slot+8], f.big) != id || row == 0 || row > units {
			continue
		}
		part := newFile(f.d, f.elf, f.suffix)
		for c := range columns {
			kind, at := u32(head, c), (row-1)*columns+c
			if kind >= uint64(len(sections)) || sections[kind] == secInfo && kind != 1 {
				continue
			}
			s := sections[kind]
			whole, off, size := f.data(s), u32(offsets, at), u32(sizes, at)
			part.loaded[s] = true
			if off <= uint64(len(whole)) {
				part.contents[s] = whole[off : off+min(size, uint64(len(whole))-off)]
			}
		}
		return part
	}
	return nil
}
