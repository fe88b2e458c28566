// Package symbol names addresses of an ELF image: from its symbol tables, the
// relocations of its procedure linkage table, and Go's function table. It
// neither walks stacks nor looks for files.
//
// Most runs end after naming a few dozen addresses, so nothing is read or sorted
// before it pays: a table is searched in place, once for all addresses of
// [Object.Prepare], and gets an index only if more lookups follow.
package symbol

import (
	"slices"
	"sync"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// Values of [Location.From] and [Object.Source].
const (
	FromSymtab       = "symtab"        // .symtab, of the image or of its debug file
	FromDynsym       = "dynsym"        // .dynsym, or what PT_DYNAMIC points to
	FromGNUDebugdata = "gnu_debugdata" // .symtab of the ELF file within .gnu_debugdata
	FromGopclntab    = "gopclntab"     // Go's table of functions and lines
	FromJIT          = "jit"           // what a just-in-time compiler tells of its code
	FromPLT          = "plt"           // the relocation of a procedure linkage table entry
	FromDWARF        = "dwarf"         // debug information; package debuginfo
	FromNone         = "none"          // there is no table at all
)

// Location describes an address.
type Location struct {
	Func   string // as the table spells it (mangled), without a version; see Demangle
	Offset uint64 // the address minus the symbol's value, in bytes
	File   string // source file; "" if unknown
	Line   int    // from 1; 0 if unknown
	Column int    // from 1, in bytes; 0 if unknown
	From   string // the table that Func is from: one of the From constants
	// Inlined is set if the code of Func stands within that of the Location
	// that follows.
	Inlined bool
}

// Object names addresses of one ELF image. It is safe for concurrent use.
type Object struct {
	mu     sync.Mutex
	file   *elfx.File
	tables []*table // in the order in which they are asked
	dynsym *table   // one of them
	golang func() *pclntab.Table
	relas  relocations
	// pltSections are the linkage tables of the image.
	pltSections func() []*elfx.Section
	known       map[uint64][]Location
	held        int // bytes of the names in known
	problems    []error
}

// maxHeld bounds the bytes of names that an Object keeps for the next lookup.
const maxHeld = 64 << 20

// New returns an Object for an image. The tables of its debug files, which
// must have been built with it (same build-id), are asked before its own. The
// files' data must stay valid as long as the Object is in use.
func New(f *elfx.File, debug ...*elfx.File) *Object {
	o := &Object{
		file:   f,
		dynsym: &table{from: FromDynsym, file: f, open: openDynsym},
		relas:  relocations{file: f},
		known:  map[uint64][]Location{},
	}
	o.pltSections = sync.OnceValue(func() []*elfx.Section { return findPLT(f) })
	o.golang = sync.OnceValue(func() *pclntab.Table {
		t, err := openGoTable(f, &o.relas, 0)
		o.problem(err)
		if t != nil {
			t = t.WithFuncData(goFuncData(f, &o.relas, goSection(f).Addr, t))
		}
		return t
	})
	for _, d := range append(debug[:len(debug):len(debug)], f) {
		o.tables = append(o.tables, &table{from: FromSymtab, file: d, open: openSymtab})
	}
	o.tables = append(o.tables, o.dynsym, &table{from: FromGNUDebugdata, file: f, open: openDebugdata})
	return o
}

// Lookup appends to dst the locations of a link-time address (the pc minus the load
// bias), the innermost inlined function first. It appends nothing if the function
// is unknown.
func (o *Object) Lookup(addr uint64, dst []Location) []Location {
	o.mu.Lock()
	defer o.mu.Unlock()
	locs, ok := o.known[addr]
	if !ok {
		locs = o.resolve([]uint64{addr})
	}
	return append(dst, locs...)
}

// Prepare looks up many addresses at once, so that [Object.Lookup] finds them. It
// reads each table only once.
func (o *Object) Prepare(addrs []uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var unknown []uint64
	for _, a := range addrs {
		if _, ok := o.known[a]; !ok {
			unknown = append(unknown, a)
		}
	}
	slices.Sort(unknown)
	o.resolve(slices.Compact(unknown))
}

// Source returns the best table that the image has, as a From constant.
func (o *Object) Source() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range o.tables {
		if t.from == FromSymtab && t.hasFuncs(o) {
			return FromSymtab
		}
	}
	switch {
	case o.file.Section(debugdataSection) != nil:
		return FromGNUDebugdata
	case o.golang() != nil:
		return FromGopclntab
	case o.dynsym.hasFuncs(o):
		return FromDynsym
	}
	return FromNone
}

// Problems returns the defects of the tables read so far.
func (o *Object) Problems() []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.problems)
}

// problem notes a defect, once.
func (o *Object) problem(err error) {
	if err == nil || slices.ContainsFunc(o.problems, func(e error) bool { return e.Error() == err.Error() }) {
		return
	}
	o.problems = append(o.problems, err)
}

// resolve looks up addrs, which ascend, and remembers the answers. It returns the
// first. Answers beyond half of maxHeld are looked up again when they are asked for.
func (o *Object) resolve(addrs []uint64) (first []Location) {
	hits := make([]hit, len(addrs))
	for i, a := range addrs {
		hits[i] = hit{addr: a, loc: o.plt(a)}
	}
	for _, t := range o.tables {
		t.find(o, hits)
	}
	for i, held := 0, 0; i < len(hits) && held <= maxHeld/2; i++ {
		h := &hits[i]
		locs := o.addGo(h.addr, h.location())
		held += o.remember(h.addr, locs)
		if i == 0 {
			first = locs
		}
	}
	return first
}

// remember returns how many bytes the answer takes.
func (o *Object) remember(addr uint64, locs []Location) (size int) {
	size = 64 // of an entry without names, about
	for i := range locs {
		size += 64 + len(locs[i].Func) + len(locs[i].File)
	}
	if o.held += size; o.held > maxHeld {
		clear(o.known)
		o.held = size
	}
	o.known[addr] = locs
	return size
}
