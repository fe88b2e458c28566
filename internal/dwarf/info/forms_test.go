package info

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// TestForms has a constant and a name of each form.
func TestForms(t *testing.T) {
	for _, order := range bothOrders {
		two := `"\x01\x02"`
		tests := []struct{ attr, want string }{
			{"const_value:data1=200", "=200"},
			{"const_value:data2=0x8001", "=32769"},
			{"const_value:data4=0x80000001", "=2147483649"},
			{"const_value:data8=-5", "=-5"},
			{"const_value:sdata=-5", "=-5"},
			{"const_value:sdata=-65", "=-65"},
			{"const_value:sdata=64", "=64"},
			{"const_value:sdata=-9223372036854775808", "=-9223372036854775808"},
			{"const_value:sdata=-4611686018427387904", "=-4611686018427387904"},
			{"const_value:udata=300", "=300"},
			{"const_value:udata=0xffffffffffffffff", "=-1"},
			{"const_value:implicit_const=-9", "=-9"},
			{"const_value:flag=1", "=1"},
			{"const_value:flag_present", "=1"},
			{"const_value:indirect.data2=0x8001", "=32769"},
			{"const_value:indirect.udata=300", "=300"},
			{"const_value:block1=0102", two},
			{"const_value:block2=0102", two},
			{"const_value:block4=0102", two},
			{"const_value:block=0102", two},
			{"const_value:exprloc=0102", two},
			{"const_value:data16=000102030405060708090a0b0c0d0e0f", `"\x00\x01\x02\x03\x04\x05\x06\a\b\t\n\v\f\r\x0e\x0f"`},
			{"const_value:string=ab", `"ab\x00"`},
			{"const_value:strp=ab", `"ab\x00"`},
			{"const_value:line_strp=ab", `"ab\x00"`},
			{"const_value:strx=1", `"no\x00"`},
			{"const_value:GNU_str_index=1", `"no\x00"`},
			{"const_value:GNU_strp_alt=1", `"alt\x00"`},
			{"const_value:strp_sup=1", `"alt\x00"`},
			{"const_value:addr=0x1234", "=4660"},
			{"const_value:addrx=1", "=34"},
			{"const_value:GNU_addr_index=1", "=34"},
			{"location:block1=9100", " 9100"},
			{"location:block2=9100", " 9100"},
			{"location:block4=9100", " 9100"},
			{"location:block=9100", " 9100"},
			{"location:data1=5", ""},
		}
		sup := testkit.DWARF{Order: order, Text: "unit 4\npartial_unit\n  base_type #int name=int byte_size=4 encoding=5\n"}
		s := sup.Sections()
		s[2].Data = []byte("\x00alt\x00")
		image := testkit.ELF{Order: order, Type: 1, Machine: 62, Sections: s}
		alt, err := elfx.Parse(image.File())
		if err != nil {
			t.Fatal(err)
		}
		for _, is64 := range []string{"", " 64"} {
			more := []testkit.ELFSection{
				{Name: ".gnu_debugaltlink", Type: 1, Data: []byte("sup\x00\xab\xcd"), Align: 1},
				debugSection(order, ".debug_addr", func(b *testkit.Bytes) { b.D64(0x11, 0x22, 0x33) }),
				debugSection(order, ".debug_str_offsets", func(b *testkit.Bytes) {
					if is64 != "" {
						b.D64(0, 9, 14)
					} else {
						b.D32(0, 9, 14)
					}
				}),
			}
			for _, tt := range tests {
				d := testkit.DWARF{Order: order, Text: strings.Replace(madeUnit, "unit 5", "unit 5"+is64, 1) +
					"  subprogram name:strp=fun low_pc=0x1000 high_pc=0x10\n    variable name:strp=no\n    variable name=v " + tt.attr + "\n    variable name=end location=9107\n"}
				data := New(elfFile(t, d, more...), Options{Supplement: func(name, id string) *elfx.File {
					if name != "sup" || id != "abcd" {
						t.Errorf("got supplement %s of %s", name, id)
					}
					return alt
				}})
				got := variables(t, data, 0x1000)
				want := "no, v " + tt.want + ", end 9107"
				if strings.HasPrefix(tt.want, " ") || tt.want == "" {
					want = "no, v" + tt.want + ", end 9107"
				}
				if got != want {
					t.Errorf("%v%s, %s: got %s, want %s", order, is64, tt.attr, got, want)
				}
			}
		}
	}
}

// TestStringIndexes has forms of indexes whose sizes are fixed.
func TestStringIndexes(t *testing.T) {
	for _, order := range bothOrders {
		for i, form := range []string{"strx", "strx1", "strx2", "strx3", "strx4", "GNU_str_index"} {
			index := 1
			text := fmt.Sprintf("%s  subprogram name:%s=%d low_pc:%s=1 high_pc=0x10\n    variable name=v\n", strings.Replace(madeUnit, "low_pc", "str_offsets_base=4 addr_base=8 low_pc", 1),
				form, index, []string{"addrx", "addrx1", "addrx2", "addrx3", "addrx4", "GNU_addr_index"}[i])
			d := testkit.DWARF{Order: order, Text: text}
			s := append(d.Sections()[:2], testkit.ELFSection{Name: ".debug_str", Type: 1, Data: []byte("a\x00bc\x00"), Align: 1},
				debugSection(order, ".debug_str_offsets", func(b *testkit.Bytes) { b.D32(7, 0, 2) }), debugSection(order, ".debug_addr", func(b *testkit.Bytes) { b.D64(0, 0, 0x1010) }))
			image := testkit.ELF{Order: order, Type: 2, Machine: 62, Sections: s}
			f, err := elfx.Parse(image.File())
			if err != nil {
				t.Fatal(err)
			}
			if got := names(t, New(f, Options{}), 0x1014); got != "bc" {
				t.Errorf("%v, %s: got %s, want bc", order, form, got)
			}
		}
	}
}

