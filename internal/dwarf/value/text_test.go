package value

import (
	"errors"
	"math"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/info"
)

func TestReal(t *testing.T) {
	tests := []struct {
		arch *arch.Arch
		name string
		b    []byte // the least significant first
		want string
	}{
		{arch.AMD64, "_Float16", []byte{0x00, 0x3e}, "1.5"},
		{arch.AMD64, "_Float16", []byte{0x00, 0xfc}, "-Inf"},
		{arch.AMD64, "_Float16", []byte{0x01, 0x00}, "5.96e-08"},
		{arch.AMD64, "__bf16", []byte{0xc0, 0xbf}, "-1.5"},
		{arch.AMD64, "float", []byte{0xdb, 0x0f, 0x49, 0x40}, "3.1415927"},
		{arch.AMD64, "double", []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, "NaN"},
		{arch.AMD64, "long double", []byte{0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0xbf, 9, 9, 9, 9, 9, 9}, "-1.5"},
		{arch.AMD64, "long double", []byte{0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x7f, 0, 0, 0, 0, 0, 0}, "+Inf"},
		{arch.AMD64, "long double", make([]byte, 16), "0"},
		{arch.AMD64, "_Float128", []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f}, "1.5"},
		{arch.S390X, "long double", []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0xbf}, "-1.5"},
		{arch.AArch64, "long double", make([]byte, 16), "0"},
		{arch.S390X, "long double", []byte{15: 0x80}, "-0"},
		{arch.AArch64, "long double", []byte{0: 1, 15: 0}, "6.47517511943802511092443895822764655e-4966"},
		{arch.AArch64, "long double", []byte{14: 1, 15: 0}, "3.3621031431120935062626778173217526e-4932"},
		{arch.AArch64, "long double", []byte{14: 0xff, 15: 0x7f}, "+Inf"},
		{arch.AArch64, "long double", []byte{14: 0xff, 15: 0xff}, "-Inf"},
		{arch.AArch64, "long double", []byte{14: 0xff, 15: 0x3f}, "1"},
		{arch.AArch64, "long double", []byte{14: 0x05, 15: 0x40}, "64"},
		{arch.AMD64, "long double", []byte{7: 0x80, 8: 0xff, 9: 0xff, 15: 0}, "-Inf"},
		{arch.AMD64, "long double", []byte{7: 0xc0, 8: 0xff, 9: 0x7f, 15: 0}, "NaN"},
		{arch.AMD64, "long double", []byte{0: 1, 15: 0}, "3.64519953188247460253e-4951"},
		{arch.AMD64, "long double", []byte{7: 0x80, 8: 0x05, 9: 0x40, 15: 0}, "64"},
		{arch.AMD64, "bf", []byte{0, 0, 0, 0, 0, 0, 0xf4, 0x3f}, "1.25"},
		{arch.AMD64, "long double", []byte{0: 1, 7: 0x80, 8: 0xff, 9: 0x3f, 15: 0}, "1.00000000000000000011"},
		{arch.AArch64, "long double", []byte{0: 1, 14: 0xff, 15: 0x3f}, "1.00000000000000000000000000000000019"},
		{arch.AMD64, "_Float16", []byte{0x00, 0x7c}, "+Inf"},
		{arch.AMD64, "_Float16", []byte{0x01, 0x7c}, "NaN"},
		{arch.AMD64, "_Float16", []byte{0x00, 0x80}, "-0"},
		{arch.AMD64, "_Float16", []byte{0x00, 0x04}, "6.104e-05"},
		{arch.AMD64, "_Float16", []byte{0xff, 0x7b}, "6.55e+04"},
		{arch.AMD64, "_Float16", []byte{0xff, 0x03}, "6.098e-05"},
		{arch.AArch64, "long double", []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x7f}, "NaN"},
	}
	for _, tt := range tests {
		o := &Object{scope: &Scope{frame: &Frame{Arch: tt.arch}}}
		if got, err := o.real(tt.b, tt.name); got != tt.want || err != nil {
			t.Errorf("%s %x: got %s, %v, want %s", tt.name, tt.b, got, err, tt.want)
		}
	}
}

func TestQuote(t *testing.T) {
	long := make([]byte, 300)
	for i := range long {
		long[i] = 'x'
	}
	for in, want := range map[string]string{
		"abc\x00def": `"abc"`, "\x1b[2J\u202e": `"\x1b[2J\u202e"`, "": `""`, "\xff": `"\xff"`,
	} {
		if got := quote([]byte(in), false); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	if got := quote(long, false); len(got) != maxText+5 || got[maxText+2:] != "..." {
		t.Errorf("got %s", got)
	}
	if got := quoteChar(0x9b, 1); got != `'\x9b'` {
		t.Errorf("got %s", got)
	}
}

func TestExtend(t *testing.T) {
	for _, tt := range []struct {
		v, bits uint64
		want    int64
	}{{7, 3, -1}, {3, 3, 3}, {1 << 63, 64, math.MinInt64}, {1 << 62, 63, -1 << 62}, {1, 1, -1}, {5, 0, 5}, {0xff, 8, -1}} {
		if got := extend(tt.v, tt.bits); got != tt.want {
			t.Errorf("%#x, %d bits: got %d, want %d", tt.v, tt.bits, got, tt.want)
		}
	}
}

// A variable whose type is missing has a reason in place of its value.
func TestNoType(t *testing.T) {
	s := Scope{frame: &Frame{Arch: arch.AMD64}}
	o := s.Object(&info.Variable{Name: "v"})
	if text, err := o.Text(); text != "" || !errors.Is(err, errNoType) {
		t.Errorf("Text returns %q, %v, want no text and %v", text, err, errNoType)
	}
	if n, err := o.Len(); n != 0 || err != nil || o.Shape() != Scalar || o.IsReference() {
		t.Errorf("%d parts (%v) of shape %d, reference: %v; want a scalar", n, err, o.Shape(), o.IsReference())
	}
	if _, ok := o.Address(); ok {
		t.Error("it has an address")
	}
}
