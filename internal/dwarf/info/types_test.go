package info

import (
	"fmt"
	"strings"
	"testing"
)

// typeOfV returns the type of the variable v of a function.
func typeOfV(t testing.TB, d *Data) *Type {
	t.Helper()
	scopes, err := d.Scopes(0x1000)
	if err != nil || len(scopes) != 1 || len(scopes[0].Variables) != 1 {
		t.Fatalf("got %+v, %v", scopes, err)
	}
	return scopes[0].Variables[0].Type
}

const ofV = "  subprogram name=f low_pc=0x1000 high_pc=0x10\n    variable name=v type=#t\n" +
	"  base_type #int name=int byte_size=4 encoding=5\n  base_type #char name=char byte_size=1 encoding=6\n"

func TestTypeNames(t *testing.T) {
	const long = "  subroutine_type #t type=#int\n    formal_parameter type=#t\n    formal_parameter type=#t\n"
	tests := []struct{ text, c, cxx string }{
		{"  pointer_type #t type=#int\n", "int *", "int *"},
		{"  pointer_type #t\n", "void *", "void *"},
		{"  pointer_type #t name=ptr type=#int\n", "ptr", "ptr"},
		{"  reference_type #t type=#int\n", "int &", "int &"},
		{"  rvalue_reference_type #t type=#int\n", "int &&", "int &&"},
		{"  const_type #t type=#int\n", "const int", "const int"},
		{"  volatile_type #t type=#int\n", "volatile int", "volatile int"},
		{"  restrict_type #t type=#p\n  pointer_type #p type=#int\n", "int * restrict", "int * restrict"},
		{"  atomic_type #t type=#int\n", "_Atomic int", "_Atomic int"},
		{"  const_type #t\n", "const void", "const void"},
		{"  const_type #t type=#p\n  pointer_type #p type=#c\n  const_type #c type=#char\n", "const char * const", "const char * const"},
		{"  pointer_type #t type=#p\n  const_type #p type=#q\n  pointer_type #q type=#int\n", "int * const *", "int * const *"},
		{"  const_type #t type=#p\n  pointer_type #p name=ptr type=#int\n", "const ptr", "const ptr"},
		{"  const_type #t type=#p\n  reference_type #p type=#int\n", "int & const", "int & const"},
		{"  const_type #t type=#p\n  rvalue_reference_type #p type=#int\n", "int && const", "int && const"},
		{"  typedef #t name=T type=#int\n", "T", "T"},
		{"  structure_type #t name=s\n", "struct s", "s"},
		{"  class_type #t name=s\n", "struct s", "s"},
		{"  interface_type #t name=s\n", "struct s", "s"},
		{"  union_type #t name=s\n", "union s", "s"},
		{"  enumeration_type #t name=s\n", "enum s", "s"},
		{"  structure_type #t\n", "struct {...}", "struct {...}"},
		{"  union_type #t\n", "union {...}", "union {...}"},
		{"  enumeration_type #t\n", "enum {...}", "enum {...}"},
		{"  namespace name=n\n    structure_type #t name=s\n", "struct s", "n::s"},
		{"  namespace name=n\n    structure_type #t name=s\n      member name=m\n", "struct s", "n::s"},
		{"  namespace name=n\n    typedef #t name=s type=#int\n", "s", "n::s"},
		{"  namespace name=n\n    structure_type #d name=s declaration\n  structure_type #t specification=#d\n", "struct s", "n::s"},
		{"  structure_type #t specification=#t\n", "struct {...}", "struct {...}"},
		{"  array_type #t type=#int\n    subrange_type count=3\n", "int [3]", "int [3]"},
		{"  array_type #t type=#int\n    subrange_type\n", "int []", "int []"},
		{"  array_type #t type=#int\n", "int []", "int []"},
		{"  array_type #t type=#int\n    subrange_type count=2\n    subrange_type upper_bound=4\n", "int [2][5]", "int [2][5]"},
		{"  array_type #t name=a type=#int\n    enumeration_type count=2\n    member name=m\n", "int [2]", "int [2]"},
		{"  pointer_type #t type=#a\n  array_type #a type=#int\n    subrange_type count=3\n", "int (*)[3]", "int (*)[3]"},
		{"  reference_type #t type=#a\n  array_type #a type=#int\n    subrange_type count=3\n", "int (&)[3]", "int (&)[3]"},
		{"  array_type #t type=#p\n    subrange_type count=3\n  pointer_type #p type=#int\n", "int *[3]", "int *[3]"},
		{"  volatile_type #t type=#a\n  array_type #a type=#v\n    subrange_type count=4\n  volatile_type #v type=#int\n", "volatile int [4]", "volatile int [4]"},
		{"  volatile_type #t type=#a\n  array_type #a type=#v\n    subrange_type count=4\n  const_type #v type=#v2\n  volatile_type #v2 type=#int\n", "const volatile int [4]", "const volatile int [4]"},
		{"  const_type #t type=#a\n  array_type #a type=#int\n    subrange_type count=4\n", "const int [4]", "const int [4]"},
		{"  const_type #t type=#a\n  array_type #a type=#v\n    member name=m\n    subrange_type count=4\n  volatile_type #v type=#c\n  const_type #c type=#int\n", "volatile const int [4]", "volatile const int [4]"},
		{"  const_type #t type=#a\n  array_type #a type=#v\n    subrange_type count=4\n  atomic_type #v type=#c\n  const_type #c type=#int\n", "_Atomic const int [4]", "_Atomic const int [4]"},
		{"  const_type #t type=#a\n  array_type #a type=#v\n    subrange_type count=4\n  restrict_type #v type=#c\n  const_type #c type=#int\n", "restrict const int [4]", "restrict const int [4]"},
		{"  const_type #t type=#a\n  const_type #a type=#int\n", "const const int", "const const int"},
		{"  subroutine_type #t type=#int\n", "int (void)", "int ()"},
		{"  subroutine_type #t\n    formal_parameter type=#char\n    formal_parameter\n    unspecified_parameters\n", "void (char, void, ...)", "void (char, void, ...)"},
		{"  pointer_type #t type=#f\n  subroutine_type #f type=#int\n    formal_parameter type=#int\n", "int (*)(int)", "int (*)(int)"},
		{"  ptr_to_member_type #t type=#int containing_type=#s\n  structure_type #s name=s\n", "int struct s::*", "int s::*"},
		{"  ptr_to_member_type #t type=#int\n", "int ?::*", "int ?::*"},
		{"  ptr_to_member_type #t type=#f containing_type=#s\n  structure_type #s name=s\n  subroutine_type #f\n", "void (struct s::*)(void)", "void (s::*)()"},
		{"  const_type #t type=#m\n  ptr_to_member_type #m type=#int containing_type=#s\n  structure_type #s name=s\n", "int struct s::* const", "int s::* const"},
		{"  unspecified_type #t name=decltype(nullptr)\n", "decltype(nullptr)", "decltype(nullptr)"},
		{"  set_type #t type=#int\n", "(unknown type)", "(unknown type)"},
		{"  pointer_type #t type=0x3000\n", "(unknown type) *", "(unknown type) *"},
		{"  pointer_type #t type=#t\n", "..." + strings.Repeat("*", 0), "..."},
		{"  const_type #t type=#t\n", "", ""},
		{long, "", ""},
	}
	for _, order := range bothOrders {
		for _, tt := range tests {
			for language, want := range map[string]string{"12": tt.c, "4": tt.cxx} {
				d := made(t, order, strings.Replace(madeUnit, "=12", "="+language, 1)+tt.text+ofV)
				got := typeOfV(t, d).String()
				if want == "" { // endless: bounded
					if len(got) > maxTypeName || !strings.Contains(got, "...") {
						t.Errorf("%v, %s: got %q", order, tt.text, got)
					}
					continue
				}
				if got != want {
					t.Errorf("%v, language %s, %s: got %q, want %q", order, language, tt.text, got, want)
				}
			}
		}
	}
}

