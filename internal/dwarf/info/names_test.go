package info

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

const namesText = `
unit 5
compile_unit language=0x1a name=a.cc low_pc=0x1000 high_pc=0x100
  base_type #int name=int byte_size=4 encoding=5
  variable name=level type=#int location=030001000000000000 external
  namespace name=shop
    variable name=level type=#int location=030401000000000000
    namespace
      variable name=secret type=#int location=030801000000000000
    class_type #box name="Box<int>" byte_size=4
      member #count name=count type=#int external declaration
      member name=limit type=#int external declaration const_value=99
      member name=value type=#int
      template_type_parameter name=T type=#int
    enumeration_type name=Color byte_size=4 encoding=7 type=#int
      enumerator name=Green const_value=5
    structure_type name=Later declaration
    variable name=declared type=#int declaration external
    subprogram name=run low_pc=0x1000 high_pc=0x80
      variable name=local type=#int location=9100
  variable specification=#count location=030c01000000000000
unit 5
compile_unit language=0x1a name=b.cc low_pc=0x2000 high_pc=0x100
  base_type #int2 name=int byte_size=4 encoding=5
  variable name=level type=#int2 location=031001000000000000
`

func declared(t *testing.T, list []Decl) string {
	t.Helper()
	var out []string
	for i := range list {
		out = append(out, strings.Join(list[i].Path, "::")+" in "+list[i].Unit())
	}
	return strings.Join(out, ", ")
}

func TestFind(t *testing.T) {
	d := testkit.DWARF{Order: binary.LittleEndian, Text: namesText}
	f, err := elfx.Parse(d.File(62))
	if err != nil {
		t.Fatal(err)
	}
	data := New(f, Options{})
	for _, tt := range []struct{ last, want, in string }{
		{"level", "level in a.cc, shop::level in a.cc, level in b.cc", "level in a.cc, shop::level in a.cc"},
		{"secret", "shop::::secret in a.cc", "shop::::secret in a.cc"},
		{"Box", "shop::Box<int> in a.cc", "shop::Box<int> in a.cc"},
		{"count", "shop::Box<int>::count in a.cc", "shop::Box<int>::count in a.cc"},
		{"limit", "shop::Box<int>::limit in a.cc", "shop::Box<int>::limit in a.cc"},
		{"Green", "shop::Green in a.cc", "shop::Green in a.cc"},
		{"run", "shop::run in a.cc", "shop::run in a.cc"},
		{"value", "", ""},
		{"Later", "", ""},
		{"declared", "", ""},
		{"local", "", ""},
		{"", "", ""},
	} {
		list, err := data.Find(tt.last)
		if got := declared(t, list); got != tt.want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", tt.last, got, err, tt.want)
		}
		list, err = data.FindIn(0x1010, tt.last)
		if got := declared(t, list); got != tt.in || err != nil {
			t.Errorf("%s in a unit: got %s, %v, want %s", tt.last, got, err, tt.in)
		}
	}
	if list, err := data.FindIn(0x5000, "level"); len(list) != 0 || err != nil {
		t.Errorf("without a unit: got %v, %v", list, err)
	}
	list, _ := data.Find("limit")
	if v := list[0].Variable(); !v.IsConst || v.Const.Int != 99 {
		t.Errorf("got %+v, want 99", v)
	}
	list, _ = data.Find("Green")
	if typ, v := list[0].Enumerator(); v != 5 || typ.Kind != Enum {
		t.Errorf("got %d of %v, want 5", v, typ)
	}
	list, _ = data.Find("Box")
	if args := list[0].Type().TemplateArgs(); len(args) != 1 || args[0].Name != "T" || args[0].Type.String() != "int" {
		t.Errorf("got arguments %+v", args)
	}
	list, _ = data.Find("run")
	if got := list[0].Code(); got != 0x1000 || list[0].Kind != DeclFunction {
		t.Errorf("got %#x", got)
	}
}

func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "a::b": "b", "std::map<int, a::b>": "map", "Box<A<int> >::count": "count", "<a::B as c::D>::{vtable}": "{vtable}",
		"operator<": "operator", "": "", "<": "<",
	} {
		if got := PlainName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
