package expression

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

const (
	testData  = 0x7000
	testBias  = 0x400000
	languageC = "0x0c"
)

// program has a function with variables, and a second unit with a static of the same
// name as one of the first unit.
const program = `
unit 5
compile_unit language=LANGUAGE name=a.c low_pc=0x1000 high_pc=0x100
  base_type #int name=int byte_size=4 encoding=5
  base_type #uint name="unsigned int" byte_size=4 encoding=7
  base_type #uchar name="unsigned char" byte_size=1 encoding=8
  base_type #char name=char byte_size=1 encoding=6
  base_type #short name=short byte_size=2 encoding=5
  base_type #double name=double byte_size=8 encoding=4
  enumeration_type #color name=color byte_size=4 encoding=7 type=#uint
    enumerator name=RED const_value=0
    enumerator name=BLUE const_value=6
  structure_type #point name=point byte_size=8
    member name=x type=#int
    member name=y type=#int data_member_location=4
  pointer_type #pp type=#point
  pointer_type #pv
  array_type #ints type=#int
    subrange_type count=4
  subprogram #f name=f low_pc=0x1000 high_pc=0x80 frame_base=9c external
    formal_parameter name=depth type=#int location=9100
    variable name=uc type=#uchar location=9104
    variable name=sh type=#short location=9106
    variable name=big type=#uint location=9108
    variable name=paint type=#color location=910c
    variable name=at type=#point location=9110
    variable name=p type=#pp location=9118
    variable name=arr type=#ints location=9120
    variable name=ratio type=#double location=9130
    variable name=gone type=#int
    variable name=null type=#pp location=9138
    variable name=v type=#pv location=9118
  variable name=counter type=#int location=030001000000000000
  variable name=twice type=#int location=030801000000000000
unit 5
compile_unit language=LANGUAGE name=b.c low_pc=0x2000 high_pc=0x100
  base_type #int2 name=int byte_size=4 encoding=5
  variable name=other type=#int2 location=030401000000000000 external
  variable name=twice type=#int2 location=030c01000000000000
  variable name=thrice type=#int2 location=030c01000000000000
unit 5
compile_unit language=LANGUAGE name=c.c low_pc=0x3000 high_pc=0x100
  base_type #int3 name=int byte_size=4 encoding=5
  variable name=thrice type=#int3 location=030801000000000000
`

func environment(t testing.TB, a *arch.Arch, language string, mem func(b *testkit.Bytes)) *Env {
	t.Helper()
	order := binary.ByteOrder(binary.LittleEndian)
	if a.BigEndian {
		order = binary.BigEndian
	}
	d := testkit.DWARF{Order: order, Text: strings.ReplaceAll(program, "LANGUAGE", language)}
	if a.BigEndian {
		for _, addr := range []string{"00", "04", "08", "0c"} { // of DW_OP_addr
			d.Text = strings.ReplaceAll(d.Text, "03"+addr+"01000000000000", "03000000000000"+"01"+addr)
		}
	}
	f, err := elfx.Parse(d.File(a.Machine))
	if err != nil {
		t.Fatal(err)
	}
	b, globals := testkit.New(order), testkit.New(order)
	mem(b)
	globals.D32(17, 23, 1, 2)
	frame := &value.Frame{
		Arch: a, Mem: &testkit.Memory{Segs: map[uint64][]byte{testData: b.Done(), testBias + 0x100: globals.Done()}},
		Data: info.New(f, info.Options{}), Bias: testBias, PC: testBias + 0x1010, Regs: &arch.Regs{}, CFA: testData,
	}
	scopes, err := frame.Scopes()
	if err != nil || len(scopes) != 1 {
		t.Fatalf("got %d scopes, %v", len(scopes), err)
	}
	return &Env{
		Scope: &scopes[0], Function: "f", PC: 0x1010,
		Modules: func(yield func(*value.Scope) bool) { yield(frame.Static()) },
		Register: func(name string) (uint64, bool, error) {
			return 0x1234, name == "pc", nil
		},
		Symbol: func(name string) (uint64, bool, bool) {
			return 0x5000, name == "code", name == "code" || name == "untyped"
		},
	}
}

