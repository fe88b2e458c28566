package expr

import (
	"math"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

func TestTypedOperations(t *testing.T) {
	const two = "(DW_OP 0x22 at byte "
	tests := []struct{ code, want string }{
		// Constants are cut off and extended, and keep their type.
		{"const_type:u8,200", "0xc8/1"},
		{"const_type:i8,-3", "0xfd/1"},
		{"const_type:u64,-1", "0xffffffffffffffff/8"},
		{"const_type:i8,-3 convert:generic", "-3"},
		{"const_type:u8,253 convert:generic", "253"},
		{"const_type:u16,-3 convert:generic", "65533"},
		{"const_type:i16,-3 convert:generic", "-3"},
		{"const_type:i32,-3 convert:generic", "-3"},
		{"const_type:u32,-3 convert:generic", "4294967293"},
		{"const_type:i64,-3 convert:generic", "-3"},
		{"const_type:f64,1.5", "0x3ff8000000000000/8"},
		{"const_type:f32,1.5", "0x3fc00000/4"},
		// Arithmetic is done modulo the size of the type.
		{"const_type:u8,200 const_type:u8,100 plus", "0x2c/1"},
		{"const_type:u8,200 const_type:u8,100 plus convert:generic", "44"},
		{"const_type:i8,100 const_type:i8,100 plus convert:generic", "-56"},
		{"const_type:u8,1 const_type:u8,2 minus convert:generic", "255"},
		{"const_type:i32,7 const_type:i32,-2 mul convert:generic", "-14"},
		{"const_type:u32,1 const_type:u32,3 and", "0x1/4"},
		{"const_type:u32,1 const_type:u32,2 or", "0x3/4"},
		{"const_type:u32,1 const_type:u32,3 xor", "0x2/4"},
		// Division and its rest, by the sign of the type.
		{"const_type:i32,-7 const_type:i32,2 div convert:generic", "-3"},
		{"const_type:u32,-7 const_type:u32,2 div convert:generic", "2147483644"},
		{"const_type:u64,-1 const_type:u64,2 div convert:generic", "9223372036854775807"},
		{"const_type:i64,-7 const_type:i64,2 mod convert:generic", "-1"},
		{"const_type:i64,7 const_type:i64,-1 mod convert:generic", "0"},
		{"const_type:i32,-7 const_type:i32,4 mod convert:generic", "-3"},
		{"const_type:u64,-1 const_type:u64,16 mod convert:generic", "15"},
		// Shifts, whose count may have another type.
		{"const_type:i32,-8 lit1 shr convert:generic", "2147483644"},
		{"const_type:i32,-8 lit1 shra convert:generic", "-4"},
		{"const_type:i8,-8 lit1 shr", "0x7c/1"},
		{"const_type:i64,-8 lit1 shr convert:generic", "9223372036854775804"},
		{"const_type:u32,8 lit1 shl", "0x10/4"},
		{"const_type:u32,-1 lit4 shl", "0xfffffff0/4"},
		{"const_type:u32,8 const_type:u8,1 shr", "0x4/4"},
		{"const_type:u32,-8 lit1 shr", "0x7ffffffc/4"},
		{"const_type:i32,1 const1u:64 shl", "(" + errShift.Error() + ")"},
		{"const_type:i32,1 const1u:63 shl", "0x0/4"},
		// Comparisons give a generic value.
		{"const_type:u64,-1 const_type:u64,1 gt", "1"},
		{"const_type:u64,-1 const_type:u64,1 ge", "1"},
		{"const_type:u64,-1 const_type:u64,1 lt", "0"},
		{"const_type:u64,-1 const_type:u64,1 le", "0"},
		{"const_type:u64,1 const_type:u64,-1 gt", "0"},
		{"const_type:u64,1 const_type:u64,-1 ge", "0"},
		{"const_type:u64,1 const_type:u64,-1 lt", "1"},
		{"const_type:u64,1 const_type:u64,-1 le", "1"},
		{"const_type:u64,5 const_type:u64,5 gt", "0"},
		{"const_type:u64,5 const_type:u64,5 ge", "1"},
		{"const_type:u64,5 const_type:u64,5 lt", "0"},
		{"const_type:u64,5 const_type:u64,5 le", "1"},
		{"const_type:i64,-1 const_type:i64,1 gt", "0"},
		{"const_type:i64,-1 const_type:i64,1 lt", "1"},
		{"const_type:i64,-1 const_type:i64,1 ge", "0"},
		{"const_type:i64,-1 const_type:i64,1 le", "1"},
		{"const_type:i8,-1 const_type:i8,-1 eq", "1"},
		{"const_type:i8,-1 const_type:i8,1 ne", "1"},
		// One operand.
		{"const_type:i8,-128 neg convert:generic", "-128"},
		{"const_type:i8,-5 abs", "0x5/1"},
		{"const_type:u64,-5 abs", "0xfffffffffffffffb/8"},
		{"const_type:i64,-5 abs", "0x5/8"},
		{"const_type:u8,5 not", "0xfa/1"},
		{"const_type:u8,5 neg", "0xfb/1"},
		{"const_type:u8,255 plus_uconst:2", "0x1/1"},
		// Floats.
		{"const_type:f64,2.0 const_type:f64,-1.0 plus", "0x3ff0000000000000/8"},
		{"const_type:f64,2.0 const_type:f64,-1.0 minus", "0x4008000000000000/8"},
		{"const_type:f64,2.0 const_type:f64,1.5 mul", "0x4008000000000000/8"},
		{"const_type:f64,3.0 const_type:f64,2.0 div", "0x3ff8000000000000/8"},
		{"const_type:f64,3.0 const_type:f64,0.0 div", "0x7ff0000000000000/8"},
		{"const_type:f32,2.0 const_type:f32,1.5 mul", "0x40400000/4"},
		{"const_type:f64,1.0 const_type:f64,2.0 eq", "0"},
		{"const_type:f64,1.0 const_type:f64,1.0 eq", "1"},
		{"const_type:f64,1.0 const_type:f64,2.0 ne", "1"},
		{"const_type:f64,1.0 const_type:f64,1.0 ne", "0"},
		{"const_type:f64,1.0 const_type:f64,2.0 lt", "1"},
		{"const_type:f64,1.0 const_type:f64,1.0 lt", "0"},
		{"const_type:f64,2.0 const_type:f64,1.0 lt", "0"},
		{"const_type:f64,1.0 const_type:f64,2.0 le", "1"},
		{"const_type:f64,1.0 const_type:f64,1.0 le", "1"},
		{"const_type:f64,2.0 const_type:f64,1.0 le", "0"},
		{"const_type:f64,1.0 const_type:f64,2.0 gt", "0"},
		{"const_type:f64,1.0 const_type:f64,1.0 gt", "0"},
		{"const_type:f64,2.0 const_type:f64,1.0 gt", "1"},
		{"const_type:f64,1.0 const_type:f64,2.0 ge", "0"},
		{"const_type:f64,1.0 const_type:f64,1.0 ge", "1"},
		{"const_type:f64,2.0 const_type:f64,1.0 ge", "1"},
		{"const_type:f64,NaN dup eq", "0"},
		{"const_type:f64,1.5 neg", "0xbff8000000000000/8"},
		{"const_type:f64,-1.5 neg", "0x3ff8000000000000/8"},
		{"const_type:f64,1.5 abs", "0x3ff8000000000000/8"},
		{"const_type:f64,-1.5 abs", "0x3ff8000000000000/8"},
		{"const_type:f32,-1.5 abs", "0x3fc00000/4"},
		{"const_type:f64,0.0 abs", "0x0/8"},
		{"const_type:f64,0.0 neg", "0x8000000000000000/8"},
		// Conversions.
		{"const_type:f32,1.5 convert:f64", "0x3ff8000000000000/8"},
		{"const_type:f64,1.5 convert:f32", "0x3fc00000/4"},
		{"const_type:f64,-1.5 convert:i32", "0xffffffff/4"},
		{"const_type:f64,-1.5 convert:generic", "-1"},
		{"const_type:f64,300.0 convert:u8", "0x2c/1"},
		{"const_type:i8,-2 convert:f64", "0xc000000000000000/8"},
		{"const_type:u64,-1 convert:f64", "0x43f0000000000000/8"},
		{"const_type:i64,-1 convert:f32", "0xbf800000/4"},
		{"const2u:0x1234 convert:u8", "0x34/1"},
		{"const1u:0xff convert:i8 convert:generic", "-1"},
		{"const_type:f64,1.5 reinterpret:u64", "0x3ff8000000000000/8"},
		{"const_type:f64,1.5 reinterpret:generic", "4609434218613702656"},
		{"const2u:0x1234 reinterpret:u8 convert:generic", "52"},
		{"const_type:u8,255 reinterpret:i8 convert:generic", "-1"},
		{"const_type:f64,-9223372036854774784.0 convert:i64", "0x8000000000000400/8"},
		{"const_type:f64,9223372036854774784.0 convert:i64", "0x7ffffffffffffc00/8"},
		// Unknown values keep their type.
		{"bregx:40,0 convert:u8 const_type:u8,1 plus", "(the value of register 40 is unknown)"},
		{"regval_type:40,u8 const_type:u8,1 eq lit1 plus", "(the value of register 40 is unknown)"},
		{"regval_type:40,u8 const_type:u8,1 plus lit1 plus", two + "9: values of two types)"},
		{"regval_type:40,u8 convert:u16 const_type:u16,1 plus", "(the value of register 40 is unknown)"},
		{"const4u:0x30000 deref_type:4,u32 const_type:u32,1 plus", "(memory at 0x30000: not mapped)"},
		{"bregx:40,0 deref_type:4,u32 const_type:u32,1 plus", "(the value of register 40 is unknown)"},
		{"const_type:u8,1 regval_type:40,u8 shl const_type:u8,1 plus", "(the value of register 40 is unknown)"},
		{"const_type:u8,1 const1u:64 shl const_type:u8,1 plus", "(" + errShift.Error() + ")"},
		{"regval_type:40,u64 plus_uconst:0x7ff8000000000001 reinterpret:f64 convert:i64", "(the value of register 40 is unknown)"},
		// What GNU wrote before DWARF 5.
		{"GNU_const_type:u8,200", "0xc8/1"},
		{"GNU_regval_type:3,u8", "0x3/1"},
		{"const2u:0x1234 GNU_convert:u8", "0x34/1"},
		{"const2u:0x1234 GNU_reinterpret:u8", "0x34/1"},
		{"const4u:0x10000 GNU_deref_type:1,u8", "0x1/1"},
		// Registers and memory.
		{"regval_type:3,u16", "0x1003/2"},
		{"regval_type:3,u8 convert:generic", "3"},
		{"regval_type:3,generic", "4099"},
		{"const4u:0x10007 deref_type:1,i8 convert:generic", "8"},
		{"const4u:0x10007 deref_type:1,u8", "0x8/1"},
		// Damage.
		{"lit1 const_type:u8,1 plus", two + "5: values of two types)"},
		{"const_type:u8,1 lit1 eq", "(DW_OP 0x29 at byte 5: values of two types)"},
		{"const_type:f64,1.0 const_type:f64,1.0 and", "(DW_OP 0x1a at byte 22: not an operation on floating-point numbers)"},
		{"const_type:f64,1.0 const_type:f64,1.0 mod", "(DW_OP 0x1d at byte 22: not an operation on floating-point numbers)"},
		{"const_type:f64,1.0 lit1 shl", "(DW_OP 0x24 at byte 12: not an operation on floating-point numbers)"},
		{"const_type:f64,1.0 not", "(DW_OP 0x20 at byte 11: not an operation on floating-point numbers)"},
		{"const_type:f64,1.0 plus_uconst:1", "(DW_OP 0x23 at byte 11: not an integer)"},
		{"const_type:f64,1.0 deref", "(DW_OP 0x06 at byte 11: not an integer)"},
		{"const_type:f64,1.0 bra:0", "(DW_OP 0x28 at byte 11: not an integer)"},
		{"const_type:f64,9223372036854775808.0 convert:i64", "(DW_OP 0xa8 at byte 11: the number is too large for the type)"},
		{"const_type:f64,-9223372036854775808.0 convert:i64", "(DW_OP 0xa8 at byte 11: the number is too large for the type)"},
		{"const_type:f64,NaN convert:i64", "(DW_OP 0xa8 at byte 11: the number is too large for the type)"},
		{"const_type:u8,5 const_type:u8,0 div", "(DW_OP 0x1b at byte 8: division by zero)"},
		{"const_type:u8,5 const_type:u8,0 mod", "(DW_OP 0x1d at byte 8: division by zero)"},
		{"a4 04 02 00 00", "(DW_OP 0xa4 at byte 0: a constant of another size than its type)"},
		{"a4 04 04 00 00", "(DW_OP 0xa4 at byte 0: cut off by the end of the expression)"},
		{"a4 00 00", "0"},
		{"lit1 deref_type:2,u32", "(DW_OP 0xa6 at byte 1: another size than that of the type)"},
		{"lit1 convert:none", "(DW_OP 0xa8 at byte 1: a type that is not supported)"},
		{"lit1 convert:u128", "(DW_OP 0xa8 at byte 1: a type that is not supported)"},
		{"lit1 convert:u3", "(DW_OP 0xa8 at byte 1: a type that is not supported)"},
		{"lit1 convert:f16", "(DW_OP 0xa8 at byte 1: a type that is not supported)"},
		{"lit1 convert:f8", "(DW_OP 0xa8 at byte 1: a type that is not supported)"},
		{"lit1 convert:empty", "(DW_OP 0xa8 at byte 1: a type that is not supported)"},
		{"regval_type:3,none", "(DW_OP 0xa5 at byte 0: a type that is not supported)"},
		{"lit1 a6 01 28", "(DW_OP 0xa6 at byte 1: a type that is not supported)"},
	}
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		for _, tt := range tests {
			t.Run(a.Name+"/"+tt.code, func(t *testing.T) {
				if got := result(t, testContext(a), tt.code); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			})
		}
	}
}

