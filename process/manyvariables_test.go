package process

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// The elements of a container that are passed over count as parts of it.
func TestContainersCount(t *testing.T) {
	at := fmt.Sprintf("%x", testkit.New(binary.LittleEndian).D8(0x03).D64(partsData).Done()) // DW_OP_addr
	circle := testkit.New(binary.LittleEndian).D64(partsData, 7).Done()
	p, s := partsProcessWith(t, strings.Replace(partsUnit, "language=12", "language=26", 1)+`
 pointer_type #next
 namespace name=std
  structure_type #base name=_Fwd_list_node_base byte_size=8
   member name=_M_next type=#next
  structure_type #impl name=_Fwd_list_impl byte_size=8
   member name=_M_head type=#base
  structure_type name="_Fwd_list_node<int>" byte_size=16
   inheritance type=#base
   member name=_M_storage type=#int data_member_location=8
   template_type_parameter name=_Tp type=#int
  class_type #list name="forward_list<int>" byte_size=8
   member name=_M_impl type=#impl
   template_type_parameter name=_Tp type=#int
 subprogram name=f low_pc=0x400000 high_pc=0x1000
`+strings.Repeat("  variable name=v type=#list location="+at+"\n", 100), circle)
	w := p.NewWalker()
	r := w.Describe(s, false)
	w.AddVariables(s, r)
	list := r.Frames[0].Variables
	if len(list) == 0 || len(list[0].Members) != maxVarElements {
		t.Fatalf("got %d lists", len(list))
	}
	const each = maxVarElements + 1 + 1024/stepsOfPart + maxVarElements/stepsOfPart
	if want := maxFrameParts/each + 1; len(list) != want {
		t.Errorf("got %d lists, want %d", len(list), want)
	}
}

// All stacks together have a bound of variables, and it is told once.
func TestRunVariables(t *testing.T) {
	p, s := partsProcess(t, partsUnit+" subprogram name=f low_pc=0x400000 high_pc=0x1000\n"+strings.Repeat("  variable name=v type=#int const_value=1\n", 60))
	var left atomic.Int64
	left.Store(100)
	for i, want := range []int{60, 40, 0, 0} {
		w := p.NewWalker()
		w.parts = &left
		r := w.Describe(s, false)
		w.AddVariables(s, r)
		if got := len(r.Frames[0].Variables); got != want {
			t.Errorf("stack %d: got %d variables, want %d", i, got, want)
		}
	}
	const want = "all stacks together have more than 1048576 variables: the others are left out"
	if problems := p.Problems(); !slices.Contains(problems, want) || len(problems) > 2 {
		t.Errorf("got problems %q, want %q", problems, want)
	}
}

// A preview has as many parts as were asked for, the first ones, and says how many follow.
func TestPreview(t *testing.T) {
	for parts, want := range map[int]int{1: 0, 20: 19, 40: 39, 1000: 50} {
		p, s := partsProcess(t, partsUnit+" array_type #a type=#int\n  subrange_type upper_bound=49\n subprogram name=f low_pc=0x400000 high_pc=0x1000\n  variable name=v type=#a const_value:block1=00\n")
		r := p.Scopes(s, 0)[0].Variables[0].Preview(parts)
		if len(r.Members) != want || r.More != uint64(50-want) {
			t.Errorf("%d parts: got %d, and %d more: %q", parts, len(r.Members), r.More, r.Missing)
		}
		if want > 0 && r.Members[want-1].Name != fmt.Sprintf("[%d]", want-1) {
			t.Errorf("%d parts: got %s", parts, r.Members[want-1].Name)
		}
	}
}
