package container

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

const (
	testStack = 0x7000
	testHeap  = 0x8000
)

// program has one variable of each kind of container, as libstdc++ and Rust's std lay
// them out. The real libraries are tested by test/expressions.
const program = `
unit 5
compile_unit language=0x1a name=a.cc low_pc=0x1000 high_pc=0x100
  base_type #int name=int byte_size=4 encoding=5
  base_type #char name=char byte_size=1 encoding=6
  base_type #ulong name="unsigned long" byte_size=8 encoding=7
  pointer_type #pint type=#int
  pointer_type #pchar type=#char
  pointer_type #pv
  namespace name=std
    structure_type #vimpl name=_Vector_impl byte_size=24
      member name=_M_start type=#pint
      member name=_M_finish type=#pint data_member_location=8
      member name=_M_end_of_storage type=#pint data_member_location=16
    class_type #vector name="vector<int, std::allocator<int> >" byte_size=24
      member name=_M_impl type=#vimpl
      template_type_parameter name=_Tp type=#int
    structure_type #plus name=_Alloc_hider byte_size=8
      member name=_M_p type=#pchar
    class_type #string name="basic_string<char>" byte_size=32
      member name=_M_dataplus type=#plus
      member name=_M_string_length type=#ulong data_member_location=8
      template_type_parameter name=_CharT type=#char
    structure_type #lnode name=_List_node_base byte_size=16
      member name=_M_next type=#pv
      member name=_M_prev type=#pv data_member_location=8
    structure_type #lhead name=_List_node_header byte_size=24
      inheritance type=#lnode
      member name=_M_size type=#ulong data_member_location=16
    structure_type #limpl name=_List_impl byte_size=24
      member name=_M_node type=#lhead
    structure_type name="_List_node<int>" byte_size=24
      inheritance type=#lnode
      member name=_M_storage type=#int data_member_location=16
      template_type_parameter name=_Tp type=#int
    class_type #list name="list<int, std::allocator<int> >" byte_size=24
      member name=_M_impl type=#limpl
      template_type_parameter name=_Tp type=#int
    structure_type #tnode name=_Rb_tree_node_base byte_size=32
      member name=_M_color type=#int
      member name=_M_parent type=#pv data_member_location=8
      member name=_M_left type=#pv data_member_location=16
      member name=_M_right type=#pv data_member_location=24
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
    class_type #odd name="vector<int, odd>" byte_size=8
      member name=begin type=#pint
      template_type_parameter name=_Tp type=#int
  subprogram name=f low_pc=0x1000 high_pc=0x80 frame_base=9c
    variable name=vector type=#vector location=9100
    variable name=string type=#string location=9118
    variable name=list type=#list location=9138
    variable name=set type=#set location=91d000
    variable name=odd type=#odd location=9100
`

// objects returns the variables of the program, with 0x100 bytes of memory on its stack
// and 0x200 on its heap.
func objects(t testing.TB, stack, heap []byte) map[string]value.Object {
	t.Helper()
	d := testkit.DWARF{Order: binary.LittleEndian, Text: program}
	f, err := elfx.Parse(d.File(arch.AMD64.Machine))
	if err != nil {
		t.Fatal(err)
	}
	frame := &value.Frame{
		Arch: arch.AMD64, Mem: &testkit.Memory{Segs: map[uint64][]byte{testStack: stack, testHeap: heap}},
		Data: info.New(f, info.Options{}), PC: 0x1010, Regs: &arch.Regs{}, CFA: testStack,
	}
	scopes, err := frame.Scopes()
	if err != nil || len(scopes) != 1 {
		t.Fatalf("got %d scopes, %v", len(scopes), err)
	}
	all := map[string]value.Object{}
	for i := range scopes[0].Variables {
		v := &scopes[0].Variables[i]
		all[v.Name] = scopes[0].Object(v)
	}
	return all
}

// text shows up to 10 parts of a container.
func text(o value.Object) string {
	v, ok := Of(&o)
	if !ok {
		return "raw"
	}
	if v.Kind == Text || v.Err != nil {
		return v.Text + reason(v.Err)
	}
	parts, err := v.Parts(0, 10)
	var list []string
	for i := range parts {
		s, err := parts[i].Text()
		list = append(list, s+reason(err))
	}
	return fmt.Sprintf("%d{%s}%s", v.Len, strings.Join(list, ", "), reason(err))
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return "(" + err.Error() + ")"
}