// A SignedChar has a sign as Signed has; every other encoding but Float none.
func TestEncodings(t *testing.T) {
	for encoding := range uint8(32) {
		want, sign := "255", encoding == 5 || encoding == 6
		if sign {
			want = "-1"
		}
		if encoding == 4 {
			want = "(DW_OP 0xa8 at byte 2: a type that is not supported)"
		}
		c := testContext(arch.AMD64)
		c.Debug.Type = func(uint64) (Type, bool) { return Type{Size: 1, Encoding: Encoding(encoding)}, true }
		if got := result(t, c, "const1u:0xff convert:u8 convert:generic"); got != want {
			t.Errorf("encoding %d: got %s, want %s", encoding, got, want)
		}
	}
	c := testContext(arch.AMD64)
	c.Debug.Type = nil
	if got, want := result(t, c, "lit1 convert:u8"), "(DW_OP 0xa8 at byte 1: there are no types)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A register is cut off to the size of the type. On s390x floats are at the
// left of floating-point registers; a wide register has its number where its
// first bytes or, in big-endian order, its last ones are.
func TestTypedRegister(t *testing.T) {
	wide := func(b ...byte) func(uint64) []byte { return func(uint64) []byte { return b } }
	float := math.Float64bits(1.5)
	tests := []struct {
		arch *arch.Arch
		reg  uint64 // value of register 16
		wide func(uint64) []byte
		code string
		want string
	}{
		{arch.S390X, 0x3fc0000012345678, nil, "regval_type:16,f32", "0x3fc00000/4"},
		{arch.S390X, float, nil, "regval_type:16,f64", "0x3ff8000000000000/8"},
		{arch.S390X, 0x1122334455667788, nil, "regval_type:16,u32", "0x55667788/4"},
		{arch.AArch64, 0x3fc00000, nil, "regval_type:16,f32", "0x3fc00000/4"},
		{arch.AArch64, 0xff3fc00000, nil, "regval_type:16,f32", "0x3fc00000/4"},
		{arch.AMD64, 0, wide(1, 2, 3, 4), "regval_type:70,u16", "0x201/2"},
		{arch.AMD64, 0, wide(1, 2), "regval_type:70,u16", "0x201/2"},
		{arch.S390X, 0, wide(1, 2, 3, 4), "regval_type:170,u16", "0x304/2"},
		{arch.AMD64, 0, wide(0, 0, 0x80, 0x3f, 9, 9, 9, 9), "regval_type:70,f32 reinterpret:u64", "0x3f800000/8"},
		{arch.S390X, 0, wide(9, 9, 9, 9, 0x3f, 0x80, 0, 0), "regval_type:170,f32 reinterpret:u64", "0x3f800000/8"},
		{arch.S390X, 0, nil, "regval_type:170,f32", "(the value of register 170 is unknown)"},
		{arch.AMD64, 0, wide(0xff), "regval_type:70,i8 convert:generic", "-1"},
		{arch.AMD64, 0, wide(1), "regval_type:70,u16", "(the value of register 70 is unknown)"},
		{arch.AMD64, 0, wide(1), "regval_type:70,generic", "(the value of register 70 is unknown)"},
		{arch.AMD64, 0, nil, "regval_type:70,u16", "(the value of register 70 is unknown)"},
	}
	for _, tt := range tests {
		c := testContext(tt.arch)
		if reg, ok := tt.arch.FromDWARF(16); ok {
			c.Regs.Set(reg, tt.reg)
		}
		c.Debug.Wide = tt.wide
		if got := result(t, c, tt.code); got != tt.want {
			t.Errorf("%s, %s of %#x: got %s, want %s", tt.arch.Name, tt.code, tt.reg, got, tt.want)
		}
	}
}
