package cfi

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

func TestExprRule(t *testing.T) {
	tests := []struct {
		name  string
		arch  *arch.Arch
		code  string
		value bool
		want  string // "" if it is no rule
	}{
		{"register", arch.AMD64, "\x77\x08", true, "rsp+8"},
		{"offset of two bytes", arch.AMD64, "\x76\xb8\x7e", true, "rbp-200"},
		{"register, address", arch.AMD64, "\x76\x78", false, "*(rbp-8)"},
		{"in memory", arch.AMD64, "\x76\x78\x06", true, "*(rbp-8)"},
		{"in memory, address", arch.AMD64, "\x76\x78\x06", false, ""},
		{"two offsets", arch.AMD64, "\x77\x08\x23\x80\x01", true, "rsp+136"},
		{"offset after a load", arch.AMD64, "\x77\x08\x06\x23\x08", true, ""},
		{"two loads", arch.AMD64, "\x77\x08\x06\x06", true, ""},
		{"bregx", arch.S390X, "\x92\x0f\xa0\x01", true, "r15+160"},
		{"unknown register", arch.AMD64, "\x92\x63\x00", true, ""},
		{"the pc of aarch64", arch.AArch64, "\x92\x20\x00", true, ""},
		{"cut off", arch.AMD64, "\x77", true, ""},
		{"offset cut off", arch.AMD64, "\x77\x08\x23\x80", true, ""},
		{"empty", arch.AMD64, "", true, ""},
		{"constant", arch.AMD64, "\x38", true, ""},
		{"sum", arch.AMD64, "\x77\x08\x31\x22", true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := Expr{Value: tt.value, Code: []byte(tt.code)}
			got := ""
			if r, ok := e.Rule(tt.arch); ok {
				got = r.Format(tt.arch)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExprPLT(t *testing.T) {
	const lazy = "\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"
	tests := []struct {
		name string
		arch *arch.Arch
		code string
		at   uint32
		ok   bool
	}{
		{"lazy", arch.AMD64, lazy, 11, true},
		{"IBT", arch.AMD64, lazy[:6] + "\x39" + lazy[7:], 9, true},
		{"not a literal", arch.AMD64, lazy[:6] + "\x40" + lazy[7:], 0, false},
		{"another operation", arch.AMD64, lazy[:10] + "\x1c", 0, false},
		{"longer", arch.AMD64, lazy + "\x22", 0, false},
		{"shorter", arch.AMD64, lazy[:10], 0, false},
		{"much shorter", arch.AMD64, lazy[:6], 0, false},
		{"another architecture", arch.S390X, lazy, 0, false},
		{"empty", arch.AMD64, "", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := Expr{Value: true, Code: []byte(tt.code)}
			rule, at, ok := e.PLT(tt.arch)
			if ok != tt.ok || ok && (at != tt.at || rule != arch.RegOffset(7, 8)) {
				t.Errorf("got %v from %d, %v, want rsp+8 from %d, %v", rule, at, ok, tt.at, tt.ok)
			}
		})
	}
}

// Expressions that stand for rules take their places, the return address too.
func TestRowSimple(t *testing.T) {
	simple := func(reg arch.Reg, code string, value bool) Expr {
		return Expr{Reg: reg, Code: []byte(code), Value: value}
	}
	sum := simple(arch.AMD64.FP, "\x77\x08\x31\x22", true)
	row := Row{Exprs: []Expr{
		simple(arch.NoReg, "\x76\xb8\x7e", true), simple(arch.AMD64.PC, "\x76\x08", false), sum, simple(3, "\x76\x10", false),
	}}
	got, rest := row.Simple(arch.AMD64)
	if want := arch.RegOffset(6, 8); got.RA.Base != want.Base || got.RA.Off != want.Off || !got.RA.Deref || got.CFA != arch.RegOffset(6, -200) || len(rest) != 1 || string(rest[0].Code) != string(sum.Code) {
		t.Errorf("got %+v and %+v", got, rest)
	}
	row.Exprs = []Expr{simple(arch.AMD64.FP, "\x76\x00", false)}
	if got, rest := row.Simple(arch.AMD64); got.FP.Base != arch.RegOffset(6, 0).Base || !got.FP.Deref || len(rest) != 0 {
		t.Errorf("got %+v and %+v", got, rest)
	}
}

// TestLEB reads numbers of one and more bytes.
func TestLEB(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 63, -64, 64, -65, -128, -200, 8191, -8192, 8192, -8193, 1 << 40, -1 << 40, 1<<62 - 1, -1 << 62, 1<<63 - 1, -1 << 63} {
		c := cursor{data: testkit.New(orderOf(arch.AMD64)).SLEB(v).Done()}
		if got := c.sleb(""); got != v || c.failed() || c.pos != len(c.data) {
			t.Errorf("signed %d: got %d, %d of %d bytes", v, got, c.pos, len(c.data))
		}
		c = cursor{data: testkit.New(orderOf(arch.AMD64)).ULEB(uint64(v)).Done()}
		if got := c.uleb(""); got != uint64(v) || c.failed() || c.pos != len(c.data) {
			t.Errorf("unsigned %d: got %d, %d of %d bytes", uint64(v), got, c.pos, len(c.data))
		}
	}
}
