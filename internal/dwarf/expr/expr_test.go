package expr

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

const (
	testStack = 0x10000
	testBias  = 0x4000
)

var errEntry = errors.New("not passed")

// testContext has registers 0 to 3, and 17 as a wide one; memory at testStack; a
// frame base of 0x2000 and a CFA of 0x3000; and types by their size, negative ones
// signed, and from 100 on floating-point ones.
func testContext(a *arch.Arch) *Context {
	regs := &arch.Regs{}
	for r := range arch.Reg(4) {
		regs.Set(r, 0x1000+uint64(r))
	}
	mem := &testkit.Memory{Segs: map[uint64][]byte{testStack: {1, 2, 3, 4, 5, 6, 7, 8}}}
	known := func(v uint64) func() (uint64, error) { return func() (uint64, error) { return v, nil } }
	return &Context{
		Arch: a, Regs: regs, Mem: &memreader.Words{R: mem, BigEndian: a.BigEndian}, Bias: testBias,
		Debug: &Debug{
			CFA: known(0x3000), FrameBase: known(0x2000), OffsetSize: 4,
			Wide: func(reg uint64) []byte {
				if reg != 70 {
					return nil
				}
				b := make([]byte, 16)
				copy(b, []byte{0, 0, 0x80, 0x3f}) // 1.0
				return b
			},
			Entry: func(code []byte) (uint64, error) {
				if reg, ok := RegisterOf(code); ok && reg == 5 {
					return 0x55, nil
				}
				return 0, errEntry
			},
			Address: func(i uint64) (uint64, bool) { return 0x100 + i, i < 2 },
			Type: func(off uint64) (Type, bool) {
				switch {
				case off >= 100:
					return Type{Size: off - 100, Encoding: Float}, true
				case off >= 50:
					return Type{Size: off - 50, Encoding: Signed}, true
				}
				return Type{Size: off, Encoding: 7}, off < 32
			},
		},
	}
}

// show writes pieces with their reasons.
func show(pieces []Piece) string { return fmt.Sprintf("%+v", pieces) }

func TestLocate(t *testing.T) {
	tests := []struct {
		name string
		code []byte
		want []Piece
	}{
		{"nothing", nil, []Piece{{Kind: None}}},
		{"fbreg", []byte{OpFbreg, 0x70}, []Piece{{Kind: Memory, Addr: 0x2000 - 16}}},
		{"call_frame_cfa", []byte{OpCallFrameCFA}, []Piece{{Kind: Memory, Addr: 0x3000}}},
		{"addr", []byte{OpAddrx, 1}, []Piece{{Kind: Memory, Addr: 0x101 + testBias}}},
		{"constx", []byte{OpConstx, 1, OpStackValue}, []Piece{{Kind: Value, Value: 0x101}}},
		{"register", []byte{OpReg0 + 3}, []Piece{{Kind: Register, Reg: 3}}},
		{"regx", []byte{OpRegx, 70}, []Piece{{Kind: Register, Reg: 70}}},
		{"unknown register", []byte{OpBreg0 + 9, 0}, []Piece{{Kind: Unknown, Err: &RegisterError{Reg: 9}}}},
		{"value", []byte{OpBreg0 + 1, 4, OpStackValue}, []Piece{{Kind: Value, Value: 0x1005}}},
		{"implicit value", []byte{OpImplicitValue, 2, 7, 8}, []Piece{{Kind: Bytes, Data: []byte{7, 8}}}},
		{"implicit pointer", []byte{OpImplicitPointer, 1, 2, 3, 4, 0}, []Piece{{Kind: Pointer}}},
		{"entry value", []byte{OpEntryValue, 1, OpReg0 + 5, OpLit0 + 1, OpPlus, OpStackValue}, []Piece{{Kind: Value, Value: 0x56}}},
		{"unknown entry value", []byte{OpEntryValue, 1, OpReg0 + 6, OpLit0 + 1, OpPlus, OpStackValue}, []Piece{{Kind: Unknown, Err: errEntry}}},
		{"pieces", []byte{OpReg0, OpPiece, 4, OpPiece, 8, OpBreg0 + 9, 0, OpStackValue, OpPiece, 2, OpLit0 + 5, OpStackValue, OpBitPiece, 3, 1}, []Piece{
			{Kind: Register, Bits: 32}, {Bits: 64}, {Kind: Unknown, Bits: 16, Err: &RegisterError{Reg: 9}}, {Kind: Value, Value: 5, Bits: 3, Off: 1},
		}},
		{"shift by too much", []byte{OpLit0 + 5, OpConst1s, 0xe8, OpShl, OpStackValue}, []Piece{{Kind: Unknown, Err: errShift}}},
	}
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		for _, tt := range tests {
			t.Run(a.Name+"/"+tt.name, func(t *testing.T) {
				var m Machine
				got, err := m.Locate(testContext(a), tt.code, nil)
				if err != nil || show(got) != show(tt.want) {
					t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
				}
			})
		}
	}
}