// TestTypeParts has what types consist of.
func TestTypeParts(t *testing.T) {
	kind := func(t *Type) string {
		return fmt.Sprintf("%d:%s size %d encoding %d declared %v", t.Kind, t, t.Size, t.Encoding, t.Declared)
	}
	tests := []struct{ text, want, elem, stripped string }{
		{"  base_type #t name=b byte_size=2 encoding=7\n", "2:b size 2 encoding 7 declared false", "1:void size 0 encoding 0 declared false", ""},
		{"  pointer_type #t type=#int\n", "3:int * size 8 encoding 0 declared false", "2:int size 4 encoding 5 declared false", ""},
		{"  pointer_type #t byte_size=4 type=#int\n", "3:int * size 4 encoding 0 declared false", "2:int size 4 encoding 5 declared false", ""},
		{"  reference_type #t type=#int\n", "4:int & size 8 encoding 0 declared false", "2:int size 4 encoding 5 declared false", ""},
		{"  rvalue_reference_type #t type=#int\n", "5:int && size 8 encoding 0 declared false", "2:int size 4 encoding 5 declared false", ""},
		{"  structure_type #t name=s declaration byte_size=8\n", "7:struct s size 8 encoding 0 declared true", "1:void size 0 encoding 0 declared false", ""},
		{
			"  typedef #t name=T type=#c\n  const_type #c type=#v\n  volatile_type #v type=#r\n  restrict_type #r type=#a\n  atomic_type #a type=#int\n", "12:T size 0 encoding 0 declared false",
			"13:const volatile restrict _Atomic int size 0 encoding 0 declared false", "2:int size 4 encoding 5 declared false",
		},
		{"  array_type #t type=#int\n    subrange_type count=2\n    subrange_type count=3\n", "10:int [2][3] size 0 encoding 0 declared false", "10:int [3] size 0 encoding 0 declared false", ""},
		{"  typedef #t name=T type=#t\n", "12:T size 0 encoding 0 declared false", "12:T size 0 encoding 0 declared false", "0:(endless type) size 0 encoding 0 declared false"},
		{"  pointer_type #t type=0x3000\n", "3:(unknown type) * size 8 encoding 0 declared false", "0:(unknown type) size 0 encoding 0 declared false", ""},
	}
	for _, order := range bothOrders {
		for _, tt := range tests {
			v := typeOfV(t, made(t, order, madeUnit+tt.text+ofV))
			stripped := tt.stripped
			if stripped == "" {
				stripped = tt.want
			}
			if kind(v) != tt.want || kind(v.Elem()) != tt.elem || kind(v.Strip()) != stripped {
				t.Errorf("%v: got %s of %s, stripped %s", order, kind(v), kind(v.Elem()), kind(v.Strip()))
			}
		}
	}
}

