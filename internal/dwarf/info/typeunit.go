package info

// typeUnits says where the type units of a file are, by signature
// [DWARF 5, 7.3.2.4]. A unit is decoded when one of its types is used.
type typeUnits struct {
	listed bool
	at     map[uint64]typeUnit
}

type typeUnit struct {
	in  *file // the file, or its .debug_types [DWARF 4, 7.5.1.2]
	off uint64
}

// typeWithSignature returns the type that has a signature.
func (f *file) typeWithSignature(signature uint64) (entry, bool) {
	t := &f.types
	if !t.listed {
		t.listed, t.at = true, map[uint64]typeUnit{}
		f.listTypeUnits()
	}
	at, ok := t.at[signature]
	if !ok {
		return entry{}, false
	}
	u := at.in.unit(at.off)
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
	old.contents, old.whole = f.contents, f.whole
	old.contents[secInfo], old.whole[secInfo] = data, true
	old.types = typeUnits{listed: true, at: f.types.at}
	f.addTypeUnits(old)
}

// addTypeUnits adds the type units among those of a set of sections.
func (f *file) addTypeUnits(from *file) {
	for _, off := range from.unitOffsets() {
		r := from.reader(secInfo, off)
		_, offsetSize := r.length()
		if version := r.uint(2); from.isTypes {
			r.take(offsetSize + 1) // debug_abbrev_offset, address_size
		} else {
			kind := r.byte()
			if version != 5 || kind != unitType && kind != unitSplitType {
				continue
			}
			r.take(1 + offsetSize)
		}
		if signature := r.uint(8); !r.short {
			f.types.at[signature] = typeUnit{from, off}
		}
	}
}
