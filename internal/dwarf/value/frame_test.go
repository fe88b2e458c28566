package value

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

func TestFrameBase(t *testing.T) {
	const none, unknown = "(errNoFrameBase)", "(not recovered: the value of register 8 is unknown)"
	tests := []struct{ base, want string }{
		{"9c", "7"},               // DW_OP_call_frame_cfa
		{"0c 00700000", "7"},      // an address
		{"0c 00700000 9f", "7"},   // a value
		{"53", "8"},               // register 3
		{"58", unknown},           // register 8
		{"7800", unknown},         // on register 8
		{"9e 01 01", none},        // an implicit value
		{"50 9304 51 9304", none}, // two pieces
		{"91 00", "(the debug information does not say)"},
		{"22", "(DW_OP 0x22 at byte 0: the stack is empty)"},
	}
	for _, tt := range tests {
		f := frame(t, arch.AMD64, "\n  variable name=v type=#int location=9100\n  variable name=w type=#int location=9100\n", func(b *testkit.Bytes) { b.D32(7) })
		f.Data = program(t, "  subprogram name=f low_pc=0x1000 high_pc=0x80 frame_base="+strings.ReplaceAll(tt.base, " ", "")+
			"\n    variable name=v type=#int location=9100\n")
		f.Mem = &testkit.Memory{Segs: map[uint64][]byte{testStack: {7, 0, 0, 0}, 0x0102030405063708: {8, 0, 0, 0}}}
		o := variable(t, f)
		if got := dump(&o, 1); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.base, got, tt.want)
		}
	}
	f := frame(t, arch.AMD64, "\n"+inMemory("#int"), func(b *testkit.Bytes) { b.D32(7) })
	f.CFA = 0
	o := variable(t, f)
	if got, want := dump(&o, 1), "(not recovered: the frame's address is unknown)"; got != want {
		t.Errorf("no CFA: got %s, want %s", got, want)
	}
	f.Data = program(t, "  subprogram name=f low_pc=0x1000 high_pc=0x80\n    variable name=v type=#int location=9100\n")
	o = variable(t, f)
	if got := dump(&o, 1); got != none {
		t.Errorf("no frame base: got %s, want %s", got, none)
	}
}

// program returns debug information of functions.
func program(t testing.TB, text string) *info.Data {
	t.Helper()
	d := testkit.DWARF{Order: orderOf(arch.AMD64), Text: "unit 5\ncompile_unit language=12 low_pc=0x1000 high_pc=0x200" + baseTypes + text}
	f, err := elfx.Parse(d.File(arch.AMD64.Machine))
	if err != nil {
		t.Fatal(err)
	}
	return info.New(f, info.Options{})
}

// entryProgram has a function f with a variable that is what register 5 held
// at its entry, by an expression, and a function g with calls.
func entryProgram(t testing.TB, where string) *info.Data {
	t.Helper()
	return program(t, `
  subprogram #f name=f low_pc=0x1000 high_pc=0x80 frame_base=9c
    variable name=v type=#long location=`+where+`
  subprogram #h name=h low_pc=0x1180 high_pc=0x10
  subprogram #g name=g low_pc=0x1080 high_pc=0x80 frame_base=9c
    call_site call_return_pc=0x1084 call_origin=#f
      call_site_parameter location=50 call_value=36
      call_site_parameter location=54 call_value=31
      call_site_parameter location=55 call_value=37
    call_site call_return_pc=0x1088 call_target=0c00104000
      call_site_parameter location=55 call_value=38
    call_site call_return_pc=0x108c call_target=0c04104000
      call_site_parameter location=55 call_value=38
    call_site call_return_pc=0x1090 call_origin=#h
      call_site_parameter location=55 call_value=38
    call_site call_return_pc=0x1094
      call_site_parameter location=55 call_value=38
    call_site call_return_pc=0x1098 call_origin=#f
      call_site_parameter location=56 call_value=38
    call_site call_return_pc=0x109c call_origin=#f
      call_site_parameter location=55 call_value=7100
    call_site call_return_pc=0x10a0 call_origin=#f
      call_site_parameter location=55 call_value=7800
    call_site call_return_pc=0x10a4 call_origin=#f
      call_site_parameter location=55 call_value=a30155
    call_site call_return_pc=0x10a8 call_origin=#g
      call_site_parameter location=55 call_value=a30155
    call_site call_return_pc=0x10ac call_origin=#g
      call_site_parameter location=55 call_value=39
    call_site call_return_pc=0x10b0 call_target=7800
      call_site_parameter location=55 call_value=38
`)
}

