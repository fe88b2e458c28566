package container

import (
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// run is the view of n elements that are next to each other.
func run(o *value.Object, elem *info.Type, addr, n uint64) *View {
	v := sized(Sequence, n)
	size := o.Scope().SizeOf(elem)
	switch {
	case v.Err != nil || n == 0:
		return v
	case size == 0:
		return nil
	case addr+n*size < addr:
		return &View{Kind: Sequence, Err: damaged("its elements end beyond the address space")}
	}
	v.Adjacent = true
	v.parts = func(from, count uint64) ([]value.Object, error) {
		list := make([]value.Object, count)
		for i := range list {
			at := from + uint64(i)
			list[i] = o.Scope().At(index(at), elem, addr+at*size)
		}
		return list, nil
	}
	return v
}

// between is the view of the elements between two pointers, whose room ends at limit.
func between(o *value.Object, elem *info.Type, begin, end, limit uint64) *View {
	size := o.Scope().SizeOf(elem)
	switch {
	case size == 0:
		return nil
	case begin > end || end > limit:
		return &View{Kind: Sequence, Err: damaged("its pointers are not in order: %#x, %#x, %#x", begin, end, limit)}
	case (end-begin)%size != 0:
		return &View{Kind: Sequence, Err: damaged("%d bytes are not a number of elements of %d bytes", end-begin, size)}
	}
	return run(o, elem, begin, (end-begin)/size)
}

// list makes n parts by their numbers.
func made(from, count uint64, part func(i uint64) (value.Object, error)) ([]value.Object, error) {
	var list []value.Object
	for i := from; i < from+count; i++ {
		p, err := part(i)
		if err != nil {
			return list, err
		}
		list = append(list, p)
	}
	return list, nil
}

func cxxVector(o *value.Object, _ string) *View {
	args := o.Type.Strip().TemplateArgs()
	if len(args) == 0 || !args[0].IsType {
		return nil
	}
	elem := args[0].Type
	if s := elem.Strip(); s.Kind == info.Base && s.Encoding == info.Boolean {
		return cxxBits(o, elem)
	}
	var l layout
	var begin, end, limit uint64
	if has(o, "_M_impl") {
		begin, end, limit = l.num(o, "_M_impl", "_M_start"), l.num(o, "_M_impl", "_M_finish"), l.num(o, "_M_impl", "_M_end_of_storage")
	} else {
		begin, end = l.num(o, "__begin_"), l.num(o, "__end_")
		limit = l.num(o, compressed(o, "__end_cap_", "__cap_")...)
	}
	if v, ok := l.broken(Sequence); ok {
		return v
	}
	return between(o, elem, begin, end, limit)
}

// compressed returns the path to what libc++ keeps in a pair whose other half is often
// empty, or from version 20 on in a member of its own.
func compressed(o *value.Object, old, now string) []string {
	if has(o, old, "__value_") {
		return []string{old, "__value_"}
	}
	return []string{now}
}

// cxxBits reads std::vector<bool>.
func cxxBits(o *value.Object, elem *info.Type) *View {
	var l layout
	var word, first, n, unit uint64
	if has(o, "_M_impl") {
		word, first = l.num(o, "_M_impl", "_M_start", "_M_p"), l.num(o, "_M_impl", "_M_start", "_M_offset")
		last, offset := l.num(o, "_M_impl", "_M_finish", "_M_p"), l.num(o, "_M_impl", "_M_finish", "_M_offset")
		if !l.done() && (last < word || offset >= 64 || first >= 64) {
			return &View{Kind: Sequence, Err: damaged("its pointers are not in order: %#x, %#x", word, last)}
		}
		n = 8*(last-word) + offset - first
	} else {
		word, n = l.num(o, "__begin_"), l.num(o, "__size_")
	}
	if v, ok := l.broken(Sequence); ok {
		return v
	}
	v := sized(Sequence, n)
	unit = 8 // both keep words of this size
	v.parts = func(from, count uint64) ([]value.Object, error) {
		return made(from, count, func(i uint64) (value.Object, error) {
			bit := first + i
			w := o.Scope().At("", info.MakeBase("unsigned long", unit, info.Unsigned), word+bit/64*unit)
			x, err := w.Number()
			return o.Scope().MadeWord(index(i), elem, x>>(bit%64)&1), err
		})
	}
	return v
}

func cxxArray(o *value.Object, _ string) *View {
	args := o.Type.Strip().TemplateArgs()
	if len(args) < 2 || !args[0].IsType || args[1].IsType {
		return nil
	}
	name := "_M_elems"
	if !has(o, name) {
		name = "__elems_"
	}
	if args[1].Value == 0 {
		return sized(Sequence, 0)
	}
	var l layout
	elems := l.at(o, name)
	if v, ok := l.broken(Sequence); ok {
		return v
	}
	if elems.Shape() != value.Elements {
		return nil
	}
	n, err := elems.Len()
	v := sized(Sequence, n)
	if err != nil || v.Err != nil {
		return nil
	}
	v.parts = elems.Parts
	_, v.Adjacent = elems.Address()
	return v
}

func cxxSpan(o *value.Object, _ string) *View {
	args := o.Type.Strip().TemplateArgs()
	if len(args) < 2 || !args[0].IsType {
		return nil
	}
	var l layout
	var addr uint64
	switch {
	case has(o, "_M_ptr"):
		addr = l.num(o, "_M_ptr")
	case has(o, "__data_"):
		addr = l.num(o, "__data_")
	default:
		addr = l.num(o, "__data")
	}
	n := args[1].Value
	const dynamic = 1<<64 - 1
	if n == dynamic {
		switch {
		case has(o, "_M_extent"):
			n = l.num(o, "_M_extent", "_M_extent_value")
		case has(o, "__size_"):
			n = l.num(o, "__size_")
		default:
			n = l.num(o, "__size")
		}
	}
	if v, ok := l.broken(Sequence); ok {
		return v
	}
	return run(o, args[0].Type, addr, n)
}

// cxxDeque reads a deque: a table of blocks of elements.
func cxxDeque(o *value.Object, _ string) *View {
	args := o.Type.Strip().TemplateArgs()
	if len(args) == 0 || !args[0].IsType {
		return nil
	}
	elem := args[0].Type
	size := o.Scope().SizeOf(elem)
	if size == 0 {
		return nil
	}
	var l layout
	var table, start, n, perBlock uint64
	if has(o, "_M_impl") {
		cur, first, last := l.num(o, "_M_impl", "_M_start", "_M_cur"), l.num(o, "_M_impl", "_M_start", "_M_first"), l.num(o, "_M_impl", "_M_start", "_M_last")
		table = l.num(o, "_M_impl", "_M_start", "_M_node")
		endTable := l.num(o, "_M_impl", "_M_finish", "_M_node")
		endCur, endFirst := l.num(o, "_M_impl", "_M_finish", "_M_cur"), l.num(o, "_M_impl", "_M_finish", "_M_first")
		if v, ok := l.broken(Sequence); ok {
			return v
		}
		if first > cur || cur > last || table > endTable || endFirst > endCur || last == first || (last-first)/size > maxElements || (endTable-table)/8 > maxElements {
			return &View{Kind: Sequence, Err: damaged("its iterators are not in order")}
		}
		perBlock = (last - first) / size
		start = (cur - first) / size
		n = (endTable-table)/8*perBlock + (endCur-endFirst)/size - start
	} else {
		begin, end := l.num(o, "__map_", "__begin_"), l.num(o, "__map_", "__end_")
		table = begin
		start = l.num(o, "__start_")
		n = l.num(o, compressed(o, "__size_", "__size_")...)
		if v, ok := l.broken(Sequence); ok {
			return v
		}
		perBlock = 16
		if size < 256 {
			perBlock = 4096 / size
		}
		if blocks := (end - begin) / 8; end < begin || blocks > maxElements || start+n < n || start+n > blocks*perBlock {
			return &View{Kind: Sequence, Err: damaged("%d elements from number %d on are not in its blocks", n, start)}
		}
	}
	if perBlock == 0 {
		return nil
	}
	v := sized(Sequence, n)
	v.parts = func(from, count uint64) ([]value.Object, error) {
		return made(from, count, func(i uint64) (value.Object, error) {
			at := start + i
			block := o.Scope().At("", pointerType, table+at/perBlock*8)
			addr, err := block.Number()
			return o.Scope().At(index(i), elem, addr+at%perBlock*size), err
		})
	}
	return v
}

var pointerType = info.MakeBase("unsigned long", 8, info.Unsigned)

func cxxAdaptor(o *value.Object, _ string) *View {
	var l layout
	c := l.at(o, "c")
	if l.done() {
		return nil
	}
	v, _ := Of(&c)
	return v
}
