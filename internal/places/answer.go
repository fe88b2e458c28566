package places

import "github.com/sfcore/sfcore/internal/dwarf/info"

const (
	placesAt kind = iota
	tailsAt
)

// Lookup answers as [info.Data.Lookup] of data does. It asks data only if the answer is
// not known. It keeps no answer that comes with an error.
func (t *Table) Lookup(data *info.Data, addr uint64) ([]info.Location, error) {
	q := question{addr, placesAt}
	if list, ok := t.find(q); ok {
		locs := make([]info.Location, len(list))
		for i := range list {
			r := &list[i]
			locs[i] = info.Location{Func: r.name, File: r.file, Start: r.addr, Line: int(r.numbers[0]), Column: int(r.numbers[1]), Inlined: r.flag}
		}
		return locs, nil
	}
	locs, err := data.Lookup(addr, nil)
	if t != nil && err == nil {
		list := make([]record, len(locs))
		for i := range locs {
			l := &locs[i]
			list[i] = record{l.Func, l.File, l.Start, [2]uint32{uint32(l.Line), uint32(l.Column)}, l.Inlined}
		}
		t.add(q, list)
	}
	return locs, err
}

// TailCalls answers as [info.Data.TailCalls] of data does, like Lookup.
func (t *Table) TailCalls(data *info.Data, addr uint64) (*info.Tails, error) {
	q := question{addr, tailsAt}
	if list, ok := t.find(q); ok {
		return tailsOf(list), nil
	}
	tails, err := data.TailCalls(addr)
	if t != nil && err == nil {
		t.add(q, recordsOf(tails))
	}
	return tails, err
}

// recordsOf returns no records if nothing is known; else one of the function, and one of
// each call.
func recordsOf(t *info.Tails) []record {
	if t == nil {
		return nil
	}
	list := []record{{name: t.Func, addr: t.Entry, flag: t.All}}
	for i := range t.Calls {
		c := &t.Calls[i]
		list = append(list, record{name: c.Func, addr: c.Entry, numbers: [2]uint32{uint32(c.PC), uint32(c.PC >> 32)}, flag: c.Exact})
	}
	return list
}

func tailsOf(list []record) *info.Tails {
	if len(list) == 0 {
		return nil
	}
	t := &info.Tails{Func: list[0].name, Entry: list[0].addr, All: list[0].flag}
	for i := range list[1:] {
		r := &list[1+i]
		t.Calls = append(t.Calls, info.TailCall{PC: uint64(r.numbers[1])<<32 | uint64(r.numbers[0]), Exact: r.flag, Func: r.name, Entry: r.addr})
	}
	return t
}
