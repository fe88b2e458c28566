package container

import (
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

func cxxMap(o *value.Object, _ string) *View {
	c, v := cxxTree(o)
	if c == nil {
		return v
	}
	return c.keyed()
}

func cxxSet(o *value.Object, _ string) *View {
	c, v := cxxTree(o)
	if c == nil {
		return v
	}
	return c.view(Sequence)
}

// links are where a node of a tree has its links.
type links struct{ left, right, parent uint64 }

// cxxTree reads the red-black tree of a map or a set. It returns the view if the tree
// cannot be read.
func cxxTree(o *value.Object) (*chain, *View) {
	var l layout
	var head, first, n uint64
	var at links
	var elem, node *info.Type
	if has(o, "_M_t", "_M_impl") {
		tree := l.at(o, "_M_t")
		if args := tree.Type.Strip().TemplateArgs(); len(args) > 1 && args[1].IsType {
			elem = args[1].Type
		}
		head = l.addr(&tree, "_M_impl", "_M_header")
		first, n = l.num(&tree, "_M_impl", "_M_header", "_M_left"), l.num(&tree, "_M_impl", "_M_node_count")
		at = links{parent: 8, left: 16, right: 24}
		if elem != nil && n > 0 {
			node = nodeType(o, "_Rb_tree_node", elem)
		}
	} else {
		tree := l.at(o, "__tree_")
		if l.unknown {
			return nil, nil
		}
		elem = firstArg(tree.Type)
		first = l.num(&tree, "__begin_node_")
		end := compressed(&tree, "__pair1_", "__end_node_")
		head, n = l.addr(&tree, end...), l.num(&tree, compressed(&tree, "__pair3_", "__size_")...)
		at = links{left: 0, right: 8, parent: 16}
		if elem != nil && n > 0 {
			node = nodeType(o, "__tree_node", elem)
		}
	}
	if v, ok := l.broken(Sequence); ok || elem == nil {
		return nil, v
	}
	if first == head {
		first = 0
	}
	c := &chain{o: o, n: n, first: first, node: node, element: storage(elem)}
	c.next = func(addr uint64) (uint64, error) { return successor(o, addr, head, at) }
	return c, nil
}

// maxHeight bounds the steps from a node of a tree to the next: a balanced tree of all
// of memory is less high.
const maxHeight = 128

// successor returns the next node in order, 0 behind the last one.
func successor(o *value.Object, addr, head uint64, at links) (uint64, error) {
	next, err := word(o, addr+at.right)
	if err != nil {
		return 0, err
	}
	if next != 0 {
		for range maxHeight {
			left, err := word(o, next+at.left)
			if err != nil || left == 0 {
				return next, err
			}
			next = left
		}
		return 0, damaged("its tree is not balanced, or a circle")
	}
	for range maxHeight {
		parent, err := word(o, addr+at.parent)
		switch {
		case err != nil:
			return 0, err
		case parent == head || parent == 0:
			return 0, nil
		}
		right, err := word(o, parent+at.right)
		if err != nil {
			return 0, err
		}
		if right != addr {
			return parent, nil
		}
		addr = parent
	}
	return 0, damaged("its tree is not balanced, or a circle")
}

func cxxHashMap(o *value.Object, _ string) *View {
	c, v := cxxHash(o)
	if c == nil {
		return v
	}
	return c.keyed()
}

func cxxHashSet(o *value.Object, _ string) *View {
	c, v := cxxHash(o)
	if c == nil {
		return v
	}
	return c.view(Sequence)
}

// cxxHash reads a hash table, whose elements are in one list.
func cxxHash(o *value.Object) (*chain, *View) {
	var l layout
	var first, n uint64
	var elem, node *info.Type
	if has(o, "_M_h") {
		table := l.at(o, "_M_h")
		if args := table.Type.Strip().TemplateArgs(); len(args) > 1 && args[1].IsType {
			elem = args[1].Type
		}
		first, n = l.num(&table, "_M_before_begin", "_M_nxt"), l.num(&table, "_M_element_count")
		if elem != nil && n > 0 {
			node = nodeType(o, "_Hash_node", elem)
		}
	} else {
		table := l.at(o, "__table_")
		if l.unknown {
			return nil, nil
		}
		elem = firstArg(table.Type)
		first = l.num(&table, append(compressed(&table, "__p1_", "__first_node_"), "__next_")...)
		n = l.num(&table, compressed(&table, "__p2_", "__size_")...)
		if elem != nil && n > 0 {
			node = nodeType(o, "__hash_node", elem)
		}
	}
	if v, ok := l.broken(Sequence); ok || elem == nil {
		return nil, v
	}
	c := &chain{o: o, n: n, first: first, node: node, element: storage(elem)}
	c.next = func(addr uint64) (uint64, error) { return word(o, addr) }
	return c, nil
}
