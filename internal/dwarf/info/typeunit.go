package info

// typeUnits are the type units of a file by signature [DWARF 5, 7.3.2.4].
type typeUnits struct {
	listed bool
	units  map[uint64]*unit
	old    *file // .debug_types [DWARF 4, 7.5.1.2]
}

// typeWithSignature returns the type that has a signature.
func (f *file) typeWithSignature(signature uint64) (entry, bool) {
	t := &f.types
	if !t.listed {
		t.listed, t.units = true, map[uint64]*unit{}
		f.listTypeUnits()
	}
	u := t.units[signature]
	if u == nil {
		return entry{}, false
	}
	return u.entryAt(u.off + u.typeOff)
}

func (f *file) listTypeUnits() {
	f.addTypeUnits(f)
	h := f.elf.Section(".debug_types" + f.suffix)
	if h == nil || f.isTypes {
		return
	}
	data, err := f.elf.SectionData(h)
	if err != nil {
		f.fail(err)
	}
	old := newFile(f.d, f.elf, f.suffix)
	old.isTypes = true
	old.contents, old.loaded = f.contents, f.loaded
	old.contents[secInfo], old.loaded[secInfo] = data, true
	old.types = typeUnits{listed: true, units: f.types.units}
	f.types.old = old
	f.addTypeUnits(old)
}

// addTypeUnits adds the type units among those of a set of sections.
func (f *file) addTypeUnits(from *file) {
	for _, off := range from.unitOffsets() {
		r := from.reader(secInfo, off)
		r.length()
		version := r.uint(2)
		if kind := r.byte(); !from.isTypes && (version != 5 || kind != unitType && kind != unitSplitType) {
			continue
		}
		if u := from.unit(off); u != nil && (u.kind == unitType || u.kind == unitSplitType) {
			f.types.units[u.id] = u
		}
	}
}
