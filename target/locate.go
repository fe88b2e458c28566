package target

import "github.com/sfcore/sfcore/symbol"

// Locate appends the names of the code at pc, a lookup pc, to dst: the
// innermost first, none if nothing is known.
func (t *Target) Locate(pc uint64, dst []symbol.Location) []symbol.Location {
	m := t.moduleAt(pc)
	if m == nil {
		return dst
	}
	m.load()
	if o := m.symbols(); o != nil {
		return o.Lookup(pc-m.Bias, dst)
	}
	return dst
}
