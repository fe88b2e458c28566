package container

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// chain is a container whose elements are in nodes that lead to each other.
type chain struct {
	o    *value.Object
	node *info.Type // with the element
	n    uint64     // nodes
	// first is the address of the first node, and next follows a node to the next one;
	// 0 is behind the last one.
	first uint64
	next  func(addr uint64) (uint64, error)
	// open is set if more elements may follow than those that were counted.
	open bool
	// element returns the element of a node.
	element func(node *value.Object) (value.Object, bool)
}

// view shows the elements. They are walked from the first one on.
func (c *chain) view(kind Kind) *View {
	v := sized(kind, c.n)
	if v.Err != nil || c.n == 0 {
		return v
	}
	if c.first == 0 {
		v.Err, v.Len = damaged("it has no elements, but says %d", c.n), 0
		return v
	}
	if c.node == nil {
		return nil
	}
	sample := c.o.Scope().At("", c.node, c.first)
	if _, ok := c.element(&sample); !ok {
		return nil
	}
	v.parts = func(from, count uint64) ([]value.Object, error) {
		return c.walk(from, count, func(e value.Object, i uint64) value.Object {
			e.Name, e.Base = index(i), false
			return e
		})
	}
	return v
}

// keyed shows the elements, pairs, as keys with values.
func (c *chain) keyed() *View {
	v := c.view(Map)
	if v == nil || v.parts == nil {
		return v
	}
	half := func(e value.Object, name string) value.Object {
		var l layout
		h := l.at(&e, name)
		if l.done() {
			return e
		}
		return h
	}
	v.Keys = func(from, count uint64) ([]value.Object, error) {
		return c.walk(from, count, func(e value.Object, _ uint64) value.Object { return half(e, "first") })
	}
	v.parts = func(from, count uint64) ([]value.Object, error) {
		return c.walk(from, count, func(e value.Object, i uint64) value.Object {
			return pair(half(e, "first"), half(e, "second"), e, i)
		})
	}
	return v
}

// pair names a value by its key, if that is short; else it is shown with the key.
func pair(key, val, both value.Object, i uint64) value.Object {
	if text, ok := keyText(&key); ok {
		val.Name, val.Base = "["+text+"]", false
		return val
	}
	both.Name, both.Base = index(i), false
	return both
}

// maxKey bounds the key that an element is named by, in bytes.
const maxKey = 100

func keyText(key *value.Object) (string, bool) {
	text := ""
	if s, ok := stringOf(key); ok {
		v := s.view()
		if v.Err != nil {
			return "", false
		}
		text = v.Text
	} else if key.Shape() == value.Scalar {
		t, err := key.Text()
		if err != nil {
			return "", false
		}
		text = t
	}
	return text, text != "" && len(text) <= maxKey
}

// walk returns elements, each as show makes it.
func (c *chain) walk(from, count uint64, show func(e value.Object, i uint64) value.Object) ([]value.Object, error) {
	var list []value.Object
	at := c.first
	for i := range min(c.n, from+count) {
		switch {
		case i >= maxWalked:
			return list, errFar
		case at == 0:
			return list, damaged("it has %d elements, but says %d", i, c.n)
		}
		if i >= from {
			node := c.o.Scope().At("", c.node, at)
			e, ok := c.element(&node)
			if !ok {
				return list, errNotInMemory
			}
			list = append(list, show(e, i))
		}
		next, err := c.next(at)
		if err != nil {
			if i+1 == min(c.n, from+count) && i+1 != c.n {
				return list, nil // not needed
			}
			return list, err
		}
		at = next
	}
	switch end := from+count >= c.n; {
	case end && c.open:
		return list, fmt.Errorf("elements after the first %d are not shown, or it is %w", maxCounted, errDamaged)
	case end && at != 0:
		return list, damaged("more elements follow than the %d that it says", c.n)
	}
	return list, nil
}

// word reads a pointer.
func word(o *value.Object, addr uint64) (uint64, error) {
	o.Scope().Frame().Steps++
	w := o.Scope().At("", pointerType, addr)
	return w.Number()
}

const (
	// maxNodes bounds the types of nodes that are looked for in a frame.
	maxNodes = 256
	// typeSteps is what a type counts whose name is compared: it is read and written out.
	typeSteps = 16
)

