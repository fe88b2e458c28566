package process

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

const (
	partsText = 0x400000
	partsData = 0x500000
	atData    = " location=030000500000000000" // DW_OP_addr
)

// partsProcess makes a process of one function, of which debug information says what text
// does, and the stack of its one frame. There is memory of zeros at partsData.
func partsProcess(t *testing.T, text string) (*Process, *Stack) {
	t.Helper()
	return partsProcessWith(t, text, make([]byte, 0x10000))
}

// partsProcessWith is partsProcess with other memory at partsData.
func partsProcessWith(t *testing.T, text string, data []byte) (*Process, *Stack) {
	t.Helper()
	dwarf := testkit.DWARF{Order: binary.LittleEndian, Text: text}
	exe := testkit.ELF{Order: binary.LittleEndian, Type: 2, Machine: arch.EMX86_64, Base: partsText, Sections: append([]testkit.ELFSection{
		{Name: ".text", Type: 1, Flags: 6, Addr: partsText, Data: bytes.Repeat([]byte{0x90}, 0x1000), Align: 0x1000},
	}, dwarf.Sections()...)}
	name := filepath.Join(t.TempDir(), "exe")
	if err := os.WriteFile(name, exe.File(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := New(&core.Image{
		Arch: arch.AMD64, Path: "core", Mappings: []core.Mapping{{Lo: partsText, Hi: partsText + 0x1000, Path: name, Exec: true}},
		Mem: memreader.NewSpace([]memreader.Segment{{Addr: partsData, Size: uint64(len(data)), Data: data}}),
	}, Options{Exe: name})
	t.Cleanup(func() { p.Close() })
	return p, &Stack{Thread: &core.Thread{ID: 1}, Frames: []unwind.Frame{{PC: partsText + 0x10, Exact: true}}}
}

const partsUnit = "unit 5\ncompile_unit language=12 low_pc=0x400000 high_pc=0x1000\n base_type #int name=int byte_size=4 encoding=5\n"

// describeOne describes the one variable of a function.
func describeOne(t *testing.T, text string) report.Variable {
	t.Helper()
	p, s := partsProcess(t, partsUnit+text)
	scopes := p.Scopes(s, 0)
	if len(scopes) != 1 || scopes[0].Function != "f" || len(scopes[0].Variables) != 1 {
		t.Fatalf("got %+v, %q", scopes, p.Problems())
	}
	v := scopes[0].Variables[0].Describe()
	if got := p.Problems(); len(got) > 0 {
		t.Errorf("got problems %q", got)
	}
	return v
}

// count returns how many variables and parts there are.
func count(v *report.Variable) int {
	n := 1
	for i := range v.Members {
		n += count(&v.Members[i])
	}
	return n
}

// TestPartsBounded has how many parts of a variable are described, on how many levels.
func TestPartsBounded(t *testing.T) {
	const function = " subprogram name=f low_pc=0x400000 high_pc=0x1000\n  variable name=v type=#t" + atData + "\n"
	array := func(label string, n int) string {
		return fmt.Sprintf(" array_type #%s type=#int\n  subrange_type count:data2=%d\n", label, n)
	}
	v := describeOne(t, array("t", 100)+function)
	if len(v.Members) != 64 || v.More != 36 || !v.Elements || v.Members[63].Name != "[63]" || v.Members[63].Value != "0" {
		t.Errorf("an array: got %d elements, %d more", len(v.Members), v.More)
	}
	if v = describeOne(t, array("t", 64)+function); len(v.Members) != 64 || v.More != 0 {
		t.Errorf("a shorter array: got %d elements, %d more", len(v.Members), v.More)
	}
	members := func(n int, of string) string {
		var b strings.Builder
		fmt.Fprintf(&b, " structure_type #t name=s byte_size:data4=60000\n")
		for i := range n {
			fmt.Fprintf(&b, "  member name=m%d type=#%s data_member_location:data2=%d\n", i, of, i)
		}
		return b.String()
	}
	if v = describeOne(t, members(203, "int")+function); len(v.Members) != 200 || v.More != 3 || v.Elements || v.Members[199].Name != "m199" {
		t.Errorf("a structure: got %d members, %d more", len(v.Members), v.More)
	}
	v = describeOne(t, array("a", 64)+members(20, "a")+function)
	// One, and fifteen with their elements; of the next there are 24.
	if n := count(&v); n != 1000 || len(v.Members) != 16 || v.More != 4 || len(v.Members[15].Members) != 23 || v.Members[15].More != 41 {
		t.Errorf("in all: got %d parts, %d members", n, len(v.Members))
	}
	var nested strings.Builder
	for i := range 8 {
		of := fmt.Sprint("s", i-1)
		if i == 0 {
			of = "int"
		}
		label := fmt.Sprint("s", i)
		if i == 7 {
			label = "t"
		}
		fmt.Fprintf(&nested, " structure_type #%s name=%s byte_size=4\n  member name=in type=#%s data_member_location=0\n", label, label, of)
	}
	v = describeOne(t, nested.String()+function)
	depth := 0
	at := &v
	for ; len(at.Members) == 1; at = &at.Members[0] {
		depth++
	}
	if depth != 6 || at.More != 1 || at.Type != "struct s1" {
		t.Errorf("nested: got %d levels, then %+v", depth, at)
	}
}

// TestParts has some parts of a variable, as many as there are.
func TestParts(t *testing.T) {
	p, s := partsProcess(t, partsUnit+" array_type #t type=#int\n  subrange_type count=100\n subprogram name=f low_pc=0x400000 high_pc=0x1000\n  variable name=v type=#t"+atData+"\n")
	v := &p.Scopes(s, 0)[0].Variables[0]
	if n, err := v.Len(); n != 100 || err != nil || !v.Array() || v.Scalar() {
		t.Errorf("got %d parts, %v, array %v", n, err, v.Array())
	}
	parts, err := v.Parts(98, 10)
	if len(parts) != 2 || err != nil || parts[1].Name != "[99]" || parts[1].Describe().Value != "0" || !parts[1].Scalar() {
		t.Errorf("got %d parts, %v", len(parts), err)
	}
	if _, _, ok := v.Integer(); ok {
		t.Error("an array is an integer")
	}
}

// A pointer is shown by itself, a reference with what it refers to.
func TestPointersAndReferences(t *testing.T) {
	const function = " subprogram name=f low_pc=0x400000 high_pc=0x1000\n  variable name=v type=#t" + atData + "\n"
	for tag, want := range map[string]int{"pointer_type": 0, "reference_type": 1} {
		v := describeOne(t, " structure_type #s name=s byte_size=4\n  member name=m type=#int data_member_location=0\n "+tag+" #t type=#s byte_size=8\n"+function)
		if len(v.Members) != want || v.Address != report.Known(partsData) {
			t.Errorf("%s: got %+v", tag, v)
		}
	}
}

// TestScopes has the functions at a frame, and none where nothing describes the code.
func TestScopes(t *testing.T) {
	const text = " subprogram #in name=in\n  formal_parameter #x name=x type=#int\n subprogram name=f low_pc=0x400000 high_pc=0x100\n  formal_parameter name=a type=#int const_value=3\n  variable name=v type=#int const_value=4\n" +
		"  inlined_subroutine abstract_origin=#in low_pc=0x400010 high_pc=0x10\n   formal_parameter abstract_origin=#x const_value=5\n"
	p, s := partsProcess(t, partsUnit+text)
	s.Frames = append(s.Frames, unwind.Frame{PC: 8}, unwind.Frame{PC: partsText + 0x800})
	var got []string
	for _, scope := range p.Scopes(s, 0) {
		for i := range scope.Variables {
			v := &scope.Variables[i]
			r := v.Describe()
			n, pointer, ok := v.Integer()
			if v.Name != r.Name || v.Argument != r.Argument || !v.Scalar() || v.Array() || pointer || !ok || fmt.Sprint(n) != r.Value {
				t.Errorf("got %+v, described as %+v", v, r)
			}
			got = append(got, fmt.Sprintf("%s %s %s %s %v", scope.Function, r.Type, r.Name, r.Value, r.Argument))
		}
	}
	if want := []string{"in int x 5 true", "f int a 3 true", "f int v 4 false"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := 1; i < 3; i++ {
		if got := p.Scopes(s, i); len(got) != 0 {
			t.Errorf("frame %d: got %+v", i, got)
		}
	}
	if got := p.Problems(); len(got) != 0 {
		t.Errorf("got problems %q", got)
	}
	if p.valueFrame(s, 0) == nil || p.valueFrame(s, 1) != nil {
		t.Error("got no frame for values, or one in no module")
	}
	if got := deepProcess(t, 1, 1).Scopes(s, 0); got != nil {
		t.Errorf("without debug information: got %+v", got)
	}
	// The frames of a report may be fewer: then nobody knows whose variables they are.
	w := p.NewWalker()
	w.names[s.Frames[0].PC] = naming{names: []name{{Location: symbol.Location{Func: "f"}}}}
	r := w.Describe(s, false)
	w.AddVariables(s, r)
	if len(r.Frames) != 3 || r.Frames[0].Variables != nil {
		t.Errorf("got %+v", r.Frames)
	}
}

// Variables of Go are not shown, and this is said.
func TestScopesOfGo(t *testing.T) {
	p, s := partsProcess(t, strings.Replace(partsUnit, "language=12", "language=22", 1)+" subprogram name=main.f low_pc=0x400000 high_pc=0x1000\n  variable name=v type=#int const_value=1\n")
	name := p.Image().Mappings[0].Path
	if got := p.Scopes(s, 0); len(got) != 1 || got[0].Function != "main.f" || len(got[0].Variables) != 0 {
		t.Errorf("got %+v", got)
	}
	if got, want := p.Problems(), name+": variables of Go functions are not shown"; !slices.Equal(got, []string{want}) {
		t.Errorf("got problems %q, want %q", got, want)
	}
}

// A frame has up to 2000 variables and parts, and it is said if there are more.
func TestFrameVariablesBounded(t *testing.T) {
	for n, want := range map[int]int{2000: 2000, 2001: 2000} {
		p, s := partsProcess(t, partsUnit+" subprogram name=f low_pc=0x400000 high_pc=0x1000\n"+strings.Repeat("  variable name=v type=#int const_value=1\n", n))
		w := p.NewWalker()
		r := w.Describe(s, false)
		w.AddVariables(s, r)
		problems := p.Problems()
		if len(r.Frames) != 1 || len(r.Frames[0].Variables) != want || (len(problems) > 0) != (n > want) || n > want && problems[0] != "f has more variables than are shown" {
			t.Errorf("%d: got %d, problems %q", n, len(r.Frames[0].Variables), problems)
		}
	}
}

// Vector registers are those that the thread had, in its innermost frame.
func TestWideRegisters(t *testing.T) {
	p, s := partsProcess(t, partsUnit+" subprogram name=f low_pc=0x400000 high_pc=0x1000\n")
	s.Thread.FPRegSet = make([]byte, 512)
	for i := range s.Thread.FPRegSet {
		s.Thread.FPRegSet[i] = byte(i)
	}
	const xmm1 = 18 // in DWARF
	got := p.valueFrame(s, 0).Wide(xmm1)
	if want := p.img.Arch.Vector.Bytes(xmm1, s.Thread.FPRegSet); len(got) == 0 || !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}
