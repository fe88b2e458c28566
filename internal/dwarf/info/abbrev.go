package info

import "errors"

// abbrev describes the entries that have its code [DWARF 5, 7.5.3].
type abbrev struct {
	tag      uint32
	children bool
	attrs    []attrSpec
	// size is the number of bytes of the attributes, -1 if it varies, not
	// counting addrs addresses and offsets offsets.
	size           int
	addrs, offsets int
	sibling        bool // has DW_AT_sibling
}

type attrSpec struct {
	name     uint32
	form     uint32
	constant int64 // of DW_FORM_implicit_const
}

// abbrevs is a table of abbreviations, decoded as far as it was needed.
type abbrevs struct {
	r      reader
	byCode []abbrev           // codes from 1 on, as compilers number them
	others map[uint64]*abbrev // all other codes
	done   bool
	file   *file
	taken  int // what the table takes, as for maxAbbrevs
}

const (
	// maxAbbrevs bounds what the abbreviations of a table, and of all tables that a
	// file keeps, take: each counts 4, and each of its attributes 1, of 16 to 30 bytes.
	// Compilers make some hundred of ten attributes for a unit.
	maxAbbrevs = 1 << 22
	// maxUsual is how many attributes of an entry are read for what the entry counts.
	maxUsual = 32
)

// find returns the abbreviation with a code; nil if there is none.
func (t *abbrevs) find(code uint64, w *work) *abbrev {
	for {
		if code-1 < uint64(len(t.byCode)) {
			return &t.byCode[code-1]
		}
		if a, ok := t.others[code]; ok {
			return a
		}
		if t.done || !t.decode(w) {
			t.done = true
			return nil
		}
	}
}

// usualTable is how many bytes of a table are inflated at first: most are smaller.
const usualTable = 32 << 10

// decode decodes one more abbreviation, unless the table ends.
func (t *abbrevs) decode(w *work) bool {
	begin := t.r.pos
	if t.decodeNext(w) {
		return true
	}
	if !t.r.short || t.file.whole[secAbbrev] {
		return false
	}
	t.r.data, t.r.pos, t.r.short = t.file.data(secAbbrev), begin, false
	return t.decodeNext(w)
}

func (t *abbrevs) decodeNext(w *work) bool {
	code := t.r.uleb()
	if code == 0 || t.r.short || !w.spend(abbrevWork) || !t.take(4, w) {
		return false
	}
	a := abbrev{tag: uint32(t.r.uleb()), children: t.r.byte() != 0}
	for {
		s := attrSpec{name: uint32(t.r.uleb()), form: uint32(t.r.uleb())}
		if s.form == formImplicitConst {
			s.constant = t.r.sleb()
		}
		if t.r.short || !w.spend(1) {
			return false
		}
		if s.name == 0 && s.form == 0 {
			break
		}
		if !t.take(1, w) {
			return false
		}
		a.sibling = a.sibling || s.name == attrSibling
		a.attrs = append(a.attrs, s)
		a.measure(s.form)
	}
	if code == uint64(len(t.byCode))+1 {
		t.byCode = append(t.byCode, a)
		return true
	}
	if t.others == nil {
		t.others = make(map[uint64]*abbrev)
	}
	t.others[code] = &a
	return true
}

var errAbbrevs = errors.New("debug information: a table of abbreviations is too long: the entries that need the rest of it are ignored")

// take counts what the table takes, and reports whether there may be more.
func (t *abbrevs) take(n int, w *work) bool {
	t.file.keptAbbrevs += n
	if t.taken += n; t.taken > maxAbbrevs {
		w.fail(errAbbrevs)
		return false
	}
	return true
}

// measure adds the size of a form.
func (a *abbrev) measure(form uint32) {
	if a.size < 0 {
		return
	}
	switch n := fixedSize(form); {
	case n >= 0:
		a.size += n
	case n == sizeAddr:
		a.addrs++
	case n == sizeOffset:
		a.offsets++
	default:
		a.size = -1
	}
}
