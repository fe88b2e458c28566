package value

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// TestLocated has objects in registers and pieces, which byte order and
// architecture make different. Register 1 holds 0x0102030405061708.
func TestLocated(t *testing.T) {
	const pair = "  structure_type #t name=s byte_size=16\n    member name=a type=#ulong\n    member name=b type=#ulong data_member_location=8\n"
	const four = "  structure_type #t name=s byte_size=4\n    member name=a type=#uint bit_size=4 data_bit_offset=0\n    member name=b type=#uint bit_size=12 data_bit_offset=4\n" +
		"    member name=c type=#uint bit_size=16 data_bit_offset=16\n"
	const large = "  structure_type #t name=s byte_size=16\n    member name=a type=#uint bit_size=4 data_bit_offset=0\n    member name=b type=#uint bit_size=8 data_bit_offset=72\n"
	const array = "  array_type #t type=#byte\n    subrange_type count=6\n"
	of := func(typ, code string) string { return "  variable name=v type=" + typ + " location=" + code + "\n" }
	words := func(b *testkit.Bytes) { b.D64(11, 12).D32(0xdeadbeef, 5) }
	const out, short = "(optimised out)", "(errShort)"
	const tooLarge = "{[0] (errTooLarge), [1] (errTooLarge), [2] (errTooLarge), [3] (errTooLarge), " +
		"[4] (errTooLarge), [5] (errTooLarge), [6] (errTooLarge), [7] (errTooLarge), " +
		"[8] (errTooLarge), [9] (errTooLarge)}"
	const within = "(errBits)"
	const parts = "(errNotInParts)"
	const unknown = "(not recovered: the value of register 8 is unknown)"
	tests := []struct{ name, text, little, big string }{
		{"register", of("#ulong", "51"), "72623859790386952", "72623859790386952"},
		{"a part of a register", of("#short", "51"), "5896", "5896"},
		{"register that is unknown", of("#int", "58"), unknown, unknown},
		{"wide register", of("#int", "905a"), "67305985", "219025168"}, // 1 to 4, and 13 to 16
		{"more than a register", pair + of("#t", "51"), "{a " + parts + ", b " + parts + "}", "{a " + parts + ", b " + parts + "}"},
		{"two registers", pair + of("#t", "5193085293 08"), "{a 72623859790386952, b 72623859790391048}", "{a 72623859790386952, b 72623859790391048}"},
		{"registers and memory", pair + of("#t", "519308910093 08"), "{a 72623859790386952, b 11}", "{a 72623859790386952, b 11}"},
		{"the first is lost", pair + of("#t", "93085193 08"), "{a (optimised out), b 72623859790386952}", "{a (optimised out), b 72623859790386952}"},
		{"across pieces", of("#ulong", "5193049108 9308"), "51623892744", "362002143177080832"},
		{"three pieces", of("#ulong", "519302 529302 9100 9304"), "47899481864", "1659619377999249408"},
		{"less than the type", of("#ulong", "51 9304"), short, short},
		{"the last byte is missing", of("#ulong", "51 9307"), short, short},
		{"value", of("#int", "35 1f 9f"), "-5", "-5"},
		{"value for more than 8 bytes", pair + of("#t", "35 9f"), "{a " + short + ", b " + short + "}", "{a " + short + ", b " + short + "}"},
		{"value in a piece", of("#ulong", "359f9304 369f9304"), "25769803781", "21474836486"},
		{"implicit value", of("#short", "9e 02 0102"), "513", "258"},
		{"longer implicit value", of("#short", "9e 04 01020304"), "513", "258"},
		{"shorter implicit value", of("#int", "9e 02 0102"), short, short},
		{"implicit pointer", "  pointer_type #t type=#int\n" + of("#t", "a0 00000000 00"), "(errNoPointer) -> (errNoPointer)", ""},
		{"damaged", of("#int", "22"), "(DW_OP 0x22 at byte 0: the stack is empty)", ""},
		{"unknown address", of("#int", "7800"), unknown, ""},
		{"nothing", of("#int", ""), out, out},
		{"none", "  variable name=v type=#int\n", out, out},
		{"constant", "  variable name=v type=#int const_value:sdata=-7\n", "-7", "-7"},
		{"constant string", "  variable name=v type=#t const_value:string=abc\n" + array, "{[0] 97, [1] 98, [2] 99, [3] 0, [4] " + short + ", [5] " + short + "}", ""},
		{"constant bytes", "  variable name=v type=#short const_value:block1=0102\n", "513", "258"},
		// DW_OP_bit_piece of a register, of bits that begin at the 16th.
		{"within a register", of("#short", "51 9d 10 10"), "1286", "1286"},
		{"not at a byte", of("#short", "51 9d 10 04"), within, within},
		{"piece of bits", of("#u8", "51 9d 04 00 52 9d 04 00"), within, within},
		{"bits of nothing", of("#u8", "9d 04 00 51 9d 04 00"), out, out},
		{"piece behind bits", array + of("#t", "51 9d 0c 00 52 9d 20 00"), "{[0] " + within + ", [1] " + within + ", [2] " + within + ", [3] " + within + ", [4] " + within + ", [5] " + within + "}", ""},
		{"beyond a register", of("#short", "51 9d 10 38"), parts, parts},
		{"within memory", of("#short", "9110 9d 10 10"), "-8531", "-16657"},
		{"at the seventh byte of memory", of("#short", "9108 9d 10 38"), "-4352", "3294"},
		{"the last byte of a register", of("#u8", "51 9d 08 38"), "1", "1"},
		{"the last byte of an implicit value", of("#u8", "9e 08 0102030405060708 9d 08 38"), "8", "8"},
		{"right behind an implicit value", of("#u8", "9e 02 0101 9d 08 10"), short, short},
		{"value for 9 bytes", "  structure_type #t name=s byte_size=9\n    member name=a type=#ulong\n" + of("#t", "35 9f"), "{a " + short + "}", ""},
		{"structure that is nowhere", pair + of("#t", ""), out + "{a " + out + ", b " + out + "}", ""},
		{"array of a register that is too large", "  array_type #t type=#byte\n    subrange_type count:data4=70000\n" + of("#t", "51"), tooLarge, ""},
		// DW_OP_regval_type of register 3 with the type int, which is the first entry.
		{"typed register", of("#int", "a5 03 1e 9f"), "84293384", "84293384"},
		{"register of an unknown type", of("#int", "a5 03 1f 9f"), "(DW_OP 0xa5 at byte 0: a type that is not supported)", ""},
		{"within memory, not at a byte", of("#short", "9100 9d 10 04"), within, within},
		{"within a value", of("#short", "35 9f 9d 10 10"), within, within},
		{"within an implicit value", of("#short", "9e 04 01020304 9d 10 10"), "1027", "772"},
		{"beyond an implicit value", of("#short", "9e 01 01 9d 10 10"), within, within},
		{"not at a byte of an implicit value", of("#short", "9e 04 01020304 9d 10 04"), within, within},
		{
			"bytes of an object", array + of("#t", "51 9302 9102 9302 9302"), "{[0] 8, [1] 23, [2] 0, [3] 0, [4] " + out + ", [5] " + out + "}",
			"{[0] 23, [1] 8, [2] 0, [3] 0, [4] " + out + ", [5] " + out + "}",
		},
		// Bit fields of a register, which have no bytes of their own.
		{"bit fields", four + of("#t", "51 9304"), "{a 8, b 368, c 1286}", "{a 0, b 1286, c 5896}"},
		{"bit fields in pieces of bits", four + of("#t", "51 9d 04 00 52 9d 0c 00 359f 9d 10 00"), "{a 8, b 1800, c 5}", "{a 8, b 1800, c 5}"},
		{"bit fields in a piece of 20 bits", four + of("#t", "51 9d 14 00 52 9d 0c 00"), "{a 8, b 368, c " + within + "}", "{a 6, b 368, c " + within + "}"},
		{"bit fields in a part of a register", four + of("#t", "51 9d 04 08 52 9d 0c 08 9302"), "{a 7, b 1575, c " + out + "}", ""},
		{"bit fields in an unknown register", four + of("#t", "58 9d 04 00 9d 1c 00"), "{a " + unknown + ", b " + out + ", c " + out + "}", ""},
		{"bit fields in 64 bits", four + of("#t", "51 9d 40 04"), "{a 0, b 1559, c 16464}", "{a 0, b 16, c 8240}"},
		{"bit fields in 65 bits", four + of("#t", "51 9d 41 04"), "{a " + within + ", b " + within + ", c " + within + "}", ""},
		{"bit fields in bytes", four + of("#t", "9e 04 01020304 9d 14 00"), "{a " + within + ", b " + within + ", c " + within + "}", ""},
		{"bit fields of a value", four + of("#t", "0c 08170605 9f 9304"), "{a 8, b 368, c 1286}", "{a 0, b 2071, c 1541}"},
		{"bit fields within a register", four + of("#t", "51 9d 20 08"), "{a 7, b 97, c 1029}", "{a 0, b 1029, c 1559}"},
		{"bit fields of memory", four + of("#t", "9110 9304"), "{a 15, b 3054, c 57005}", "{a 13, b 3757, c 48879}"},
		{"bit fields of nothing", four + of("#t", "9304"), "{a " + out + ", b " + out + ", c " + out + "}", ""},
		{"bit fields of an unknown register", four + of("#t", "58 9304"), "{a " + unknown + ", b " + unknown + ", c " + unknown + "}", ""},
		{"bit fields of two registers", four + of("#t", "51 9302 52 9302"), "{a 8, b 368, c 9992}", "{a 1, b 1800, c 9992}"},
		{"bit fields of a wide object", large + of("#t", "9e 10 0102030405060708090a0b0c0d0e0f10 9310"), "{a 1, b 10}", "{a 0, b 10}"},
		{"bit fields of a wide register", large + of("#t", "905a 9310"), "{a 1, b 10}", "{a 0, b 10}"},
	}
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		for _, tt := range tests {
			t.Run(a.Name+"/"+tt.name, func(t *testing.T) {
				want := tt.little
				if a.BigEndian && tt.big != "" {
					want = tt.big
				}
				o := variable(t, frame(t, a, "\n"+spaceless(tt.text), words))
				if got := dump(&o, 3); got != want {
					t.Errorf("got %s\nwant %s", got, want)
				}
			})
		}
	}
}