func TestMembers(t *testing.T) {
	tests := []struct{ text, little, big string }{
		{"member name=a type=#int data_member_location=4", "a int +4", ""},
		{"member type=#int", " int +0", ""},
		{"member name=a type=0x3000", "a <nil> +0", ""},
		{"member name=a type=#int data_member_location:exprloc=0604", "a int +0 0604", ""},
		{"member name=a data_member_location:sdata=4", "a <nil> +4", ""},
		{"member name=a type=#int external", "", ""},
		{"member name=a type=#int declaration", "", ""},
		{"variable name=a type=#int", "", ""},
		{"inheritance type=#int data_member_location=8", " int +8 base", ""},
		{"member name=a type=#int data_member_location:block1=2304", "a int +4", ""},
		{"member name=a type=#int data_member_location:block2=2304", "a int +4", ""},
		{"member name=a type=#int data_member_location:block4=2304", "a int +4", ""},
		{"member name=a type=#int data_member_location:block=2304", "a int +4", ""},
		{"member name=a type=#int data_member_location:exprloc=238104", "a int +513", ""},
		{"member name=a type=#int data_member_location:exprloc=2304 byte_size=4", "a int +4", ""},
		{"member name=a type=#int data_member_location:exprloc=2380", "a int +0 2380", ""},
		{"member name=a type=#int data_member_location:exprloc=230406", "a int +0 230406", ""},
		{"member name=a type=#int data_member_location:exprloc=06", "a int +0 06", ""},
		{"member name=a type=#int data_member_location:exprloc=", "a int +0 ", ""},
		{"member name=a type=#int bit_size=3 data_bit_offset=35", "a int +0 3@35", ""},
		{"member name=a type=#int bit_size=3 data_member_location=4", "a int +4 3@32", ""},
		{"member name=a type=#int byte_size=4 bit_size=3 bit_offset=2", "a int +0 3@27", "a int +0 3@2"},
		{"member name=a type=#int byte_size=8 bit_size=3 bit_offset=2 data_member_location=4", "a int +4 3@91", "a int +4 3@34"},
		{"member name=a type=#int bit_size=3 bit_offset=2 data_member_location=4", "a int +4 3@59", "a int +4 3@34"},
		{"member name=a type=#T bit_size=3 bit_offset=2", "a T +0 3@27", "a T +0 3@2"},
		{"member name=a type=#int bit_offset=2", "a int +0", ""},
	}
	for _, order := range bothOrders {
		for _, tt := range tests {
			want := tt.little
			if order == bothOrders[1] && tt.big != "" {
				want = tt.big
			}
			v := typeOfV(t, made(t, order, madeUnit+"  structure_type #t name=s\n    "+tt.text+"\n  typedef #T name=T type=#c\n  const_type #c type=#int\n"+ofV))
			members, variants := v.Members()
			got := ""
			for i := range members {
				m := &members[i]
				got += fmt.Sprintf("%s %v +%d", m.Name, m.Type, m.Off)
				if m.Base {
					got += " base"
				}
				if m.Bits > 0 {
					got += fmt.Sprintf(" %d@%d", m.Bits, m.BitOff)
				}
				if m.Where.Known() {
					got += fmt.Sprintf(" %x", m.Where.Code)
				}
			}
			if got != want || variants != nil || len(members) > 1 {
				t.Errorf("%v, %s: got %q, want %q", order, tt.text, got, want)
			}
		}
		v := typeOfV(t, made(t, order, madeUnit+"  structure_type #t name=s\n    member name=a type=#int\n    variant_part discr=#d\n      member name=no type=#int\n      member #d name=d type=#int\n      member name=no type=#int\n"+
			"      variant discr_value=3 discr_value=4\n        variable name=x\n        member name=one type=#int data_member_location=4\n        member name=no type=#int\n      variant\n        member name=two type=#int\n"+
			"      variant discr_list=0001\n    variant_part\n"+ofV))
		members, vs := v.Members()
		if len(members) != 1 || vs == nil || vs.Discr.Name != "d" || len(vs.List) != 3 {
			t.Fatalf("%v: got %+v, %+v", order, members, vs)
		}
		got := ""
		for _, one := range vs.List {
			got += fmt.Sprintf("%s %v %v, ", one.Member.Name, one.Default, one.Values)
		}
		if got != "one false [3 4], two true [],  false [], " {
			t.Errorf("%v: got %s", order, got)
		}
		v = typeOfV(t, made(t, order, madeUnit+"  enumeration_type #t name=e\n    enumerator name=A const_value:sdata=-1\n    variable name=no\n    enumerator name=B const_value:block1=0102030405060708\n"+
			"    enumerator name=C const_value:data16=0102030405060708090a0b0c0d0e0f10\n    enumerator name=D\n    enumerator name=E const_value:block1=0102\n"+ofV))
		want := "[{A 18446744073709551615} {B 578437695752307201} {C 578437695752307201} {D 0} {E 513}]"
		if order == bothOrders[1] {
			want = "[{A 18446744073709551615} {B 72623859790382856} {C 651345242494996240} {D 0} {E 258}]"
		}
		if got := fmt.Sprint(v.Enumerators()); got != want {
			t.Errorf("%v: got %s, want %s", order, got, want)
		}
		if members, _ := voidType.Members(); members != nil || voidType.Enumerators() != nil || voidType.Elem() != voidType {
			t.Error("void has parts")
		}
	}
}