// memory is the stack and the heap of a program in which all containers are whole.
type memory struct{ stack, heap []byte }

func whole() memory {
	m := memory{make([]byte, 0x100), make([]byte, 0x200)}
	heap := func(off uint64) uint64 { return testHeap + off }
	m.words(0x00, heap(0), heap(12), heap(16)) // vector: 3 of 4
	m.ints(0, 5, 6, 7)
	m.words(0x18, heap(0x20), 5) // string
	copy(m.heap[0x20:], "hello")
	m.words(0x38, heap(0x40), heap(0x60), 2) // list
	m.nodes(0x40, heap(0x60), testStack+0x38)
	m.ints(0x50, 8)
	m.nodes(0x60, testStack+0x38, heap(0x40))
	m.ints(0x70, 9)
	// set: 2 above 1 and 3; its header is at 0x58 of the stack.
	m.words(0x58, 0, heap(0xc0), heap(0x80), heap(0x100), 3)
	m.nodes(0x80, 0, heap(0xc0), 0, 0)
	m.ints(0xa0, 1)
	m.nodes(0xc0, 0, testStack+0x58, heap(0x80), heap(0x100))
	m.ints(0xe0, 2)
	m.nodes(0x100, 0, heap(0xc0), 0, 0)
	m.ints(0x120, 3)
	return m
}

func (m *memory) words(off int, v ...uint64) {
	for i, w := range v {
		binary.LittleEndian.PutUint64(m.stack[off+8*i:], w)
	}
}

func (m *memory) nodes(off int, v ...uint64) {
	for i, w := range v {
		binary.LittleEndian.PutUint64(m.heap[off+8*i:], w)
	}
}

func (m *memory) ints(off int, v ...uint32) {
	for i, w := range v {
		binary.LittleEndian.PutUint32(m.heap[off+4*i:], w)
	}
}

