package info

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// line is a place in the source.
type line struct {
	file         string
	line, column int
}

// lineTable is a line number program [DWARF 5, 6.2].
type lineTable struct {
	u             *unit
	r             reader // the whole table; at the first operation
	version       uint64
	minInst       uint64
	maxOps        uint64
	lineBase      int64
	lineRange     uint64
	opcodeBase    uint64
	operands      []byte // numbers of operands of standard operations
	dirs          [][]byte
	files         []sourceFile
	sequences     []sequence // by lo; what is known once all was read
	haveSequences bool
}

// sourceFile is an entry of a table. Its name is a part of the file.
type sourceFile struct {
	name []byte
	dir  uint64
}

// sequence is a run of rows with ascending addresses.
type sequence struct {
	lo, hi, off uint64
	descends    bool // its addresses do not ascend, so that it has no marks
	marks       []lineMark
}

// lineMark is a place in a program behind a row.
type lineMark struct {
	off uint64
	state
}

// lineMarkEvery is the number of rows between two marks of a sequence. They take a
// fifth of the program, at most.
const lineMarkEvery = 256

const (
	// maxFiles bounds the files and directories of a table.
	maxFiles = 1 << 20

	// scanned is how many bytes of a name take as long to read as other things
	// that are counted as one step.
	scanned = 64

	// maxPath bounds the name of a file or directory, in bytes [linux
	// include/uapi/linux/limits.h: PATH_MAX].
	maxPath = 4096
)

func (u *unit) bad(off uint64, field, format string, args ...any) {
	u.file.bad(secLine, off, field, fmt.Sprintf(format, args...))
}

// lineTable returns the line number program of the unit; nil if there is none.
func (u *unit) lineTable() *lineTable {
	if u.skeleton != nil {
		return u.skeleton.lineTable() // whose files the split unit refers to
	}
	if u.table == nil {
		u.table = &lineTable{u: u}
		if u.lines.known() {
			u.table.open(u.lines.num)
		}
	}
	return u.table
}

// open reads the header [DWARF 5, 6.2.4].
func (t *lineTable) open(off uint64) {
	u := t.u
	f := u.file
	r := reader{data: f.prefix(secLine, off+min(maxLength, math.MaxUint64-off)), pos: off, big: f.big}
	n, offsetSize := r.length()
	if r.data = f.prefix(secLine, r.pos+min(n, math.MaxUint64-r.pos)); r.short || n > uint64(len(r.data))-r.pos {
		u.bad(off, "unit_length", "%#x is past the end of the section", n)
		return
	}
	r.data = r.data[:r.pos+n]
	if t.version = r.uint(2); t.version < 2 || t.version > 5 {
		u.bad(off, "version", "%d is not a version from 2 to 5", t.version)
		return
	}
	if t.version >= 5 {
		r.take(2) // address_size, segment_selector_size
	}
	headerLength := r.uint(offsetSize)
	program := r.pos + min(headerLength, uint64(len(r.data))-r.pos)
	t.minInst, t.maxOps = r.uint(1), 1
	if t.version >= 4 {
		t.maxOps = max(r.uint(1), 1)
	}
	r.byte() // default_is_stmt
	t.lineBase, t.lineRange, t.opcodeBase = int64(int8(r.byte())), r.uint(1), r.uint(1)
	if t.lineRange == 0 || t.opcodeBase == 0 {
		u.bad(off, "line_range", "the header is damaged")
		return
	}
	if t.operands = r.take(t.opcodeBase - 1); r.short {
		u.bad(off, "standard_opcode_lengths", "the header is cut off")
		return
	}
	if t.version >= 5 {
		t.dirs = namesOf(u.readNames(&r, offsetSize))
		t.files = u.readNames(&r, offsetSize)
	} else {
		t.readOldNames(&r)
	}
	r.pos, r.short = program, false
	t.r = r
}