func usual(b *testkit.Bytes) {
	b.D32(3).D8(200, 0).D16(0xffff).D32(4000000000).D32(6).D32(7, 8).D64(testData+0x10).D32(10, 20, 30, 40).D64(0x4004000000000000).D64(0)
}

func show(env *Env, text string) string {
	o, err := env.Evaluate(text)
	if err != nil {
		return "error: " + err.Error()
	}
	s, err := o.Text()
	if err != nil {
		return "error: " + err.Error()
	}
	return s + " " + o.Type.String()
}

func TestEvaluate(t *testing.T) {
	tests := []struct{ text, want string }{
		{"depth", "3 int"},
		{" ( depth ) ", "3 int"},
		{"depth + 1", "4 int"},
		{"-depth", "-3 int"},
		{"~depth", "-4 int"},
		{"!depth", "0 int"},
		{"uc + 100", "300 int"},
		{"uc << 1", "400 int"},
		{"sh", "-1 short"},
		{"sh + 1", "0 int"},
		{"sh == -1", "1 int"},
		{"big + big", "3705032704 unsigned int"},
		{"big > sh", "0 int"},
		{"big / 3", "1333333333 unsigned int"},
		{"paint", "BLUE enum color"},
		{"paint == BLUE", "1 int"},
		{"paint + 1", "7 int"},
		{"RED", "RED enum color"},
		{"at.x", "7 int"},
		{"at.x * at.y", "56 int"},
		{"p->y", "8 int"},
		{"(*p).x", "7 int"},
		{"p.x", "7 int"},
		{"(&at)->y", "8 int"},
		{"&at == p", "1 int"},
		{"p + 1 == (void *)&arr[-2]", "1 int"},
		{"arr[2]", "30 int"},
		{"*arr", "10 int"},
		{"*(arr + 3)", "40 int"},
		{"&arr[3] - arr", "3 long"},
		{"arr[1..3][0]", "20 int"},
		{"arr[..2][1]", "20 int"},
		{"arr[2..][1]", "40 int"},
		{"arr[1..=2][1]", "30 int"},
		{"(arr[1]@2)[1]", "30 int"},
		{"sizeof(struct point)", "8 unsigned long"},
		{"sizeof arr", "16 unsigned long"},
		{"sizeof(int *)", "8 unsigned long"},
		{"ratio", "2.5 double"},
		{"ratio * 2", "5 double"},
		{"(int)ratio", "2 int"},
		{"(float)1 / 3", "0.33333334 float"},
		{"1 / 3.0", "0.3333333333333333 double"},
		{"(unsigned char)300", "44 ',' unsigned char"},
		{"(signed char)uc", "-56 '\\xc8' signed char"},
		{"(enum color)6", "BLUE enum color"},
		{"((struct point *)&at)->y", "8 int"},
		{"*(int *)&at", "7 int"},
		{"counter", "17 int"},
		{"::counter", "17 int"},
		{"other + 1", "24 int"},
		{"twice", "1 int"},
		{"'b.c'::twice", "2 int"},
		{"$pc", "4660 uint64"},
		{"$PC + 1", "4661 uint64"},
		{"*0x7030 == 0x4004000000000000", "1 int"},
		{"*(0x7038 - 8) == *0x7030", "1 int"},
		{"depth == 3 && at.x == 7", "1 int"},
		{"depth == 4 && null->x", "0 int"},
		{"depth == 3 || null->x", "1 int"},
		{"depth > 2 ? 1 : null->x", "1 int"},
		{"0x10 | 1", "17 int"},
		{"1u - 2", "4294967295 unsigned int"},
		{"07 + 1", "8 int"},
		{"'a'", "97 'a' char"},
		{"5000000000", "5000000000 long"},
		{"0xffffffff", "4294967295 unsigned int"},
		{"null == 0", "1 int"},
		{"!null", "1 int"},
		{"v == p", "1 int"},
		{"code", "0x5000 (function) *"},
		{"&untyped", "0x5000 void *"},
		{"*(int *)&counter", "17 int"},
		{"1 ? 2 : 1 ? 3 : 4", "2 int"},
		{"1 + 2 * 3 - 4 / 2", "5 int"},
		{"1 << 2 + 1", "8 int"},
		{"1 | 2 & 3 == 3", "1 int"},
		{"7 % -4", "3 int"},
		{"-7 / 2", "-3 int"},
	}
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		env := environment(t, a, languageC, usual)
		for _, tt := range tests {
			if got := show(env, tt.text); got != tt.want {
				t.Errorf("%s: %s: got %s, want %s", a.Name, tt.text, got, tt.want)
			}
		}
	}
}

