package symbol

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/internal/elfx"
)

// query is an address to look up in a table.
type query struct {
	addr uint64
	code region // that addr is in
	hit  int

	// around is the best symbol whose extent contains addr. nearest is the best
	// symbol at the highest address up to addr.
	around, nearest symbol
}

// answer returns the symbol for the address: one that contains it, or the nearest
// one, unless that ends before the address.
func (q *query) answer() symbol {
	if q.around.rank == 0 && q.nearest.rank&rankSized == 0 {
		return q.nearest
	}
	return q.around
}

// codeTypes has a bit for each STT_ that the symbol of a function may have.
// Assembly often leaves the type out.
const codeTypes = 1<<elfx.SymNotype | 1<<elfx.SymFunc | 1<<elfx.SymGNUIFunc

func (t *table) word(b []byte) uint64 {
	if t.tab.BigEndian {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// decodeFunc decodes a symbol that may be that of a function in some section.
func (t *table) decodeFunc(b []byte) (s symbol, section uint16, ok bool) {
	if codeTypes>>(b[4]&15)&1 == 0 {
		return s, 0, false
	}
	if t.tab.BigEndian {
		s.name, section = binary.BigEndian.Uint32(b), binary.BigEndian.Uint16(b[6:])
	} else {
		s.name, section = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint16(b[6:])
	}
	if section == elfx.ShnUndef || section >= elfx.ShnLoreserve && section != elfx.ShnXindex {
		return s, 0, false
	}
	s.value, s.size = t.word(b[8:]), t.word(b[16:])
	if s.rank = rankVisible; b[4]>>4 == elfx.BindLocal || b[4]&15 == elfx.SymGNUIFunc {
		s.rank = rankLocal
	}
	if b[4]&15 != elfx.SymNotype {
		s.rank |= rankFunc
	}
	if s.size != 0 {
		s.rank |= rankSized
	}
	return s, section, true
}

// scan reads the whole table once, in place, for queries whose addresses
// ascend. It gives up, and returns false, on a table whose symbols overlap so
// much that the time would be unbounded.
func (t *table) scan(qs []query) bool {
	for i := range qs {
		qs[i].nearest.value = qs[i].code.lo
	}
	first, last := newGuide(qs), qs[len(qs)-1].addr
	offers := t.tab.Len() + len(qs)*16
	for data := t.tab.Data; len(data) >= elfx.SymSize; data = data[elfx.SymSize:] {
		b := data[:elfx.SymSize]
		if codeTypes>>(b[4]&15)&1 == 0 {
			continue
		}
		value := t.word(b[8:])
		if value > last {
			continue
		}
		i := first.from(qs, value)
		// Almost no symbol is either nearer than what is known or around.
		if q := &qs[i]; value < q.nearest.value && q.addr-value >= t.word(b[16:]) {
			continue
		}
		if s, section, ok := t.decodeFunc(b); ok {
			if offers -= t.offer(qs[i:], &s, section); offers < 0 {
				return false
			}
		}
	}
	// The nearest to one query is that to the next, if nothing is between.
	for i := 1; i < len(qs); i++ {
		q, prev := &qs[i], &qs[i-1]
		if q.nearest.rank == 0 && prev.code == q.code {
			q.nearest = prev.nearest
		}
	}
	return true
}

// offer improves queries, beginning with the first at or after s. It returns how
// many it examined.
func (t *table) offer(qs []query, s *symbol, section uint16) int {
	if !qs[0].code.holds(s.value, section) || !t.names(s) {
		return 0
	}
	if q := &qs[0]; t.better(s, &q.nearest) {
		q.nearest = *s
	}
	for i := range qs {
		q := &qs[i]
		if q.addr-s.value >= s.size || q.code != qs[0].code {
			return i
		}
		if t.better(s, &q.around) {
			q.around = *s
		}
	}
	return len(qs)
}

// guide finds the first of some queries at or after an address, mostly in one
// step.
type guide struct {
	lo    uint64
	shift uint
	at    [513]int32 // index of the first query in or after each 1<<shift bytes from lo
}

func newGuide(qs []query) *guide {
	g := &guide{lo: qs[0].addr}
	buckets := len(g.at) - 1
	for (qs[len(qs)-1].addr-g.lo)>>g.shift >= uint64(buckets) {
		g.shift++
	}
	i := 0
	for b := range g.at {
		for i < len(qs)-1 && (qs[i].addr-g.lo)>>g.shift < uint64(b) {
			i++
		}
		g.at[b] = int32(i)
	}
	return g
}

// from returns the index of the first query at or after addr, which must not
// be above all of them.
func (g *guide) from(qs []query, addr uint64) int {
	if addr <= g.lo {
		return 0
	}
	b := (addr - g.lo) >> g.shift
	lo, hi := int(g.at[b]), int(g.at[b+1])
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); qs[mid].addr < addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
