package info

import (
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

var bothOrders = []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}

// elfFile returns a file with the debug information of a text.
func elfFile(t testing.TB, d testkit.DWARF, more ...testkit.ELFSection) *elfx.File {
	t.Helper()
	f, err := elfx.Parse(d.File(62, more...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// debugSection is one of more sections of a file.
func debugSection(order binary.ByteOrder, name string, fill func(b *testkit.Bytes)) testkit.ELFSection {
	b := testkit.New(order)
	fill(b)
	return testkit.ELFSection{Name: name, Type: 1, Data: b.Done(), Align: 1}
}

func made(t testing.TB, order binary.ByteOrder, text string, more ...testkit.ELFSection) *Data {
	t.Helper()
	return New(elfFile(t, testkit.DWARF{Order: order, Text: text}, more...), Options{})
}

// names returns the functions at an address, the innermost first.
func names(t testing.TB, d *Data, addr uint64) string {
	t.Helper()
	locs, err := d.Lookup(addr, nil)
	var list []string
	for _, l := range locs {
		list = append(list, l.Func)
	}
	if err != nil {
		list = append(list, "("+err.Error()+")")
	}
	return strings.Join(list, " in ")
}

// variables returns the variables at an address: "name type where".
func variables(t testing.TB, d *Data, addr uint64) string {
	t.Helper()
	scopes, err := d.Scopes(addr)
	var list []string
	for i := range scopes {
		for j := range scopes[i].Variables {
			v := &scopes[i].Variables[j]
			text := v.Name
			if v.Parameter {
				text += "()"
			}
			if v.Type != nil {
				text += " " + v.Type.String()
			}
			switch {
			case v.Where.Known():
				text += fmt.Sprintf(" %x", v.Where.Code)
			case v.IsConst && v.Const.Data != nil:
				text += fmt.Sprintf(" %q", v.Const.Data)
			case v.IsConst:
				text += fmt.Sprintf(" =%d", int64(v.Const.Int))
			}
			list = append(list, text)
		}
		if i < len(scopes)-1 {
			list = append(list, "|")
		}
	}
	if err != nil {
		list = append(list, "("+err.Error()+")")
	}
	return strings.Join(list, ", ")
}

const madeUnit = "unit 5\ncompile_unit language=12 low_pc=0x1000 high_pc=0x1000\n"

// Compilers number abbreviations from 1 on; nothing says that they must.
func TestAbbreviationCodes(t *testing.T) {
	for _, codes := range [][]int{{1, 2, 3, 4}, {1, 5, 3, 2}, {9, 8, 7, 300}, {2, 1, 4, 3}} {
		text := fmt.Sprintf("unit 4\n[%d] compile_unit language=12 low_pc=0x1000 high_pc=0x1000\n  [%d] subprogram name=f low_pc=0x1000 high_pc=0x10\n"+
			"    [%d] variable name=v location=9100\n  [%d] subprogram name=g low_pc=0x1010 high_pc=0x10\n", codes[0], codes[1], codes[2], codes[3])
		d := made(t, binary.LittleEndian, text)
		for range 2 {
			if got := names(t, d, 0x1004) + ", " + names(t, d, 0x1014) + ", " + variables(t, d, 0x1004); got != "f, g, v 9100" {
				t.Errorf("%v: got %s", codes, got)
			}
		}
	}
	d := made(t, binary.LittleEndian, madeUnit+"  [7] subprogram name=f low_pc=0x1000 high_pc=0x10\n")
	d.main.abbrevsAt(0).done = true
	if got := names(t, d, 0x1004); !strings.Contains(got, "abbreviation code at offset 0xc: the code is not in the unit's table") {
		t.Errorf("got %s", got)
	}
}

// TestFunctions has functions and what was inlined, by all that tells where code is.
func TestFunctions(t *testing.T) {
	tests := []struct {
		name, text string
		addr       uint64
		want       string
	}{
		{"function", "  subprogram name=f low_pc=0x1000 high_pc=0x10\n", 0x1000, "f"},
		{"last byte", "  subprogram name=f low_pc=0x1000 high_pc=0x10\n", 0x100f, "f"},
		{"behind", "  subprogram name=f low_pc=0x1000 high_pc=0x10\n", 0x1010, ""},
		{"before", "  subprogram name=f low_pc=0x1001 high_pc=0x10\n", 0x1000, ""},
		{"end as an address", "  subprogram name=f low_pc=0x1000 high_pc:addr=0x1010\n", 0x100f, "f"},
		{"no end", "  subprogram name=f low_pc=0x1000\n", 0x1000, ""},
		{"end as an address before the start", "  subprogram name=f low_pc=0x1010 high_pc:addr=0x1000\n", 0x1005, ""},
		{"of two the one that goes on", "  subprogram name=a low_pc=0x1000 high_pc=0x40\n  subprogram name=b low_pc=0x1010 high_pc=8\n", 0x1020, "a"},
		{"linkage name", "  subprogram name=f linkage_name=_Z1fv low_pc=0x1000 high_pc=0x10\n", 0x1000, "_Z1fv"},
		{"linkage name of MIPS", "  subprogram name=f MIPS_linkage_name=_Z1fv low_pc=0x1000 high_pc=0x10\n", 0x1000, "_Z1fv"},
		{"declared elsewhere", "  subprogram #d name=f linkage_name=_Z1fv declaration\n  subprogram specification=#d low_pc=0x1000 high_pc=0x10\n", 0x1000, "_Z1fv"},
		{"instance", "  subprogram #d name=f\n  subprogram abstract_origin=#d low_pc=0x1000 high_pc=0x10\n", 0x1000, "f"},
		{"origin of itself", "  subprogram #d abstract_origin=#d low_pc=0x1000 high_pc=0x10\n", 0x1000, ""},
		{"in a namespace", "  namespace name=n\n    structure_type name=s\n      subprogram name=f low_pc=0x1000 high_pc=0x10\n", 0x1000, "f"},
		{"in another function", "  subprogram name=f low_pc=0x1000 high_pc=0x10\n    subprogram name=g low_pc=0x1010 high_pc=0x10\n", 0x1010, "g"},
		{"in a block of a function", "  subprogram name=f low_pc=0x1000 high_pc=0x10\n    lexical_block\n      subprogram name=g low_pc=0x1010 high_pc=0x10\n", 0x1010, "g"},
		{"inlined", "  subprogram #i name=i\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=4\n", 0x1004, "i in f"},
		{"behind what was inlined", "  subprogram #i name=i\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=4\n", 0x1008, "f"},
		{"inlined twice", "  subprogram #i name=i\n  subprogram #j name=j\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=8\n" +
			"      inlined_subroutine abstract_origin=#j low_pc=0x1004 high_pc=4\n", 0x1004, "j in i in f"},
		{"inlined in a block", "  subprogram #i name=i\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    lexical_block low_pc=0x1004 high_pc=8\n      variable name=v\n" +
			"      inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=4\n", 0x1004, "i in f"},
		{"inlined in try and catch", "  subprogram #i name=i\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    try_block low_pc=0x1004 high_pc=8\n      catch_block low_pc=0x1004 high_pc=8\n" +
			"        inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=4\n", 0x1004, "i in f"},
		{"behind a block without code", "  subprogram #i name=i\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    lexical_block\n      variable name=v\n" +
			"    inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=4\n", 0x1004, "i in f"},
		{"in a block without code", "  subprogram #i name=i\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    lexical_block\n      lexical_block\n" +
			"        inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=4\n", 0x1004, "i in f"},
		{"behind an empty block without code", "  subprogram #i name=i\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    lexical_block\n    variable name=v\n" +
			"    inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=4\n", 0x1004, "i in f"},
		{"behind other code", "  subprogram #i name=i\n  subprogram #j name=j\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    lexical_block low_pc=0x1000 high_pc=4\n      variable name=v\n" +
			"    inlined_subroutine abstract_origin=#j low_pc=0x1000 high_pc=4\n      variable name=v\n    inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=4\n", 0x1004, "i in f"},
		{"inlined without code", "  subprogram #i name=i\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    inlined_subroutine abstract_origin=#i\n      inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=4\n", 0x1004, "f"},
		{"by siblings", "  subprogram #i name=i\n  structure_type sibling=#s name=s\n    member name=m\n  subprogram #s name=f low_pc=0x1000 high_pc=0x10\n    structure_type sibling=#t\n      member name=m\n" +
			"    inlined_subroutine #t abstract_origin=#i low_pc=0x1004 high_pc=4\n", 0x1004, "i in f"},
	}
	for _, order := range bothOrders {
		for _, tt := range tests {
			if got := names(t, made(t, order, madeUnit+tt.text), tt.addr); got != tt.want {
				t.Errorf("%v, %s: got %s, want %s", order, tt.name, got, tt.want)
			}
		}
	}
}

// Names of C++ and Rust have those of the scopes around them.
func TestQualifiedNames(t *testing.T) {
	const text = `
  namespace name=a sibling=#m
    variable name=v
    namespace
      class_type name=c
        subprogram #d name=f declaration
        enumeration_type name=e
      subprogram name=g low_pc=0x1010 high_pc=0x10
    subprogram name=h low_pc=0x1020 high_pc=0x10
  module #m name=m
    union_type name=u
      interface_type name=i
        subprogram name=k low_pc=0x1030 high_pc=0x10
  structure_type name=s sibling=#e
    member name=m
  subprogram #e specification=#d low_pc=0x1000 high_pc=0x10
    lexical_block
      subprogram name=l low_pc=0x1040 high_pc=0x10
  subprogram low_pc=0x1050 high_pc=0x10
  structure_type name=o
    enumeration_type name=e
      subprogram #n name=q declaration
  structure_type name=p
    subprogram name=r low_pc=0x1070 high_pc=0x10
  subprogram specification=#n low_pc=0x1060 high_pc=0x10
`
	for language, want := range map[string]string{
		"4":    "a::(anonymous namespace)::c::f a::(anonymous namespace)::g a::h m::u::i::k l  o::e::q p::r",
		"0x1c": "a::(anonymous namespace)::c::f a::(anonymous namespace)::g a::h m::u::i::k l  o::e::q p::r",
		"0x0c": "f g h k l  q r",
		"0x1a": "a::(anonymous namespace)::c::f a::(anonymous namespace)::g a::h m::u::i::k l  o::e::q p::r",
		"0x21": "a::(anonymous namespace)::c::f a::(anonymous namespace)::g a::h m::u::i::k l  o::e::q p::r",
		"0x2b": "a::(anonymous namespace)::c::f a::(anonymous namespace)::g a::h m::u::i::k l  o::e::q p::r",
		"0x3a": "a::(anonymous namespace)::c::f a::(anonymous namespace)::g a::h m::u::i::k l  o::e::q p::r",
		"0x16": "f g h k l  q r",
	} {
		d := made(t, binary.LittleEndian, strings.Replace(madeUnit, "language=12", "language="+language, 1)+text)
		var got []string
		for addr := uint64(0x1000); addr < 0x1080; addr += 0x10 {
			got = append(got, names(t, d, addr))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("language %s: got %q, want %q", language, got, want)
		}
	}
}

// Functions of a class that is local to a function have its name, too, where compilers
// give them no linkage name.
func TestLocalClasses(t *testing.T) {
	const text = `
  namespace name=n
    subprogram #d name=f declaration
  subprogram specification=#d low_pc=0x1000 high_pc=0x10
    lexical_block
      structure_type
        subprogram name=operator() low_pc=0x1010 high_pc=0x10
        subprogram #m name=g declaration
    structure_type name=local
      subprogram name=g low_pc=0x1020 high_pc=0x10
      subprogram name=operator() low_pc=0x1030 high_pc=0x10
  subprogram specification=#m low_pc=0x1040 high_pc=0x10
    class_type
      subprogram name=operator() low_pc=0x1050 high_pc=0x10
  class_type
    subprogram name=operator() low_pc=0x1060 high_pc=0x10
  subprogram #i abstract_origin=#i low_pc=0x1070 high_pc=0x10
    class_type
      subprogram name=operator() low_pc=0x1080 high_pc=0x10
`
	d := made(t, binary.LittleEndian, strings.Replace(madeUnit, "language=12", "language=0x21", 1)+text)
	for addr, want := range map[uint64]string{
		0x1000: "n::f", 0x1010: "n::f::{lambda}::operator()", 0x1020: "n::f::local::g", 0x1030: "n::f::local::operator()",
		0x1040: "n::f::g", 0x1050: "n::f::g::{lambda}::operator()", 0x1060: "{lambda}::operator()", 0x1080: "{lambda}::operator()",
	} {
		if got := names(t, d, addr); got != want {
			t.Errorf("%#x: got %q, want %q", addr, got, want)
		}
	}
}

// split yields files as Options.Split does.
func split(files ...*elfx.File) func(string, string) iter.Seq[*elfx.File] {
	return func(string, string) iter.Seq[*elfx.File] {
		return func(yield func(*elfx.File) bool) {
			for _, f := range files {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// TestSplitUnits has a skeleton and a .dwo, in DWARF 5 and as GNU's split DWARF 4.
// The tables of the former begin behind their headers.
func TestSplitUnits(t *testing.T) {
	for _, order := range bothOrders {
		for _, version := range []int{4, 5} {
			for _, is64 := range []string{"", " 64"} {
				size := 4
				if is64 != "" {
					size = 8
				}
				skeleton := "unit 5" + is64 + " kind=4 id=0x1234\nskeleton_unit dwo_name=x.dwo comp_dir=/src low_pc=0x1000 high_pc=0x1000 addr_base=8\n"
				dwo := "unit 5" + is64 + " kind=5 id=0x1234\ncompile_unit language=12\n"
				if version == 4 {
					skeleton = "unit 4" + is64 + "\ncompile_unit GNU_dwo_name=x.dwo comp_dir=/src GNU_dwo_id=0x1234 low_pc=0x1000 high_pc=0x1000 GNU_addr_base=8 GNU_ranges_base=16\n"
					dwo = "unit 4" + is64 + "\ncompile_unit language=12 GNU_dwo_id=0x1234\n"
				}
				strx, addrx, list := "strx1", "addrx", "loclistx=1"
				if version == 4 {
					strx, addrx, list = "GNU_str_index", "GNU_addr_index", "sec_offset=2"
				}
				dwo += "  subprogram name:" + strx + "=1 low_pc:" + addrx + "=1 high_pc=0x20\n    variable name=v location:" + list + "\n" +
					"  subprogram name=r ranges" + map[int]string{4: "=0", 5: ":rnglistx=1"}[version] + "\n"
				number := func(b *testkit.Bytes, v ...uint64) {
					for _, n := range v {
						if size == 8 {
							b.D64(n)
						} else {
							b.D32(uint32(n))
						}
					}
				}
				header := func(b *testkit.Bytes, more int) {
					if version == 5 {
						b.Zero(2*size + more) // unit_length, version, padding or the like
					}
				}
				strs := debugSection(order, ".debug_str_offsets.dwo", func(b *testkit.Bytes) { header(b, 0); number(b, 0, 3) })
				str := testkit.ELFSection{Name: ".debug_str.dwo", Type: 1, Data: []byte("no\x00yes\x00"), Align: 1}
				lists := debugSection(order, ".debug_loclists.dwo", func(b *testkit.Bytes) {
					header(b, 4)
					number(b, 0, uint64(2*size))
					b.D8(3).ULEB(1).ULEB(0x10).ULEB(1).D8(0x51).D8(0)
				})
				rngs := debugSection(order, ".debug_rnglists.dwo", func(b *testkit.Bytes) {
					header(b, 4)
					number(b, 0, uint64(2*size))
					b.D8(3).ULEB(0).ULEB(0x8).D8(0)
				})
				loc := debugSection(order, ".debug_loc.dwo", func(b *testkit.Bytes) { b.D8(0, 0, 3).ULEB(1).D32(0x10).D16(1).D8(0x51).D8(0) })
				addrs := debugSection(order, ".debug_addr", func(b *testkit.Bytes) { b.Zero(8).D64(0x1000, 0x1010) })
				ranges := debugSection(order, ".debug_ranges", func(b *testkit.Bytes) { b.Zero(16).D64(0, 8, 0, 0) })
				parts := testkit.DWARF{Order: order, Text: dwo, Suffix: ".dwo"}
				sections := append(parts.Sections()[:2], strs, str, lists, rngs, loc)
				image := testkit.ELF{Order: order, Type: 1, Machine: 62, Sections: sections}
				file, err := elfx.Parse(image.File())
				if err != nil {
					t.Fatal(err)
				}
				main := elfFile(t, testkit.DWARF{Order: order, Text: skeleton}, addrs, ranges)
				where := fmt.Sprintf("%v, version %d%s", order, version, is64)
				d := New(main, Options{Split: split(file)})
				if got, want := names(t, d, 0x1012)+", "+variables(t, d, 0x1012)+", "+variables(t, d, 0x1022)+", "+names(t, d, 0x1004), "yes, v 51, v, r"; got != want {
					t.Errorf("%s: got %s, want %s", where, got, want)
				}
				other := elfFile(t, testkit.DWARF{Order: otherOrder(order), Text: dwo, Suffix: ".dwo"})
				for name, opts := range map[string]Options{
					"no package":         {Package: func() *elfx.File { return nil }},
					"nothing":            {},
					"another byte order": {Split: split(other), Package: func() *elfx.File { return other }},
					"another id":         {Split: split(elfFile(t, testkit.DWARF{Order: order, Text: strings.ReplaceAll(dwo, "0x1234", "0x1235"), Suffix: ".dwo"}))},
				} {
					d := New(main, opts)
					if got := names(t, d, 0x1012); got != "("+errNoSplit.Error()+")" {
						t.Errorf("%s, %s: got %s", where, name, got)
					}
					if got := names(t, d, 0x1012); got != "" { // it is told once
						t.Errorf("%s, %s: got %s", where, name, got)
					}
				}
			}
		}
	}
}

func otherOrder(order binary.ByteOrder) binary.ByteOrder {
	if order == bothOrders[0] {
		return bothOrders[1]
	}
	return bothOrders[0]
}
