package symbol

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
)

// table is a symbol table and the file that it is in.
type table struct {
	from string
	file *elfx.File
	open func(*elfx.File) (elfx.SymTab, error)

	opened bool
	tab    elfx.SymTab
	code   []region
}

// hit is an address and the best symbol for it so far.
type hit struct {
	addr  uint64
	table *table // that sym is in; nil if there is none yet
	sym   symbol
}

// symbol is a function symbol.
type symbol struct {
	value, size uint64
	name        uint32
	rank        rank
}

// rank orders the symbols at one address. It is 0 where there is no symbol.
type rank uint8

// A symbol with a size says that the address is in it, one without may. Of
// aliases, those that are typed as functions and those seen from outside are
// how people know the function.
const (
	rankLocal  rank = 1
	rankWeak   rank = 2
	rankGlobal rank = 3
	rankFunc   rank = 4
	rankSized  rank = 8
)

// better reports whether s names an address better than b, if there is a b,
// where both contain it or neither does. Where nothing else decides, the name
// does, as in gdb.
func (t *table) better(s, b *symbol) bool {
	switch {
	case b.rank == 0:
		return true
	case s.value != b.value:
		return s.value > b.value
	case s.rank != b.rank:
		return s.rank > b.rank
	}
	return t.compareNames(s.name, b.name) > 0
}

// maxTie bounds what is compared of two names: symbols without end at one
// address, with one long name, must not take time without end.
const maxTie = 256

func (t *table) compareNames(a, b uint32) int {
	if a == b {
		return 0
	}
	x, y := t.nameBytes(a), t.nameBytes(b)
	for i := range maxTie {
		var c, d byte
		if i < len(x) {
			c = x[i]
		}
		if i < len(y) {
			d = y[i]
		}
		if c != d || c == 0 {
			return cmp.Compare(c, d)
		}
	}
	return 0
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
		t.tab, err = t.open(t.file)
		o.problem(err)
		t.code = codeRegions(t.file)
	}
	return &t.tab
}

// find improves the hits, whose addresses ascend.
func (t *table) find(o *Object, hits []hit) {
	var open []query
	for i := range hits {
		h := &hits[i]
		if h.table != nil && h.sym.rank&rankSized != 0 {
			continue
		}
		if t.syms(o).Len() == 0 {
			return
		}
		if code := regionAt(t.code, h.addr); code.hi != 0 {
			open = append(open, query{addr: h.addr, code: code, hit: i})
		}
	}
	if len(open) == 0 {
		return
	}
	t.scan(open)
	for i := range open {
		q := &open[i]
		h := &hits[q.hit]
		if sym := q.answer(); sym != nil && (h.table == nil || sym.rank&rankSized != 0) {
			h.table, h.sym = t, *sym
		}
	}
}

func (h *hit) location() Location {
	return Location{Func: h.table.name(h.sym.name), Offset: h.addr - h.sym.value, From: h.table.from}
}

// names reports whether a symbol with this name may name code. Assemblers
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
