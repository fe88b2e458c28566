package symbol

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/internal/elfx"
)

// query is an address that a table is asked for.
type query struct {
	addr uint64
	code region // that addr is in
	hit  int

	// around is the best symbol whose size contains addr, nearest the best of
	// those at the highest address up to addr.
	around, nearest symbol
}

// answer returns the symbol for the address: one that contains it; or the
// nearest, if that does not say that it ends before.
func (q *query) answer() *symbol {
	switch {
	case q.around.rank != 0:
		return &q.around
	case q.nearest.rank != 0 && q.nearest.rank&rankSized == 0:
		return &q.nearest
	}
	return nil
}

// decodeFunc decodes a symbol that may be that of a function in some section.
func decodeFunc(b []byte, bigEndian bool) (s symbol, section uint16, ok bool) {
	switch b[4] & 15 {
	case elfx.SymFunc, elfx.SymGNUIFunc:
		s.rank = rankFunc
	case elfx.SymNotype:
	default:
		return s, 0, false
	}
	if bigEndian {
		o := binary.BigEndian
		s.name, section, s.value, s.size = o.Uint32(b), o.Uint16(b[6:]), o.Uint64(b[8:]), o.Uint64(b[16:])
	} else {
		o := binary.LittleEndian
		s.name, section, s.value, s.size = o.Uint32(b), o.Uint16(b[6:]), o.Uint64(b[8:]), o.Uint64(b[16:])
	}
	if section == elfx.ShnUndef || section >= elfx.ShnLoreserve && section != elfx.ShnXindex {
		return s, 0, false
	}
	switch b[4] >> 4 {
	case elfx.BindGlobal, elfx.BindGNUUnique:
		s.rank |= rankGlobal
	case elfx.BindWeak:
		s.rank |= rankWeak
	default:
		s.rank |= rankLocal
	}
	if s.size != 0 {
		s.rank |= rankSized
	}
	return s, section, true
}

// scan reads the whole table once, in place, for queries whose addresses
// ascend.
func (t *table) scan(qs []query) {
	last := qs[len(qs)-1].addr
	for data := t.tab.Data; len(data) >= elfx.SymSize; data = data[elfx.SymSize:] {
		s, section, ok := decodeFunc(data[:elfx.SymSize], t.tab.BigEndian)
		if !ok || s.value > last {
			continue
		}
		i := firstFrom(qs, s.value)
		if q := &qs[i]; t.better(&s, &q.nearest) && q.code.holds(s.value, section) && t.names(&s) {
			q.nearest = s
		}
		for ; i < len(qs) && qs[i].addr-s.value < s.size; i++ {
			if q := &qs[i]; t.better(&s, &q.around) && q.code.holds(s.value, section) && t.names(&s) {
				q.around = s
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
}

// firstFrom returns the index of the first query at or after addr, which must
// not be above all of them.
func firstFrom(qs []query, addr uint64) int {
	lo, hi := 0, len(qs)-1
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); qs[mid].addr < addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