// spaceless takes the spaces out of the code of locations.
func spaceless(text string) string {
	out, inside := "", false
	for i := range len(text) {
		switch c := text[i]; {
		case i >= 9 && text[i-9:i] == "location=":
			inside = true
			out += string(c)
		case c == '\n':
			inside = false
			out += "\n"
		case !inside || c != ' ':
			out += string(c)
		}
	}
	return out
}

// The floating-point registers of s390x have a number at the left.
func TestFloatRegisters(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{"60", "1.5"}, {"6f", "1.5"}, {"5f", "1.1267532e-19"}, {"9020", "(not recovered: the value of register 32 is unknown)"},
	} {
		text := "\n  base_type #t name=float byte_size=4 encoding=4\n  variable name=v type=#t location=" + tt.code + "\n"
		f := frame(t, arch.S390X, text, nil)
		for r := range arch.Reg(32) {
			f.Regs.Set(r, 0x3fc0000020050607)
		}
		o := variable(t, f)
		if got := dump(&o, 1); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.code, got, tt.want)
		}
	}
	f := frame(t, arch.AMD64, "\n  variable name=v type=#int location=58\n", nil)
	f.Wide = nil
	o := variable(t, f)
	if _, err := o.Text(); !errors.Is(err, ErrNotRecovered) {
		t.Errorf("no wide registers: got %v", err)
	}
}

// The reason why memory is missing is kept.
func TestFault(t *testing.T) {
	f := frame(t, arch.AMD64, "\n"+inMemory("#int"), nil)
	mem := &testkit.Memory{Segs: map[uint64][]byte{testStack: make([]byte, 4)}, Faults: map[uint64]int{testStack + 2: 0}}
	f.Mem = mem
	o := variable(t, f)
	fault := (*memreader.FaultError)(nil)
	if _, err := o.Text(); !errors.As(err, &fault) || *fault != (memreader.FaultError{Addr: testStack + 2, Why: memreader.NotDumped}) {
		t.Errorf("got %v", err)
	}
	mem.CheckFaults(t)
}
