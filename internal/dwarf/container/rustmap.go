package container

import (
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

func rustHashMap(o *value.Object, _ string) *View { return rustTable(o, true) }

func rustHashSet(o *value.Object, _ string) *View {
	var l layout
	base := *o
	if has(o, "base") {
		base = l.at(o, "base")
	}
	m := l.at(&base, "map")
	if l.done() {
		return nil
	}
	return rustTable(&m, false)
}

const (
	// maxBuckets bounds the buckets of a hash table, and how many are read at a time.
	maxBuckets  = 1 << 28
	bucketsRead = 1 << 12
	// bucketsOfStep is how many buckets take as long as a word that is read.
	bucketsOfStep = 64
	// emptyBucket is set in the control byte of a bucket that holds nothing.
	emptyBucket = 0x80
)

// rustTable reads the hash table of hashbrown: buckets below an address, and a byte for
// each bucket from that address on.
func rustTable(o *value.Object, keyed bool) *View {
	var l layout
	m := *o
	if has(o, "base") {
		m = l.at(o, "base")
	}
	table := l.at(&m, "table")
	if l.done() {
		return nil
	}
	elem := firstArg(table.Type)
	if elem == nil {
		return nil
	}
	mask, n := l.num(&table, "table", "bucket_mask"), l.num(&table, "table", "items")
	ctrl := rustPointer(&table, &l, "table", "ctrl")
	if v, ok := l.broken(Map); ok {
		return v
	}
	size := o.Scope().SizeOf(elem)
	switch {
	case mask&(mask+1) != 0 || mask >= maxBuckets:
		return &View{Kind: Map, Err: damaged("it cannot have %d buckets", mask+1)}
	case n > mask+1:
		return &View{Kind: Map, Err: damaged("it cannot have %d elements in %d buckets", n, mask+1)}
	case size == 0 && n > 0:
		return nil
	}
	// walk calls f with each element until it returns false.
	walk := func(f func(i uint64, e value.Object) bool) error {
		count := uint64(0)
		for b := uint64(0); b <= mask && count < n; b += bucketsRead {
			most := min(bucketsRead, mask+1-b)
			o.Scope().Frame().Steps += int(most / bucketsOfStep)
			bytes := o.Scope().At("", info.MakeArray(charType, most), ctrl+b)
			full, err := bytes.Read(most)
			if err != nil {
				return err
			}
			for i, c := range full {
				if c&emptyBucket != 0 || count == n {
					continue
				}
				if !f(count, o.Scope().At("", elem, ctrl-(b+uint64(i)+1)*size)) {
					return nil
				}
				count++
			}
		}
		if count < n {
			return damaged("it has %d elements, but says %d", count, n)
		}
		return nil
	}
	return rustPairs(n, keyed, walk)
}

// rustPairs is the view of pairs that walk finds.
func rustPairs(n uint64, keyed bool, walk func(f func(i uint64, e value.Object) bool) error) *View {
	kind := Map
	if !keyed {
		kind = Sequence
	}
	v := sized(kind, n)
	if v.Err != nil || n == 0 {
		return v
	}
	list := func(show func(e value.Object, i uint64) value.Object) func(from, count uint64) ([]value.Object, error) {
		return func(from, count uint64) ([]value.Object, error) {
			var parts []value.Object
			err := walk(func(i uint64, e value.Object) bool {
				if i >= from {
					parts = append(parts, show(e, i))
				}
				return i+1 < from+count
			})
			return parts, err
		}
	}
	half := func(e *value.Object, name string) value.Object {
		h, ok, _ := e.Member(name)
		if !ok {
			return *e
		}
		return h
	}
	v.parts = list(func(e value.Object, i uint64) value.Object {
		if !keyed {
			return named(half(&e, "__0"), index(i))
		}
		return pair(half(&e, "__0"), half(&e, "__1"), e, i)
	})
	if keyed {
		v.Keys = list(func(e value.Object, _ uint64) value.Object { return half(&e, "__0") })
	}
	return v
}

func rustTreeMap(o *value.Object, _ string) *View { return rustTree(o, true) }

func rustTreeSet(o *value.Object, _ string) *View {
	var l layout
	m := l.at(o, "map")
	if l.done() {
		return nil
	}
	return rustTree(&m, false)
}

// branch is where a walk through a B-tree is in a node.
type branch struct {
	node value.Object // a LeafNode
	next uint64       // the key that follows
	n    uint64       // keys
}

const (
	// maxTreeHeight bounds the height of a B-tree, whose nodes have at least 6 branches.
	maxTreeHeight = 32
	// maxTreeKeys is how many keys a node has at most.
	maxTreeKeys = 11
)

// rustTree reads a B-tree: leaves have keys and values, and inner nodes also branches.
func rustTree(o *value.Object, keyed bool) *View {
	var l layout
	n := l.num(o, "length")
	args := o.Type.Strip().TemplateArgs()
	if v, ok := l.broken(Map); ok || len(args) < 2 {
		return v
	}
	if n == 0 {
		return sized(Map, 0)
	}
	root := l.at(o, "root")
	some, found, err := root.Variant()
	if err != nil {
		return &View{Kind: Map, Err: err}
	}
	if !found {
		return nil
	}
	if some.Name != "Some" {
		return &View{Kind: Map, Err: damaged("it has no elements, but says %d", n)}
	}
	height := l.num(&some, "__0", "height")
	leaf := l.target(&some, "__0", "node", "pointer")
	if v, ok := l.broken(Map); ok {
		return v
	}
	if height > maxTreeHeight {
		return &View{Kind: Map, Err: damaged("its height is %d", height)}
	}
	inner := rustInner(o, leaf.Type)
	if height > 0 && inner == nil {
		return nil
	}
	key, val := args[0].Type, args[1].Type
	if !has(&leaf, "keys") || !has(&leaf, "vals") || !has(&leaf, "len") {
		return nil
	}
	t := &btree{o: o, leaf: leaf.Type, inner: inner, key: key, val: val, n: n}
	return t.view(keyed, &leaf, height)
}

// rustInner finds the type of inner nodes for that of leaves.
func rustInner(o *value.Object, leaf *info.Type) *info.Type {
	f := o.Scope().Frame()
	if f.Data == nil {
		return nil
	}
	want := strings.Replace(leaf.String(), "LeafNode<", "InternalNode<", 1)
	list, _ := f.Data.Find("InternalNode")
	for i := range list {
		if list[i].Kind == info.DeclType {
			if t := list[i].Type(); t.String() == want {
				return t
			}
		}
	}
	return nil
}

type btree struct {
	o           *value.Object
	leaf, inner *info.Type
	key, val    *info.Type
	n           uint64
}

func (t *btree) view(keyed bool, root *value.Object, height uint64) *View {
	v := sized(Map, t.n)
	if !keyed {
		v = sized(Sequence, t.n)
	}
	list := func(show func(k, val value.Object, i uint64) value.Object) func(from, count uint64) ([]value.Object, error) {
		return func(from, count uint64) ([]value.Object, error) {
			var parts []value.Object
			err := t.walk(root, height, func(i uint64, k, val value.Object) bool {
				if i >= from {
					parts = append(parts, show(k, val, i))
				}
				return i+1 < from+count
			})
			return parts, err
		}
	}
	v.parts = list(func(k, val value.Object, i uint64) value.Object {
		if !keyed {
			return named(k, index(i))
		}
		return pair(k, val, val, i)
	})
	if keyed {
		v.Keys = list(func(k, _ value.Object, _ uint64) value.Object { return k })
	}
	return v
}

// walk calls f with each key and value in order, until it returns false.
func (t *btree) walk(root *value.Object, height uint64, f func(i uint64, k, v value.Object) bool) error {
	stack := make([]branch, 0, maxTreeHeight+1)
	push := func(node value.Object) error {
		t.o.Scope().Frame().Steps++
		var l layout
		n := l.num(&node, "len")
		if l.done() {
			return l.err
		}
		if n > maxTreeKeys {
			return damaged("a node has %d keys", n)
		}
		stack = append(stack, branch{node: node, n: n})
		return nil
	}
	// descend goes to the first leaf below a branch of the node on top.
	descend := func() error {
		for uint64(len(stack)) <= height {
			top := &stack[len(stack)-1]
			child, err := t.edge(&top.node, top.next)
			if err != nil {
				return err
			}
			if err := push(child); err != nil {
				return err
			}
		}
		return nil
	}
	if err := push(*root); err != nil {
		return err
	}
	if err := descend(); err != nil {
		return err
	}
	for i := uint64(0); i < t.n; {
		if i >= maxWalked {
			return errFar
		}
		top := &stack[len(stack)-1]
		if top.next < top.n {
			k, v, err := t.pair(&top.node, top.next)
			if err != nil {
				return err
			}
			if !f(i, k, v) {
				return nil
			}
			i++
			top.next++
			if err := descend(); err != nil {
				return err
			}
			continue
		}
		if stack = stack[:len(stack)-1]; len(stack) == 0 {
			return damaged("it has %d elements, but says %d", i, t.n)
		}
	}
	return nil
}

// pair returns a key and its value.
func (t *btree) pair(node *value.Object, i uint64) (k, v value.Object, err error) {
	var l layout
	keys, vals := l.addr(node, "keys"), l.addr(node, "vals")
	s := t.o.Scope()
	return s.At("", t.key, keys+i*s.SizeOf(t.key)), s.At("", t.val, vals+i*s.SizeOf(t.val)), l.err
}

// edge returns the node below a branch.
func (t *btree) edge(node *value.Object, i uint64) (value.Object, error) {
	var l layout
	addr, _ := node.Address()
	inner := t.o.Scope().At("", t.inner, addr)
	edges := l.addr(&inner, "edges")
	if l.unknown {
		return value.Object{}, errNotInMemory
	}
	if l.err != nil {
		return value.Object{}, l.err
	}
	child, err := word(t.o, edges+8*i)
	if err == nil && child == 0 {
		err = damaged("a branch leads nowhere")
	}
	return t.o.Scope().At("", t.leaf, child), err
}
