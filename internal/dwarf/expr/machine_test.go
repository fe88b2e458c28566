package expr

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

var bothOrders = []*arch.Arch{arch.AArch64, arch.S390X}

// fullContext is testContext with all registers, which hold their number.
func fullContext(a *arch.Arch) *Context {
	c := testContext(a)
	for n := range uint64(64) {
		if reg, ok := a.FromDWARF(n); ok {
			c.Regs.Set(reg, 0x100*n)
		}
	}
	return c
}

func TestValue(t *testing.T) {
	tests := []struct {
		code string
		want int64
	}{
		{"lit0", 0},
		{"lit31", 31},
		{"addr:0x123456789abcdef0", 0x123456789abcdef0 + testBias},
		{"const1u:0xfe", 0xfe},
		{"const1s:0xfe", -2},
		{"const2u:0xfedc", 0xfedc},
		{"const2s:0xfffe", -2},
		{"const4u:0xfedcba98", 0xfedcba98},
		{"const4s:0xfffffffe", -2},
		{"const8u:0x7edcba9876543210", 0x7edcba9876543210},
		{"const8s:0xfffffffffffffffe", -2},
		{"constu:0x7fffffffffffffff", 1<<63 - 1},
		{"constu:300", 300},
		{"constu:128", 128},
		{"constu:0xffffffffffffffff", -1},
		{"consts:-9223372036854775808", -1 << 63},
		{"consts:-3", -3},
		{"consts:-64", -64},
		{"consts:-65", -65},
		{"consts:63", 63},
		{"consts:64", 64},
		{"consts:-200", -200},
		{"consts:-4611686018427387904", -1 << 62},
		{"breg0:-8", -8},
		{"breg31:8", 0x1f08},
		{"breg5:0", 0x500},
		{"bregx:30,200", 0x1e00 + 200},
		{"lit5 dup plus", 10},
		{"lit5 lit6 drop", 5},
		{"lit5 lit6 over", 5},
		{"lit5 lit6 lit7 pick:2", 5},
		{"lit5 lit6 lit7 pick:0", 7},
		{"lit5 lit6 lit7 pick:1", 6},
		{"lit5 lit7 swap minus", 2},
		{"lit1 lit2 lit3 rot", 2},
		{"lit1 lit2 lit3 rot drop", 1},
		{"lit1 lit2 lit3 rot drop drop", 3},
		{"const1s:0xfb abs", 5},
		{"lit5 abs", 5},
		{"lit0 abs", 0},
		{"lit5 neg", -5},
		{"lit5 not", -6},
		{"const1s:0xfb neg", 5},
		{"lit12 lit10 and", 8},
		{"lit12 lit10 or", 14},
		{"lit12 lit10 xor", 6},
		{"lit12 lit10 plus", 22},
		{"lit10 lit12 minus", -2},
		{"lit12 lit10 mul", 120},
		{"const1s:0xf9 lit2 div", -3},
		{"lit7 const1s:0xfe div", -3},
		{"const1s:0xff lit16 mod", 15},
		{"lit7 lit4 mod", 3},
		{"lit5 plus_uconst:1000", 1005},
		{"lit5 lit3 shl", 40},
		{"lit1 const1u:63 shl", -1 << 63},
		{"const1s:0xff const1u:60 shr", 15},
		{"const1s:0xf0 lit2 shra", -4},
		{"const1s:0xf0 const1u:63 shra", -1},
		{"lit5 lit5 eq", 1},
		{"lit5 lit6 eq", 0},
		{"lit5 lit5 ne", 0},
		{"lit5 lit6 ne", 1},
		{"const1s:0xff lit0 lt", 1},
		{"lit0 const1s:0xff lt", 0},
		{"lit5 lit5 lt", 0},
		{"const1s:0xff lit0 le", 1},
		{"lit5 lit5 le", 1},
		{"lit0 const1s:0xff le", 0},
		{"const1s:0xff lit0 gt", 0},
		{"lit0 const1s:0xff gt", 1},
		{"lit5 lit5 gt", 0},
		{"const1s:0xff lit0 ge", 0},
		{"lit5 lit5 ge", 1},
		{"lit0 const1s:0xff ge", 1},
		{"const4u:0x10000 deref_size:1", 1},
		{"const4u:0x10007 deref_size:1", 8},
		{"lit1 skip:1 lit2 lit3 plus", 4},
		{"lit1 skip:1 lit2", 1},
		{"lit1 skip:0", 1},
		{"lit9 lit1 bra:1 lit2", 9},
		{"lit9 lit0 bra:1 lit2", 2},
		{"lit3 nop", 3},
		{"lit0 lit5 swap plus_uconst:3 swap lit1 minus dup bra:-10 drop", 15}, // a loop
	}
	for _, a := range bothOrders {
		for _, tt := range tests {
			for _, of := range []string{"CFI", "debug information"} {
				t.Run(a.Name+"/"+tt.code+"/"+of, func(t *testing.T) {
					c := fullContext(a)
					if of == "CFI" {
						c.Debug = nil
					}
					var m Machine
					got, err := m.Value(c, asm(t, a, tt.code))
					if int64(got) != tt.want || err != nil {
						t.Errorf("got %#x, %v, want %#x", got, err, tt.want)
					}
				})
			}
		}
	}
}