func TestBounds(t *testing.T) {
	tests := []struct{ text, want string }{
		{"subrange_type count=3", "3 true 0 false"},
		{"subrange_type upper_bound=3", "4 true 0 false"},
		{"subrange_type upper_bound:sdata=-1", "0 true 0 false"},
		{"subrange_type upper_bound:data4=0xffffffff", "0 true 0 false"},
		{"subrange_type count:data4=0xffffffff", "0 true 0 false"},
		{"subrange_type upper_bound:data8=0xffffffff", "4294967296 true 0 false"},
		{"subrange_type upper_bound:data4=0xfffffffe", "4294967295 true 0 false"},
		{"subrange_type", "0 false 0 false"},
		{"subrange_type count=3 byte_stride=8", "3 true 0 true"},
		{"subrange_type count=3 bit_stride=8", "3 true 0 true"},
		{"subrange_type count:exprloc=31", "0 false 0 false 31"},
		{"subrange_type upper_bound:exprloc=31", "0 false 1 false 31"},
		{"subrange_type upper_bound:block1=31", "0 false 1 false 31"},
		{"subrange_type upper_bound:block=31", "0 false 1 false 31"},
		{"subrange_type upper_bound:ref4=#n", "0 false 1 false n int 9108"},
		{"subrange_type upper_bound:sec_offset=1", "0 false 0 false"},
		{"subrange_type upper_bound:loclistx=1", "0 false 0 false"},
		{"variable name=x", "0 false 0 false"},
	}
	for _, order := range bothOrders {
		for _, tt := range tests {
			v := typeOfV(t, made(t, order, madeUnit+"  array_type #t type=#int\n    "+tt.text+"\n  variable #n name=n type=#int location=9108\n"+ofV))
			b := v.Bound(0x1000)
			got := fmt.Sprint(b.Count, b.Known, b.Less, b.Stride)
			if b.Expr.Known() {
				got += fmt.Sprintf(" %x", b.Expr.Code)
			}
			if b.Var != nil {
				got += fmt.Sprintf(" n %v %x", b.Var.Type, b.Var.Where.Code)
			}
			if got != tt.want {
				t.Errorf("%v, %s: got %s, want %s", order, tt.text, got, tt.want)
			}
		}
	}
}
