package symbol

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
)

// table is a symbol table and the file that it is in.
type table struct {
	from string
	file *elfx.File
	open func(*table) (elfx.SymTab, error)

	opened bool
	tab    elfx.SymTab
	code   []region
	reads  int    // of the whole table
	index  *index // nil until it pays
}

func openSymtab(t *table) (elfx.SymTab, error) { return t.file.Symtab() }
func openDynsym(t *table) (elfx.SymTab, error) { return t.file.Dynsym() }

// hit is an address and what is known about it so far.
type hit struct {
	addr  uint64
	loc   Location // final if it has a Func
	table *table   // that sym is in, if that has a rank
	sym   symbol
}

func (h *hit) location() Location {
	if h.loc.Func == "" && h.sym.rank != 0 {
		h.loc = Location{Func: h.table.name(h.sym.name), Offset: h.addr - h.sym.value, From: h.table.from}
	}
	return h.loc
}

// symbol is a function symbol.
type symbol struct {
	value, size uint64
	name        uint32
	rank        rank
}

// rank orders the symbols at one address. It is 0 where there is no symbol.
type rank uint8

// A symbol with a size contains the address for certain; a symbol without may
// contain it. Of several aliases, people know those that are typed as functions and
// those that are visible from outside. Weak symbols rank no lower: libc's calloc is
// weak, its __libc_calloc is global. An STT_GNU_IFUNC ranks no higher than a local
// symbol: it names the function that the code there chooses.
const (
	rankLocal   rank = 1
	rankVisible rank = 2
	rankFunc    rank = 4
	rankSized   rank = 8
)

// better reports whether s is a better name for an address than b, if there is a b.
// Both contain the address, or neither does. If nothing else decides, the name
// does, as in gdb.
func (t *table) better(s, b *symbol) bool {
	switch {
	case b.rank == 0:
		return true
	case s.value != b.value:
		return s.value > b.value
	}
	return t.order(s, b) > 0
}

// order orders symbols at one address from the worst to the best.
func (t *table) order(a, b *symbol) int {
	if a.rank != b.rank {
		return cmp.Compare(a.rank, b.rank)
	}
	return cmp.Or(t.compareNames(a.name, b.name), cmp.Compare(a.name, b.name))
}

// maxTie bounds how many bytes of two names are compared: many symbols at one
// address with the same long name must not take unbounded time.
const maxTie = 256

// compareNames orders names without their versions, as strcmp does.
func (t *table) compareNames(a, b uint32) int {
	if a == b {
		return 0
	}
	x, y := t.nameBytes(a), t.nameBytes(b)
	const many = 32 // bytes that are compared at once
	i := 0
	for i+many <= min(len(x), len(y), maxTie) && bytes.Equal(x[i:i+many], y[i:i+many]) {
		i += many
	}
	if bytes.IndexByte(x[:i], 0) >= 0 || bytes.IndexByte(x[:i], '@') >= 0 {
		return 0
	}
	for ; i < maxTie; i++ {
		c, d := nameByte(x, i), nameByte(y, i)
		if c != d || c == 0 {
			return cmp.Compare(c, d)
		}
	}
	return 0
}

func nameByte(s []byte, i int) byte {
	if i >= len(s) || s[i] == '@' {
		return 0
	}
	return s[i]
}

// maxName bounds a name. The longest mangled names of real programs have some
// tens of thousands of bytes.
const maxName = 64 << 10

// nameBytes returns the string table from a name on.
func (t *table) nameBytes(off uint32) []byte {
	s := t.tab.Strings
	if uint64(off) >= uint64(len(s)) {
		return nil
	}
	return s[off:min(uint64(off)+maxName, uint64(len(s)))]
}

func (t *table) name(off uint32) string {
	s := t.nameBytes(off)
	if end := bytes.IndexByte(s, 0); end >= 0 {
		s = s[:end]
	}
	// foo@VERSION, or foo@@VERSION where it is the default one.
	if at := bytes.IndexByte(s, '@'); at > 0 {
		s = s[:at]
	}
	return string(s)
}

// syms opens the table on first use.
func (t *table) syms(o *Object) *elfx.SymTab {
	if !t.opened {
		t.opened = true
		var err error
		t.tab, err = t.open(t)
		o.problem(t.file.Named(err))
		if n := t.tab.Len(); n > maxSymbols {
			o.problem(t.file.Named(fmt.Errorf("%s: %d symbols are more than the limit of %d", t.from, n, maxSymbols)))
			t.tab.Data = t.tab.Data[:maxSymbols*elfx.SymSize]
		}
		t.code = codeRegions(t.file)
	}
	return &t.tab
}

// hasFuncs reports whether the table has a symbol that find can return.
func (t *table) hasFuncs(o *Object) bool {
	tab := t.syms(o)
	for i := range tab.Len() {
		s, _, ok := t.decodeFunc(tab.Data[i*elfx.SymSize:][:elfx.SymSize])
		if ok && t.names(&s) {
			return true
		}
	}
	return false
}

const (
	// maxReads is how often a table is read from end to end before it gets an
	// index, which takes the time of about as many readings.
	maxReads = 64
	// maxRead bounds the symbols that are read in all before there is an index.
	maxRead = 16 << 20
	// maxSymbols bounds the entries of a table that are used. The largest
	// programs known have some millions.
	maxSymbols = 16 << 20
)

// find improves the hits, whose addresses ascend.
func (t *table) find(o *Object, hits []hit) {
	var qs []query
	for i := range hits {
		h := &hits[i]
		if h.loc.Func != "" || h.sym.rank&rankSized != 0 {
			continue
		}
		if t.syms(o).Len() == 0 {
			return
		}
		if code := regionAt(t.code, h.addr); code.hi != 0 {
			qs = append(qs, query{addr: h.addr, code: code, hit: i})
		}
	}
	if len(qs) == 0 {
		return
	}
	if t.index == nil {
		if t.reads++; t.reads > max(1, min(maxReads, maxRead/(t.tab.Len()+1))) || !t.scan(qs) {
			t.index = t.newIndex()
		}
	}
	for i := range qs {
		q := &qs[i]
		h := &hits[q.hit]
		var sym symbol
		if t.index != nil {
			sym = t.index.find(q)
		} else {
			sym = q.answer()
		}
		if sym.rank > 0 && (h.sym.rank == 0 || sym.rank&rankSized != 0) {
			h.table, h.sym = t, sym
		}
	}
}

// names reports whether a symbol of this name may be a function. Assemblers
// mark the kind of contents with $x and $d [AAELF64, mapping symbols];
// compilers and annobin mark places.
func (t *table) names(s *symbol) bool {
	b := t.nameBytes(s.name)
	if len(b) == 0 || b[0] == 0 {
		return false
	}
	if s.rank&rankFunc != 0 || b[0] != '.' && b[0] != '$' {
		return true
	}
	head := string(b[:min(len(b), 16)])
	if head[0] == '$' {
		return !(len(head) > 2 && strings.IndexByte("adtx", head[1]) >= 0 && (head[2] == 0 || head[2] == '.')) && !strings.HasPrefix(head, "$L")
	}
	return !strings.HasPrefix(head, ".L") && !strings.HasPrefix(head, ".annobin_")
}