// A global of another module comes before a variable that another unit of the module keeps to
// itself, and after those of the unit.
func TestModules(t *testing.T) {
	env := environment(t, arch.AMD64, languageC, usual)
	d := testkit.DWARF{Order: binary.LittleEndian, Text: `
unit 5
compile_unit language=0x0c name=d.c low_pc=0x1000 high_pc=0x100
  base_type #int name=int byte_size=4 encoding=5
  variable name=thrice type=#int location=030401000000000000 external
  variable name=twice type=#int location=030401000000000000 external
  variable name=hidden type=#int location=030401000000000000
`}
	f, err := elfx.Parse(d.File(arch.AMD64.Machine))
	if err != nil {
		t.Fatal(err)
	}
	frame := &value.Frame{Arch: arch.AMD64, Mem: env.Scope.Frame().Mem, Data: info.New(f, info.Options{}), Bias: testBias, Regs: &arch.Regs{}}
	own := env.Modules
	env.Modules = func(yield func(*value.Scope) bool) {
		for scope := range own {
			if !yield(scope) {
				return
			}
		}
		yield(frame.Static())
	}
	for text, want := range map[string]string{"thrice": "23 int", "twice": "1 int", "other": "23 int"} {
		if got := show(env, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := show(env, "hidden"); !strings.Contains(got, "there is no") {
		t.Errorf("hidden: got %s", got)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "the expression is empty"},
		{"gone", "gone: optimised out"},
		{"gone + 1", "gone: optimised out"},
		{"nosuch", "nosuch: there is no variable of this name"},
		{"thrice", "thrice: the name is ambiguous: thrice of b.c, thrice of c.c; write 'FILE'::NAME, or the scopes before the name"},
		{"untyped", "untyped: it is at 0x5000, but its type is not known: cast its address, as in *(int *)&untyped"},
		{"at.z", "at.z: struct point has no member of this name"},
		{"depth.x", "depth.x: int has no members"},
		{"null->x", "null->x: memory at 0x0: not mapped"},
		{"*depth", "*depth: this is not a pointer"},
		{"*v", "*v: it points to void: cast it, as in *(int *)p"},
		{"depth[0]", "depth: int has no elements"},
		{"arr[ratio]", "ratio: an index must be an integer"},
		{"arr[1..9]", "arr[1..9]: the slice from 1 to 9 is outside: there are 4 elements"},
		{"p[1..]", "p[1..]: the end of the slice is missing: a pointer does not say how many elements there are"},
		{"p[0]@99999999", "p[0]@99999999: a slice has at most 16777216 elements"},
		{"1 / 0", "1 / 0: division by zero"},
		{"1 % (depth - 3)", "1 % (depth - 3): division by zero"},
		{"1 << 32", "1 << 32: << of a number of 32 bits by 32"},
		{"ratio % 2", "ratio % 2: floating-point numbers have no %"},
		{"at + 1", "at: this is not a number, but struct point"},
		{"p + p", "p + p: the operator + does not take pointers"},
		{"f()", "f(): this is a call, and sfcore executes nothing"},
		{"depth = 1", "= 1: sfcore changes nothing; use == to compare"},
		{"depth++", "++: sfcore changes nothing; use == to compare"},
		{"(struct nosuch *)p", "nosuch: the debug information has no type of this name"},
		{"arr[", "the expression ends where a value is missing"},
		{"(1", "\")\" is missing at the end"},
		{"1 2", "2: this is not understood here"},
		{"`", "`: \"`\" is no part of an expression"},
		{"'a", "'a: the closing ' is missing"},
		{"$nosuch", "$nosuch: there is no register of this name"},
		{"pc", "pc: there is no variable of this name"},
		{"99999999999999999999", "99999999999999999999: 99999999999999999999 is not a 64-bit number"},
		{"\"text\"", "\"text\": a string is no value here: to compare one would need a call"},
		{"&1", "&1: it is not in memory, so it has no address"},
		{"(int)1e30", "(int)1e30: 1e+30 does not fit in int"},
		{strings.Repeat("(", 100), "the expression is nested more than 64 deep"},
		{strings.Repeat("~", 100) + "1", "the expression is nested more than 64 deep"},
		{strings.Repeat("1", 5000), "the expression is longer than 4096 bytes"},
		{"sizeof(void)", "sizeof(void): its size is not known"},
	} {
		env := environment(t, arch.AMD64, languageC, usual)
		_, err := env.Evaluate(tt.text)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.text, err, tt.want)
		}
	}
	env := environment(t, arch.AMD64, languageC, usual)
	if _, err := env.Evaluate("gone"); !errors.Is(err, value.ErrOptimizedOut) {
		t.Errorf("got %v, want an error that is ErrOptimizedOut", err)
	}
	env.Nearby = true
	for _, text := range []string{"code", "untyped"} { // of symbol tables
		if got, err := env.Evaluate(text); err == nil {
			t.Errorf("nearby: %s: got %v", text, got)
		}
	}
}