func TestContainers(t *testing.T) {
	m := whole()
	for name, want := range map[string]string{
		"vector": "3{5, 6, 7}", "string": `"hello"`, "list": "2{8, 9}", "set": "3{1, 2, 3}",
		"odd": "raw", // a vector whose members are others
	} {
		if got := text(objects(t, m.stack, m.heap)[name]); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestDamaged(t *testing.T) {
	const not = "damaged, or not initialised: "
	for _, tt := range []struct {
		name, what string
		change     func(m *memory)
		want       string
	}{
		{"vector", "ends before it begins", func(m *memory) { m.words(8, testHeap-4) }, "(" + not + "its pointers are not in order: 0x8000, 0x7ffc, 0x8010)"},
		{"vector", "ends behind its room", func(m *memory) { m.words(8, testHeap+20) }, "(" + not + "its pointers are not in order: 0x8000, 0x8014, 0x8010)"},
		{"vector", "no whole number", func(m *memory) { m.words(8, testHeap+5) }, "(" + not + "5 bytes are not a number of elements of 4 bytes)"},
		{"vector", "huge", func(m *memory) { m.words(0, 0, 1<<62, 1<<62) }, "(" + not + "it cannot have 1152921504606846976 elements)"},
		{"vector", "not in memory", func(m *memory) { m.words(0, 0x9000, 0x9004, 0x9004) }, "1{(memory at 0x9000: not mapped)}"},
		{"string", "huge", func(m *memory) { m.words(0x20, 1<<40) }, "(" + not + "it cannot have 1099511627776 characters)"},
		{"string", "not in memory", func(m *memory) { m.words(0x18, 0x9000) }, "(memory at 0x9000: not mapped)"},
		{"list", "a circle", func(m *memory) { m.nodes(0x60, testHeap+0x40) }, "2{8, 9}(" + not + "more elements follow than the 2 that it says)"},
		{"list", "says too many", func(m *memory) { m.words(0x48, 3) }, "3{8, 9}(" + not + "it has 2 elements, but says 3)"},
		{"list", "says too few", func(m *memory) { m.words(0x48, 1) }, "1{8}(" + not + "more elements follow than the 1 that it says)"},
		{"list", "leads nowhere", func(m *memory) { m.nodes(0x40, 0x9000) }, "2{8, (memory at 0x9010: not mapped)}(memory at 0x9000: not mapped)"},
		{"set", "a circle", func(m *memory) { m.nodes(0x98, testHeap+0xc0) }, "3{1, 1, 1}(" + not + "more elements follow than the 3 that it says)"},
		{"set", "says too many", func(m *memory) { m.words(0x78, 4) }, "4{1, 2, 3}(" + not + "it has 3 elements, but says 4)"},
		{"set", "says too few", func(m *memory) { m.words(0x78, 2) }, "2{1, 2}(" + not + "more elements follow than the 2 that it says)"},
		{"set", "empty, but says one", func(m *memory) { m.words(0x58, 0, 0, testStack+0x58, testStack+0x58, 1) }, "(" + not + "it has no elements, but says 1)"},
	} {
		m := whole()
		tt.change(&m)
		if got := text(objects(t, m.stack, m.heap)[tt.name]); got != tt.want {
			t.Errorf("%s, %s: got %s, want %s", tt.name, tt.what, got, tt.want)
		}
	}
}

func TestPages(t *testing.T) {
	m := whole()
	all := objects(t, m.stack, m.heap)
	for _, name := range []string{"vector", "list", "set"} {
		o := all[name]
		v, _ := Of(&o)
		for from := range v.Len + 2 {
			for count := range v.Len + 2 {
				parts, err := v.Parts(from, count)
				want := min(count, v.Len-min(v.Len, from))
				if uint64(len(parts)) != want || err != nil {
					t.Errorf("%s, %d from %d: got %d parts, %v, want %d", name, count, from, len(parts), err, want)
				}
				for i := range parts {
					if want := fmt.Sprintf("[%d]", from+uint64(i)); parts[i].Name != want {
						t.Errorf("%s: got a part %s, want %s", name, parts[i].Name, want)
					}
				}
			}
		}
	}
}

// What is read to find elements is counted. The type of nodes is looked for once in a
// frame, and not at all where many others were.
func TestSteps(t *testing.T) {
	m := whole()
	o := objects(t, m.stack, m.heap)["list"]
	f := o.Scope().Frame()
	v, ok := Of(&o)
	if !ok || f.Steps != typeSteps || len(f.Nodes) != 1 {
		t.Fatalf("got %+v, %v, %d steps, types %v", v, ok, f.Steps, f.Nodes)
	}
	if _, err := v.Parts(0, 2); err != nil || f.Steps != typeSteps+2 {
		t.Errorf("got %v, %d steps", err, f.Steps)
	}
	if _, ok := Of(&o); !ok || f.Steps != typeSteps+2 {
		t.Errorf("again: got %v, %d steps", ok, f.Steps)
	}
	clear(f.Nodes)
	for i := range maxNodes {
		f.Nodes[fmt.Sprint(i)] = nil
	}
	if _, ok := Of(&o); ok || f.Steps != typeSteps+2 {
		t.Errorf("with many types: got %v, %d steps", ok, f.Steps)
	}
}

func TestFamily(t *testing.T) {
	for name, want := range map[string]string{
		"std::vector<int>": "std::vector", "std::__1::map<a::b<c>, d>": "std::map", "std::__cxx11::basic_string<char>": "std::basic_string",
		"std::__detail::_Node<int>": "std::_Node", "mine::vector<int>": "mine::vector", "std::__1::__tree<int>": "std::__1::__tree",
	} {
		if got := family(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// FuzzContainers reads containers in any memory. Parts are no more than were asked for,
// pages are parts of the whole, and the same memory gives the same again.
func FuzzContainers(f *testing.F) {
	m := whole()
	f.Add(m.stack, m.heap)
	f.Fuzz(func(t *testing.T, stack, heap []byte) {
		if len(heap) > 1<<12 || len(stack) > 1<<10 {
			return
		}
		all := objects(t, stack, heap)
		for name, o := range all {
			if first, second := text(o), text(o); first != second {
				t.Fatalf("%s: got %s and then %s", name, first, second)
			}
			v, ok := Of(&o)
			if !ok {
				continue
			}
			if v.Err != nil && errors.Is(v.Err, errDamaged) && v.Len > 0 {
				t.Fatalf("%s: got %d parts of what is damaged: %v", name, v.Len, v.Err)
			}
			parts, _ := v.Parts(0, 8)
			page, _ := v.Parts(1, 3)
			if len(parts) > 8 || len(page) > 3 || len(page) > max(0, len(parts)-1) {
				t.Fatalf("%s: got %d parts of 8, and %d of 3", name, len(parts), len(page))
			}
		}
	})
}