// TestReferences has a type by each form of references.
func TestReferences(t *testing.T) {
	for _, order := range bothOrders {
		sup := elfFile(t, testkit.DWARF{Order: order, Text: "unit 4\npartial_unit\n  base_type #int name=altint byte_size=4 encoding=5\n"})
		for _, tt := range []struct{ form, want string }{
			{"ref1=#int", "int"},
			{"ref2=#int", "int"},
			{"ref4=#int", "int"},
			{"ref8=#int", "int"},
			{"ref_addr=#int", "int"},
			{"ref_addr=#far", "far"},
			{"ref_udata=30", "int"},
			{"ref_sig8=0x1122334455667788", "struct sig"},
			{"ref_sig8=0x99", "(unknown type)"},
			{"ref4=0x500", "(unknown type)"},
			{"ref4=1", "(unknown type)"},
			{"ref_addr=0x5000", "(unknown type)"},
			{"GNU_ref_alt=12", "altint"},
			{"ref_sup4=12", "altint"},
			{"ref_sup8=12", "altint"},
			{"data4=12", "(unknown type)"},
		} {
			for _, version := range []int{5, 2, 4} {
				text := strings.Replace(madeUnit, "unit 5", fmt.Sprint("unit ", version), 1)
				if version != 5 {
					tt.form = strings.Replace(tt.form, "ref_udata=30", "ref_udata=29", 1)
				}
				if version == 2 && strings.HasPrefix(tt.form, "ref_addr") {
					continue // of the size of an address
				}
				text += "  base_type #int name=int byte_size=4 encoding=5\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    variable name=w location=9104\n    variable name=v location=9108 type=#p\n  pointer_type #p type:" + tt.form + "\n"
				text += "unit 5 kind=2 id=0x1122334455667788 type=#sig\ntype_unit\n  structure_type #sig name=sig\n    member name=m\nunit 4\ncompile_unit\n  base_type #far name=far byte_size=4\n"
				d := New(elfFile(t, testkit.DWARF{Order: order, Text: text}, testkit.ELFSection{Name: ".gnu_debugaltlink", Type: 1, Data: []byte("s\x00a"), Align: 1}),
					Options{Supplement: func(string, string) *elfx.File { return sup }})
				got := variables(t, d, 0x1000)
				if want := "w 9104, v " + tt.want + " * 9108"; got != want {
					t.Errorf("%v, version %d, %s: got %s, want %s", order, version, tt.form, got, want)
				}
			}
		}
	}
}

// TestTypeUnits has types in units of their own as GCC writes them for DWARF 4.
func TestTypeUnits(t *testing.T) {
	const use = "  subprogram name=f low_pc=0x1000 high_pc=0x10\n    variable name=v location=9100 type:ref_sig8=0x1122334455667788\n    variable name=w location=9100 type=#d\n  structure_type #d name=s declaration signature=0x1122334455667788\n"
	types := testkit.DWARF{Types: true, Text: "unit 4 id=0x99 type=#b\ntype_unit\n  structure_type #b name=no\nunit 4 id=0x1122334455667788 type=#a\ntype_unit\n  base_type name=x\n  structure_type #a name=s byte_size=4\n    member name=m type=#i\n  base_type #i name=int byte_size=4\n"}
	for _, order := range bothOrders {
		types.Order = order
		d := testkit.DWARF{Order: order, Text: strings.Replace(madeUnit, "unit 5", "unit 4", 1) + use}
		main := d.Sections()
		both := types.Sections()
		// The units have one table of abbreviations; those of the types are behind.
		both[0].Data = shifted(order, both[0].Data, uint32(len(main[1].Data)))
		main[1].Data = append(main[1].Data, both[1].Data...)
		image := testkit.ELF{Order: order, Type: 2, Machine: 62, Sections: append(main, both[0])}
		f, err := elfx.Parse(image.File())
		if err != nil {
			t.Fatal(err)
		}
		data := New(f, Options{})
		if got, want := variables(t, data, 0x1000), "v struct s 9100, w struct s 9100"; got != want {
			t.Errorf("%v: got %s, want %s", order, got, want)
		}
		scopes, _ := data.Scopes(0x1000)
		for _, v := range scopes[0].Variables {
			if members, _ := v.Type.Members(); len(members) != 1 || members[0].Name != "m" || members[0].Type.String() != "int" || v.Type.Declared || v.Type.Size != 4 {
				t.Errorf("%v: %s: got %+v of %d bytes", order, v.Name, members, v.Type.Size)
			}
		}
	}
}

// shifted returns units whose abbreviations begin at an offset.
func shifted(order binary.ByteOrder, units []byte, off uint32) []byte {
	for at := 0; at < len(units); at += 4 + int(order.Uint32(units[at:])) {
		order.PutUint32(units[at+6:], off)
	}
	return units
}