func TestTyped(t *testing.T) {
	const i32, u32, u8, f32, f64 = 54, 4, 1, 104, 108
	float := func(v uint64) []byte {
		return []byte{OpConstType, f64, 8, 0, 0, 0, 0, 0, 0, byte(v >> 48), byte(v >> 56)}
	}
	two, minusOne := float(0x4000000000000000), float(0xbff0000000000000)
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return append(all, OpStackValue)
	}
	tests := []struct {
		name string
		code []byte
		want Piece
	}{
		{"a float of a wide register", join([]byte{OpRegvalType, 70, f32}), Piece{Kind: Bytes, Data: []byte{0, 0, 0x80, 0x3f}}},
		{"float to double", join([]byte{OpRegvalType, 70, f32, OpConvert, f64}), Piece{Kind: Bytes, Data: []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}}},
		{"sum", join(two, minusOne, []byte{OpPlus}), Piece{Kind: Bytes, Data: []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}}},
		{"comparison", join(minusOne, two, []byte{OpLt}), Piece{Kind: Value, Value: 1}},
		{"to an integer", join(minusOne, []byte{OpConvert, i32}), Piece{Kind: Bytes, Data: []byte{255, 255, 255, 255}}},
		{"cut off", join([]byte{OpConst2u, 0x34, 0x12, OpConvert, u8, OpConvert, 0}), Piece{Kind: Value, Value: 0x34}},
		{"extended", join([]byte{OpConst1u, 0xff, OpConvert, 51, OpConvert, 0}), Piece{Kind: Value, Value: ^uint64(0)}},
		{"signed division", join([]byte{OpConst1s, 0xf9, OpConvert, i32, OpLit0 + 2, OpConvert, i32, OpDiv, OpConvert, 0}), Piece{Kind: Value, Value: ^uint64(2)}},
		{"unsigned division", join([]byte{OpConst1s, 0xff, OpConvert, u32, OpLit0 + 2, OpConvert, u32, OpDiv, OpConvert, 0}), Piece{Kind: Value, Value: 0x7fffffff}},
		{"memory", join([]byte{OpConst4u, 0, 0, 1, 0, OpDerefType, 4, u32, OpConvert, 0}), Piece{Kind: Value, Value: 0x04030201}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var m Machine
			got, err := m.Locate(testContext(arch.AMD64), tt.code, nil)
			if err != nil || len(got) != 1 || show(got) != show([]Piece{tt.want}) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestDamaged(t *testing.T) {
	for name, code := range map[string][]byte{
		"two locations":               {OpReg0, OpReg0},
		"a piece of everything":       {OpPiece, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"cut off implicit value":      {OpImplicitValue, 5, 1},
		"cut off entry value":         {OpEntryValue, 5, 1},
		"address that is not there":   {OpAddrx, 2},
		"values of two types":         {OpLit0, OpLit0, OpConvert, 4, OpPlus},
		"a type that is not there":    {OpLit0, OpConvert, 40},
		"a type that is too large":    {OpLit0, OpConvert, 16},
		"a constant of another size":  {OpConstType, 4, 2, 1, 2},
		"bits of a float":             {OpRegvalType, 70, 104, OpNot},
		"a float as an address":       {OpRegvalType, 70, 104},
		"thread-local":                {OpLit0, OpFormTLSAddress},
		"stack value of nothing":      {OpStackValue},
		"a call to another procedure": {0x98, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var m Machine
			got, err := m.Locate(testContext(arch.AMD64), code, nil)
			if damage := (*Error)(nil); !errors.As(err, &damage) || len(got) != 0 {
				t.Errorf("got %+v, %v, want an *Error", got, err)
			}
		})
	}
}

// FuzzLocate evaluates any bytes. There are pieces or an error, and the same again.
func FuzzLocate(f *testing.F) {
	f.Add(false, []byte{OpReg0, OpPiece, 4, OpPiece, 8, OpBreg0 + 9, 0, OpStackValue, OpPiece, 2, OpLit0 + 5, OpStackValue, OpBitPiece, 3, 1})
	f.Add(true, []byte{OpRegvalType, 70, 104, OpConvert, 108, OpDup, OpMul, OpStackValue})
	f.Add(true, []byte{OpEntryValue, 3, OpRegvalType, 5, 54, OpConst4u, 0, 1, 0, 0, OpDerefType, 4, 54, OpShra, OpStackValue})
	f.Fuzz(func(t *testing.T, big bool, code []byte) {
		a := arch.AMD64
		if big {
			a = arch.S390X
		}
		var m Machine
		pieces, err := m.Locate(testContext(a), code, nil)
		if (len(pieces) == 0) == (err == nil) {
			t.Fatalf("got %+v, %v", pieces, err)
		}
		for i := range pieces {
			if p := &pieces[i]; (p.Kind == Unknown) != (p.Err != nil) || len(pieces) > 1 && i < len(pieces)-1 && p.Bits > 8*maxObject {
				t.Fatalf("got %+v", p)
			}
		}
		again, err2 := m.Locate(testContext(a), code, nil)
		if (err == nil) != (err2 == nil) || len(again) != len(pieces) {
			t.Fatalf("got %+v, %v and then %+v, %v", pieces, err, again, err2)
		}
	})
}
