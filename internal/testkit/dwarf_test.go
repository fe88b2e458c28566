package testkit

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// TestDWARF reads what was built with the standard library.
func TestDWARF(t *testing.T) {
	const text = `
unit 4
compile_unit name:strp="a b" low_pc=0x1000 high_pc:data4=16
	base_type #int name=int byte_size=4 encoding:udata=5
	subprogram name=f external
		variable name=x type=#int location=9170
		variable name=y type:ref_addr=#int const_value:sdata=-3
	pointer_type type=#int
unit 5 64
[7] compile_unit name:line_strp=second decl
	variable name=z const_value:implicit_const=-9 type:ref_addr=#int
	variable name=w const_value:block2=0102
`
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		d := DWARF{Order: order, Text: strings.Replace(text, " decl", "", 1)}
		s := d.Sections()
		data, err := dwarf.New(s[1].Data, nil, nil, s[0].Data, nil, nil, nil, s[2].Data)
		if err != nil {
			t.Fatal(err)
		}
		if err := data.AddSection(".debug_line_str", s[3].Data); err != nil {
			t.Fatal(err)
		}
		var got []string
		depth := 0
		for r := data.Reader(); ; {
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e == nil {
				break
			}
			if e.Tag == 0 {
				depth--
				continue
			}
			got = append(got, fmt.Sprintf("%d %s %v", depth, e.Tag, e.Val(dwarf.AttrName)))
			if v := e.Val(dwarf.AttrConstValue); v != nil {
				got = append(got, fmt.Sprint(v))
			}
			if e.Children {
				depth++
			}
			if off, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
				to := data.Reader()
				to.Seek(off)
				if e, err := to.Next(); err != nil || e.Val(dwarf.AttrName) != "int" {
					t.Errorf("the type is at %#x: %v, %v", off, e, err)
				}
			}
		}
		want := "0 CompileUnit a b, 1 BaseType int, 1 Subprogram f, 2 Variable x, 2 Variable y, -3, 1 PointerType <nil>, " +
			"0 CompileUnit second, 1 Variable z, -9, 1 Variable w, [1 2]"
		if strings.Join(got, ", ") != want {
			t.Errorf("%v: got %s\nwant %s", order, strings.Join(got, ", "), want)
		}
	}
}
