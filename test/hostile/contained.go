package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/testkit"
)

// heldAt is where the containers of an input are, a page of memory for all of them.
const heldAt = 0x600000000000

// held is a program whose only function has n variables of a type, all of them at the
// start of the page. unit is what its debug information has before the function.
func held(language int, unit, typ string, n int) *testkit.DWARF {
	at := fmt.Sprintf("%x", testkit.New(binary.LittleEndian).D8(0x03).D64(heldAt).Done()) // DW_OP_addr
	return &testkit.DWARF{Order: binary.LittleEndian, Text: fmt.Sprintf(`
unit 5
compile_unit language=%#x name=a low_pc=%#x high_pc=%#x
  base_type #int name=int byte_size=4 encoding=5
  base_type #byte name=u8 byte_size=1 encoding=7
  base_type #ulong name=usize byte_size=8 encoding=7
  pointer_type #pv name="*mut u8" type=#byte
%s
  subprogram name=f low_pc=%#x high_pc=%#x
%s`, language, textAt, textSize, unit, textAt, textSize, strings.Repeat("    variable name=v type=#"+typ+" location="+at+"\n", n))}
}

// heldBy runs bt on a process whose stack has frames of that function, and whose page
// has words.
func (f *folder) heldBy(d *testkit.DWARF, n, threads int, words []uint64, more func(c *testkit.Core)) []string {
	f.program(append(d.Sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
	return f.bt(process{threads: threads, stack: frames(n, everyCall), more: func(c *testkit.Core) {
		page := make([]byte, 4096)
		for i, w := range words {
			binary.LittleEndian.PutUint64(page[8*i:], w)
		}
		c.Segment(heldAt, 4096, false, page)
		if more != nil {
			more(c)
		}
	}}, "--locals")
}

const (
	cxx, rust = 0x1a, 0x1c

	// Lists of C++, of which the nodes have the given type.
	listTypes = `
  pointer_type #next
  namespace name=std
    structure_type #fbase name=_Fwd_list_node_base byte_size=8
      member name=_M_next type=#next
    structure_type #fimpl name=_Fwd_list_impl byte_size=8
      member name=_M_head type=#fbase
    structure_type name="_Fwd_list_node<int>" byte_size=16
      inheritance type=#fbase
      member name=_M_storage type=#int data_member_location=8
      template_type_parameter name=_Tp type=#int
    class_type #forward name="forward_list<int, std::allocator<int> >" byte_size=8
      member name=_M_impl type=#fimpl
      template_type_parameter name=_Tp type=#int
`
	treeTypes = `
  pointer_type #next
  namespace name=std
    structure_type #tnode name=_Rb_tree_node_base byte_size=32
      member name=_M_color type=#int
      member name=_M_parent type=#next data_member_location=8
      member name=_M_left type=#next data_member_location=16
      member name=_M_right type=#next data_member_location=24
    structure_type name="_Rb_tree_node<int>" byte_size=40
      inheritance type=#tnode
      member name=_M_storage type=#int data_member_location=32
      template_type_parameter name=_Val type=#int
    structure_type #timpl name=_Rb_tree_impl byte_size=48
      member name=_M_header type=#tnode data_member_location=8
      member name=_M_node_count type=#ulong data_member_location=40
    class_type #tree name="_Rb_tree<int, int>" byte_size=48
      member name=_M_impl type=#timpl
      template_type_parameter name=_Key type=#int
      template_type_parameter name=_Val type=#int
    class_type #set name="set<int>" byte_size=48
      member name=_M_t type=#tree
      template_type_parameter name=_Key type=#int
`
	hashTypes = `
  structure_type #pair name="(i32, i32)" byte_size=8
    member name=__0 type=#int
    member name=__1 type=#int data_member_location=4
  structure_type #inner name=RawTableInner byte_size=32
    member name=ctrl type=#pv
    member name=bucket_mask type=#ulong data_member_location=8
    member name=items type=#ulong data_member_location=24
  structure_type #raw name="RawTable<(i32, i32)>" byte_size=32
    member name=table type=#inner
    template_type_parameter name=T type=#pair
  namespace name=hashbrown
    namespace name=map
      structure_type #hash name="HashMap<i32, i32>" byte_size=32
        member name=table type=#raw
`
)

func contained() []input {
	chain := make([]uint64, 512)
	for i := range chain {
		chain[i] = heldAt + uint64(8*((i+1)%len(chain)))
	}
	// In the tree each node has the next one on its left, and no node has one on its
	// right; the first element is the last node.
	spine := []uint64{0, 0, heldAt + 64, heldAt + 64, 0, 1 << 20}
	for i := range uint64(100) {
		at := heldAt + 64 + 32*i
		left := at + 32
		if i == 99 {
			left = 0
		}
		spine = append(spine, make([]uint64, 8+4*int(i)-len(spine))...)
		spine = append(spine, 0, heldAt+8, left, heldAt+64)
	}
	buckets := func(n int) func(c *testkit.Core) {
		return func(c *testkit.Core) {
			const at, chunk = 0x610000000000, 1 << 20
			empty := times(chunk, 0xff)
			for i := range uint64(n) {
				c.Segment(at+i*chunk, chunk, false, empty)
			}
		}
	}
	return []input{
		{"held-forward", "lists that are a circle, 2,000 of them at each of 1,000 frames", false, func(f *folder) []string {
			return f.heldBy(held(cxx, listTypes, "forward", 2000), 1000, 1, chain, nil)
		}},
		{"held-tree", "trees of a path of 100 nodes, 2,000 of them at each of 1,000 frames", false, func(f *folder) []string {
			return f.heldBy(held(cxx, treeTypes, "set", 2000), 1000, 1, spine, nil)
		}},
		{"held-hash", "hash tables of 134,217,728 empty buckets, 2,000 of them at each of 1,000 frames", false, func(f *folder) []string {
			return f.heldBy(held(rust, hashTypes, "hash", 2000), 1000, 1, []uint64{0x610000000000, 1<<27 - 1, 0, 5}, buckets(128))
		}},
		{"held-nodes", "lists whose nodes have one of 4,000 types of that name, 2,000 of them at each of 1,000 frames", false, func(f *folder) []string {
			var b strings.Builder
			for i := range 4000 {
				fmt.Fprintf(&b, "  structure_type #e%d name=e%d byte_size=4\n  structure_type name=\"_Fwd_list_node<e%d>\" byte_size=16\n    template_type_parameter name=_Tp type=#e%d\n", i, i, i, i)
			}
			types := b.String() + strings.Replace(listTypes, `"_Fwd_list_node<int>"`, `other`, 1)
			return f.heldBy(held(cxx, types, "forward", 2000), 1000, 1, chain, nil)
		}},
		{"held-quick", "lists that are a circle, 100 of them at each of 10 frames", true, func(f *folder) []string {
			return f.heldBy(held(cxx, listTypes, "forward", 100), 10, 1, chain, nil)
		}},
		{"locals-threads", "2,000 threads that share a stack of 150 frames with 2,000 variables each", false, func(f *folder) []string {
			return f.heldBy(held(cxx, "", "int", 2000), 150, 2000, nil, nil)
		}},
	}
}