// readOldNames reads the names of versions 2 to 4, which count from 1.
func (t *lineTable) readOldNames(r *reader) {
	t.dirs = [][]byte{[]byte(t.u.compDir)}
	for len(t.dirs) < maxFiles {
		name := r.cstring()
		if len(name) == 0 {
			break
		}
		t.dirs = append(t.dirs, name)
	}
	t.files = []sourceFile{{}}
	for len(t.files) < maxFiles {
		name := r.cstring()
		if len(name) == 0 {
			break
		}
		t.files = append(t.files, sourceFile{name, r.uleb()})
		r.skipLEB()
		r.skipLEB()
	}
}

// readNames reads the directories or files of version 5.
func (u *unit) readNames(r *reader, offsetSize uint64) []sourceFile {
	type format struct{ content, form uint64 }
	formats := make([]format, r.uint(1))
	for i := range formats {
		formats[i] = format{r.uleb(), r.uleb()}
	}
	n := r.uleb()
	if len(formats) == 0 {
		return nil
	}
	var names []sourceFile
	forms := unit{file: u.file, version: 5, offsetSize: offsetSize, addrSize: u.addrSize, strOffsets: u.strOffsets}
	for range min(n, maxFiles) {
		var f sourceFile
		before := r.pos
		for _, p := range formats {
			v := forms.value(r, attrSpec{form: uint32(p.form)})
			switch p.content {
			case 1: // DW_LNCT_path
				f.name = forms.text(v)
			case 2: // DW_LNCT_directory_index
				f.dir = v.num
			}
		}
		if r.short || r.pos == before || !u.file.d.work.spend(1+len(f.name)/scanned) {
			break
		}
		names = append(names, f)
	}
	return names
}

func namesOf(files []sourceFile) [][]byte {
	names := make([][]byte, len(files))
	for i := range files {
		names[i] = files[i].name
	}
	return names
}

// row is a row of the line number table, as far as it is needed.
type row struct {
	addr         uint64
	file         uint64
	line, column uint64
}

// lineAt returns the place of the code at an address.
func (u *unit) lineAt(addr uint64) line {
	t := u.lineTable()
	if !t.haveSequences {
		t.haveSequences = true
		for r := t.r; r.more(); {
			s, at := sequence{lo: math.MaxUint64, off: r.pos}, begin()
			rows, last := 0, uint64(0)
			if !t.run(&r, &at, func(end bool) bool {
				s.lo, s.hi = min(s.lo, at.row.addr), max(s.hi, at.row.addr)
				s.descends = s.descends || at.row.addr < last
				last = at.row.addr
				if rows++; rows%lineMarkEvery == 0 && !end {
					s.marks = append(s.marks, lineMark{r.pos, at})
				}
				return true
			}) {
				break
			}
			if s.lo < s.hi && s.lo != 0 {
				t.sequences = append(t.sequences, s)
			}
		}
		slices.SortFunc(t.sequences, func(a, b sequence) int { return cmp.Compare(a.lo, b.lo) })
	}
	i, found := slices.BinarySearchFunc(t.sequences, addr, func(s sequence, a uint64) int { return cmp.Compare(s.lo, a) })
	if !found {
		i--
	}
	for n := 0; i >= 0 && n < maxOverlaps; i, n = i-1, n+1 {
		if addr >= t.sequences[i].hi {
			continue
		}
		best := t.rowIn(&t.sequences[i], addr)
		if n := lineNumber(best.line); n > 0 {
			return line{u.fileName(best.file), n, lineNumber(best.column)}
		}
		break
	}
	return line{}
}

// rowIn returns the row of a sequence that is in force at an address: of those
// at the highest address not above it the last, whether or not it begins a
// statement. Only that row has code. The others are where breakpoints go.
func (t *lineTable) rowIn(s *sequence, addr uint64) (best row) {
	r, at := t.r, begin()
	r.pos = s.off
	if !s.descends {
		i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].row.addr > addr })
		if i > 0 {
			m := &s.marks[i-1]
			r.pos, at, best = m.off, m.state, m.row
		}
	}
	t.run(&r, &at, func(end bool) bool {
		switch {
		case at.row.addr > addr || end:
			return s.descends
		case at.row.addr >= best.addr:
			best = at.row
		}
		return true
	})
	return best
}

// lineNumber bounds a number that is to be shown.
func lineNumber(n uint64) int {
	if n > math.MaxInt32 {
		return 0
	}
	return int(n)
}