// nodeType finds the type of nodes by the name of its template and its first argument.
func nodeType(o *value.Object, template string, elem *info.Type) *info.Type {
	f := o.Scope().Frame()
	if f.Data == nil {
		return nil
	}
	want := elem.String()
	key := template + "<" + want
	t, known := f.Nodes[key]
	if known || len(f.Nodes) >= maxNodes {
		return t
	}
	if f.Nodes == nil {
		f.Nodes = map[string]*info.Type{}
	}
	t = findNode(f, template, want)
	f.Nodes[key] = t
	return t
}

func findNode(f *value.Frame, template, want string) *info.Type {
	search := func(list []info.Decl) *info.Type {
		for i := range list {
			f.Steps += typeSteps
			if list[i].Kind != info.DeclType {
				continue
			}
			t := list[i].Type()
			if args := t.TemplateArgs(); len(args) > 0 && args[0].IsType && args[0].Type.String() == want {
				return t
			}
		}
		return nil
	}
	if f.PC >= f.Bias && f.PC != 0 {
		list, _ := f.Data.FindIn(f.PC-f.Bias, template)
		if t := search(list); t != nil {
			return t
		}
	}
	list, _ := f.Data.Find(template)
	return search(list)
}

// storage returns the element of a node of libstdc++, which keeps room for it, or of
// libc++.
func storage(elem *info.Type) func(node *value.Object) (value.Object, bool) {
	return func(node *value.Object) (value.Object, bool) {
		var l layout
		if has(node, "__value_") {
			v := l.at(node, "__value_")
			if has(&v, "__cc") { // of maps
				return l.at(&v, "__cc"), true
			}
			if has(&v, "__cc_") {
				return l.at(&v, "__cc_"), true
			}
			return v, true
		}
		addr := l.addr(node, "_M_storage")
		if l.done() {
			return value.Object{}, false
		}
		return node.Scope().At("", elem, addr), true
	}
}

// firstArg returns the first argument of the type's template.
func firstArg(t *info.Type) *info.Type {
	if args := t.Strip().TemplateArgs(); len(args) > 0 && args[0].IsType {
		return args[0].Type
	}
	return nil
}

func cxxList(o *value.Object, _ string) *View {
	elem := firstArg(o.Type)
	if elem == nil {
		return nil
	}
	var l layout
	var head, first, n uint64
	template := "_List_node"
	off := uint64(0) // of the pointer to the next node
	if has(o, "_M_impl") {
		head, first = l.addr(o, "_M_impl", "_M_node"), l.num(o, "_M_impl", "_M_node", "_M_next")
		if !has(o, "_M_impl", "_M_node", "_M_size") {
			return nil // the ABI before C++11, which does not count
		}
		n = l.num(o, "_M_impl", "_M_node", "_M_size")
	} else {
		template, off = "__list_node", 8
		head, first = l.addr(o, "__end_"), l.num(o, "__end_", "__next_")
		n = l.num(o, compressed(o, "__size_alloc_", "__size_")...)
	}
	if v, ok := l.broken(Sequence); ok {
		return v
	}
	behind := func(addr uint64) uint64 {
		if addr == head {
			return 0
		}
		return addr
	}
	c := &chain{o: o, n: n, first: behind(first), node: nodeType(o, template, elem), element: storage(elem)}
	c.next = func(addr uint64) (uint64, error) {
		next, err := word(o, addr+off)
		return behind(next), err
	}
	return c.view(Sequence)
}

// maxCounted bounds the elements of a container that does not say how many it has.
const maxCounted = 1024

func cxxForwardList(o *value.Object, _ string) *View {
	elem := firstArg(o.Type)
	if elem == nil {
		return nil
	}
	var l layout
	var first uint64
	template := "_Fwd_list_node"
	if has(o, "_M_impl") {
		first = l.num(o, "_M_impl", "_M_head", "_M_next")
	} else {
		template = "__forward_list_node"
		first = l.num(o, append(compressed(o, "__before_begin_", "__before_begin_"), "__next_")...)
	}
	if v, ok := l.broken(Sequence); ok {
		return v
	}
	// It does not say how many there are.
	n, at := uint64(0), first
	for at != 0 && n < maxCounted {
		next, err := word(o, at)
		if err != nil {
			return &View{Kind: Sequence, Err: err}
		}
		n, at = n+1, next
	}
	c := &chain{o: o, n: n, first: first, open: at != 0, node: nodeType(o, template, elem), element: storage(elem)}
	c.next = func(addr uint64) (uint64, error) { return word(o, addr) }
	return c.view(Sequence)
}