func TestDeref(t *testing.T) {
	for _, tt := range []struct {
		code        string
		little, big int64
	}{
		{"deref", 0x0807060504030201, 0x0102030405060708},
		{"deref_size:2", 0x0201, 0x0102},
		{"deref_size:4", 0x04030201, 0x01020304},
		{"deref_size:8", 0x0807060504030201, 0x0102030405060708},
	} {
		for _, a := range bothOrders {
			want := tt.little
			if a.BigEndian {
				want = tt.big
			}
			var m Machine
			got, err := m.Value(fullContext(a), asm(t, a, tt.code), testStack)
			if int64(got) != want || err != nil {
				t.Errorf("%s, %s: got %#x, %v, want %#x", a.Name, tt.code, got, err, want)
			}
		}
	}
}

// The values that an expression begins with are on the stack in their order.
func TestInitial(t *testing.T) {
	var m Machine
	for range 2 { // nothing is left of the first time
		if got, err := m.Value(fullContext(arch.AMD64), asm(t, arch.AMD64, "minus"), 10, 3); got != 7 || err != nil {
			t.Errorf("got %d, %v, want 7", got, err)
		}
	}
	if got, err := m.Value(fullContext(arch.AMD64), nil, make([]uint64, 65)...); err == nil {
		t.Errorf("65 values: got %d, want an error", got)
	}
	if got, err := m.Value(fullContext(arch.AMD64), nil, make([]uint64, 64)...); got != 0 || err != nil {
		t.Errorf("64 values: got %d, %v", got, err)
	}
}

// In call frame information a shift by too much gives what is left of the
// number; in debug information the count is a mistake of the compiler.
func TestShift(t *testing.T) {
	tests := []struct{ code, cfi, debug string }{
		{"lit5 const1u:64 shl", "0", "(" + errShift.Error() + ")"},
		{"lit5 const1u:64 shr", "0", "(" + errShift.Error() + ")"},
		{"const1s:0xf0 const1u:200 shra", "-1", "(" + errShift.Error() + ")"},
		{"lit5 const1s:0xff minus", "6", "6"},
		{"breg40:0 lit3 shl", "(the value of register 40 is unknown)", "(the value of register 40 is unknown)"},
		{"lit3 breg40:0 shl", "(the value of register 40 is unknown)", "(the value of register 40 is unknown)"},
	}
	for _, tt := range tests {
		code := asm(t, arch.AMD64, strings.ReplaceAll(tt.code, "breg40:0", "bregx:40,0"))
		for _, cfi := range []bool{true, false} {
			c, want := testContext(arch.AMD64), tt.debug
			if cfi {
				c.Debug, want = nil, tt.cfi
			}
			var m Machine
			v, err := m.Value(c, code)
			got := "(" + errText(err) + ")"
			if err == nil {
				got = string(rune('0' + v))
				if int64(v) < 0 {
					got = "-1"
				}
			}
			if got != want {
				t.Errorf("%s, CFI %v: got %s, want %s", tt.code, cfi, got, want)
			}
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