func TestEntryValues(t *testing.T) {
	const lost = "(errNoCaller)"
	const entry = "a301559f"
	tests := []struct {
		name    string
		where   string
		returns []uint64 // to the callers
		want    string
	}{
		{"by name", entry, []uint64{0x84}, "7"},
		{"by the address that is called", entry, []uint64{0x88}, "8"},
		{"another address is called", entry, []uint64{0x8c}, lost},
		{"an unknown address is called", entry, []uint64{0xb0}, lost},
		{"another function is called", entry, []uint64{0x90}, lost},
		{"not known which is called", entry, []uint64{0x94}, lost},
		{"not passed", entry, []uint64{0x98}, lost},
		{"a register of the caller", entry, []uint64{0x9c}, "72623859790386952"},
		{"an unknown register of the caller", entry, []uint64{0xa0}, "(not recovered: the value of register 8 is unknown)"},
		{"no call there", entry, []uint64{0x85}, lost},
		{"no function there", entry, []uint64{0x1000}, lost},
		{"not a register", "a302 7500 9f", []uint64{0x84}, lost},
		{"another register", "a30154 9f", []uint64{0x84}, "1"},
		{"no caller", entry, nil, lost},
		{"passed on", entry, []uint64{0xa4, 0xac}, "9"},
		{"passed on by nobody", entry, []uint64{0xa4}, lost},
		{"passed on seven times", entry, []uint64{0xa4, 0xa8, 0xa8, 0xa8, 0xa8, 0xa8, 0xa8, 0xac}, "9"},
		{"passed on eight times", entry, []uint64{0xa4, 0xa8, 0xa8, 0xa8, 0xa8, 0xa8, 0xa8, 0xa8, 0xac}, lost},
		{"asked 64 times", "a30155" + strings.Repeat("a30155 22", 63) + "9f", []uint64{0x84}, "448"},
		{"asked 65 times", "a30155" + strings.Repeat("a30155 22", 64) + "9f", []uint64{0x84}, lost},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := frame(t, arch.AMD64, "\n"+inMemory("#int"), nil)
			f.Data = entryProgram(t, strings.ReplaceAll(tt.where, " ", ""))
			chain(t, f, tt.returns)
			o := variable(t, f)
			if got := dump(&o, 1); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	t.Run("without debug information", func(t *testing.T) {
		f := frame(t, arch.AMD64, "\n"+inMemory("#int"), nil)
		f.Data = entryProgram(t, entry)
		chain(t, f, []uint64{0x84})
		f.Caller().Data = nil
		o := variable(t, f)
		if got := dump(&o, 1); got != lost {
			t.Errorf("got %s, want %s", got, lost)
		}
	})
}

// chain gives a frame callers, to which calls return.
func chain(t testing.TB, f *Frame, returns []uint64) {
	t.Helper()
	for _, r := range returns {
		caller := frame(t, arch.AMD64, "\n"+inMemory("#int"), nil)
		caller.Data, caller.PC = f.Data, 0x401000+r-1
		f.Return, f.Caller = 0x401000+r, func() *Frame { return caller }
		f = caller
	}
}

// Errors tell which of two reasons a value is unknown for.
func TestReasons(t *testing.T) {
	tests := []struct {
		text         string
		out, unknown bool
	}{
		{"  variable name=v type=#int\n", true, false},
		{"  variable name=v type=#int location=9304\n", true, false},
		{"  variable name=v type=#int location=58\n", false, true},
		{"  variable name=v type=#int location=7800\n", false, true},
		{"  variable name=v type=#int location=22\n", false, false},
	}
	for _, tt := range tests {
		o := variable(t, frame(t, arch.AMD64, "\n"+tt.text, nil))
		_, err := o.Text()
		if errors.Is(err, ErrOptimizedOut) != tt.out || errors.Is(err, ErrNotRecovered) != tt.unknown {
			t.Errorf("%s: got %v", tt.text, err)
		}
	}
}

func TestInteger(t *testing.T) {
	const no = "0 false false"
	tests := []struct{ text, want string }{
		{inMemory("#int"), "4294967291 false true"},
		{inMemory("#char"), "251 false true"},
		{inMemory("#byte"), "251 false true"},
		{"  pointer_type #t type=#int\n" + inMemory("#t"), "21474836475 true true"},
		{"  reference_type #t type=#int\n" + inMemory("#t"), "21474836475 true true"},
		{"  rvalue_reference_type #t type=#int\n" + inMemory("#t"), "21474836475 true true"},
		{"  enumeration_type #t byte_size=1\n" + inMemory("#t"), "251 false true"},
		{inMemory("#double"), no},
		{"  base_type #t byte_size=1 encoding=2\n" + inMemory("#t"), no},
		{"  base_type #t byte_size=8 encoding=3\n" + inMemory("#t"), no},
		{"  base_type #t byte_size=16 encoding=5\n" + inMemory("#t"), no},
		{"  structure_type #t byte_size=4\n" + inMemory("#t"), no},
		{"  variable name=v location=9100\n", no},
		{"  variable name=v type=#int\n", no},
		{"  variable name=v type=#int location=9120\n", no},
	}
	for _, tt := range tests {
		o := variable(t, frame(t, arch.AMD64, "\n"+tt.text, func(b *testkit.Bytes) { b.D8(0xfb, 0xff, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) }))
		v, pointer, ok := o.Integer()
		if !ok {
			v, pointer = 0, false
		}
		if got := fmt.Sprint(v, pointer, ok); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestAddress(t *testing.T) {
	const pair = "  structure_type #t name=s byte_size=16\n    member name=a type=#ulong\n    member name=b type=#int data_member_location=8\n    member name=c type=#int data_member_location=12\n    member name=d type=#u8 data_member_location=15\n" +
		"    member name=bits type=#int bit_size=1 data_bit_offset=0\n"
	tests := []struct{ text, want string }{
		{inMemory("#int"), "0x7000"},
		{"  variable name=v type=#int location=50\n", "none"},
		{"  variable name=v type=#int\n", "none"},
		{"  variable name=v type=#int location=22\n", "none"},
		{pair + inMemory("#t"), "0x7000 0x7000 0x7008 0x700c 0x700f none"},
		{pair + "  variable name=v type=#t location=50930891209308\n", "none none 0x7020 0x7024 0x7027 none"},
		{pair + "  variable name=v type=#t location=91209308509308\n", "0x7020 0x7020 none none none none"},
		{pair + "  variable name=v type=#t location=91209d400891009308\n", "none none 0x7000 0x7004 0x7007 none"},
		{pair + "  variable name=v type=#t location=91209308\n", "0x7020 0x7020 none none none none"},
	}
	for _, tt := range tests {
		o := variable(t, frame(t, arch.AMD64, "\n"+tt.text, func(b *testkit.Bytes) { b.Zero(64) }))
		show := func(o *Object) string {
			if addr, ok := o.Address(); ok {
				return fmt.Sprintf("%#x", addr)
			}
			return "none"
		}
		got := []string{show(&o)}
		if o.Shape() == Members {
			parts, _ := o.Parts(0, 9)
			for i := range parts {
				got = append(got, show(&parts[i]))
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %v, want %s", tt.text, got, tt.want)
		}
	}
}

// An object of which more is wanted than may be read at once.
func TestTooLarge(t *testing.T) {
	o := variable(t, frame(t, arch.AMD64, "\n"+inMemory("#int"), func(b *testkit.Bytes) { b.Zero(1<<16 + 1) }))
	if b, err := o.bytes(1 << 16); len(b) != 1<<16 || err != nil {
		t.Errorf("got %d bytes, %v", len(b), err)
	}
	if b, err := o.bytes(1<<16 + 1); !errors.Is(err, errTooLarge) {
		t.Errorf("got %d bytes, %v", len(b), err)
	}
}