func TestRust(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"depth + 1", "4 int"},
		{"depth as u8", "3 u8"},
		{"255u8 as i8", "-1 i8"},
		{"-1.5 as u8", "0 u8"},
		{"1e9 as i16", "32767 i16"},
		{"!0u8", "255 u8"},
		{"!true", "false bool"},
		{"1 == 1", "true bool"},
		{"1 | 2 == 3", "true bool"},
		{"'a'", "97 'a' char"},
		{"b'a'", "97 u8"},
		{"200u8 + 100", "error: 200u8 + 100: the result of +, 300, does not fit in u8"},
		{"200u8 + 300", "error: 200u8 + 300: 300 does not fit in u8"},
		{"1u8 + 1i8", "error: 1u8 + 1i8: one operand is of type u8, the other one of type i8; convert one with as"},
		{"1u8 + 1.5", "error: 1u8 + 1.5: one operand is of type u8, the other one is a floating-point number"},
		{"-1u8", "error: -1u8: a number of type u8 has no negative"},
		{"arr[4]", "error: arr[4]: the index 4 is outside: there are 4 elements"},
		{"1_000i64", "1000 i64"},
		{"300u8", "error: 300u8: 300u8 is not a number of type u8"},
		{"(*p).y", "8 int"},
		{"p.y", "8 int"},
	} {
		if got := show(environment(t, arch.AMD64, "0x1c", usual), tt.text); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

// FuzzEvaluate evaluates any text with any memory. There is a value or an error, and the
// same text gives the same again.
func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"depth + uc", "arr[1..3]", "p->x", "(int)ratio", "'b.c'::twice", "a<b>::c", "1 ? 2 : 3", "-~!*&p", "*(char *)p", "x as u8", "t.0.1", "$pc,x"} {
		f.Add(seed, []byte("memory"))
	}
	f.Fuzz(func(t *testing.T, text string, mem []byte) {
		for _, language := range []string{languageC, "0x1a", "0x1c"} {
			env := environment(t, arch.AMD64, language, func(b *testkit.Bytes) { b.Raw(mem).Raw(make([]byte, 0x48)) })
			o, err := env.Evaluate(text)
			if (err == nil) != (o.Type != nil) {
				t.Fatalf("got both or neither of %v and an error %v", o.Type, err)
			}
			if first, second := show(env, text), show(env, text); first != second {
				t.Fatalf("got %s and then %s", first, second)
			}
		}
	})
}
