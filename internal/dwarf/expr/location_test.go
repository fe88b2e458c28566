package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

var errFrame = errors.New("no frame base")

func TestLocations(t *testing.T) {
	no40 := &RegisterError{Reg: 40}
	tests := []struct {
		code string
		want []Piece
	}{
		{"", []Piece{{Kind: None}}},
		{"nop", []Piece{{Kind: None}}},
		{"lit1 drop", []Piece{{Kind: None}}},
		{"lit5", []Piece{{Kind: Memory, Addr: 5}}},
		{"lit5 lit6", []Piece{{Kind: Memory, Addr: 6}}},
		{"const_type:u8,5", []Piece{{Kind: Memory, Addr: 5}}},
		{"fbreg:-16", []Piece{{Kind: Memory, Addr: 0x2000 - 16}}},
		{"call_frame_cfa", []Piece{{Kind: Memory, Addr: 0x3000}}},
		{"addr:0x10", []Piece{{Kind: Memory, Addr: 0x10 + testBias}}},
		{"addrx:1", []Piece{{Kind: Memory, Addr: 0x101 + testBias}}},
		{"GNU_addr_index:1", []Piece{{Kind: Memory, Addr: 0x101 + testBias}}},
		{"constx:1 stack_value", []Piece{{Kind: Value, Value: 0x101}}},
		{"GNU_const_index:0 stack_value", []Piece{{Kind: Value, Value: 0x100}}},
		{"reg0", []Piece{{Kind: Register, Reg: 0}}},
		{"reg31", []Piece{{Kind: Register, Reg: 31}}},
		{"regx:70", []Piece{{Kind: Register, Reg: 70}}},
		{"regx:300", []Piece{{Kind: Register, Reg: 300}}},
		{"bregx:40,0", []Piece{{Kind: Unknown, Err: no40}}},
		{"bregx:40,0 stack_value", []Piece{{Kind: Unknown, Err: no40}}},
		{"breg1:4 stack_value", []Piece{{Kind: Value, Value: 0x1005}}},
		{"implicit_value:0708", []Piece{{Kind: Bytes, Data: []byte{7, 8}}}},
		{"implicit_pointer:0x123,5", []Piece{{Kind: Pointer}}},
		{"GNU_implicit_pointer:0x123,-5", []Piece{{Kind: Pointer}}},
		{"push_object_address", []Piece{{Kind: Memory, Addr: 0x7000}}},
		{"push_object_address lit8 plus", []Piece{{Kind: Memory, Addr: 0x7008}}},
		{"entry_value:reg5 lit1 plus stack_value", []Piece{{Kind: Value, Value: 0x56}}},
		{"GNU_entry_value:reg5 stack_value", []Piece{{Kind: Value, Value: 0x55}}},
		{"entry_value:reg6 lit1 plus stack_value", []Piece{{Kind: Unknown, Err: errEntry}}},
		{"lit7 entry_value:reg5 plus stack_value", []Piece{{Kind: Value, Value: 0x5c}}},
		{"entry_value:regval_type;5/u8 const_type:u8,1 plus convert:generic stack_value", []Piece{{Kind: Value, Value: 0x56}}},
		{"entry_value:GNU_regval_type;5/u8 const_type:u8,1 plus convert:generic stack_value", []Piece{{Kind: Value, Value: 0x56}}},
		{"GNU_parameter_ref:8 lit5", []Piece{{Kind: Memory, Addr: 5}}},
		{"a3 00", []Piece{{Kind: Unknown, Err: errEntry}}},
		{"GNU_parameter_ref:8 stack_value", []Piece{{Kind: Unknown, Err: errNotKnown}}},
		{"lit1 GNU_uninit", []Piece{{Kind: Memory, Addr: 1}}},
		{"reg0 GNU_uninit", []Piece{{Kind: Register}}},
		// Pieces.
		{"reg0 piece:4 piece:8 bregx:40,0 stack_value piece:2 lit5 stack_value bit_piece:3,1", []Piece{
			{Kind: Register, Bits: 32}, {Bits: 64}, {Kind: Unknown, Bits: 16, Err: no40}, {Kind: Value, Value: 5, Bits: 3, Off: 1},
		}},
		{"reg0 piece:8 reg1 piece:8", []Piece{{Kind: Register, Bits: 64}, {Kind: Register, Reg: 1, Bits: 64}}},
		{"lit5 piece:8 lit6", []Piece{{Kind: Memory, Addr: 5, Bits: 64}, {Kind: Memory, Addr: 6}}},
		{"lit5 piece:8 reg1", []Piece{{Kind: Memory, Addr: 5, Bits: 64}, {Kind: Register, Reg: 1}}},
		{"lit5 dup piece:8 piece:1", []Piece{{Kind: Memory, Addr: 5, Bits: 64}, {Bits: 8}}}, // what is left over is no address
		{"lit5 dup piece:8", []Piece{{Kind: Memory, Addr: 5, Bits: 64}}},
		{"reg0 piece:8 lit1 drop", []Piece{{Kind: Register, Bits: 64}}},
		{"implicit_value:01 piece:1 implicit_value:02 piece:1", []Piece{{Kind: Bytes, Data: []byte{1}, Bits: 8}, {Kind: Bytes, Data: []byte{2}, Bits: 8}}},
		{"piece:0x1000000000000", []Piece{{Bits: 8 << 48}}},
		{"bit_piece:0x1000000000000,0x1000000000000", []Piece{{Bits: 1 << 48, Off: 1 << 48}}},
		{strings.Repeat("piece:1 ", 1000-1) + "piece:1", onePieces(1000)},
	}
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		for _, tt := range tests {
			t.Run(a.Name+"/"+tt.code[:min(len(tt.code), 60)], func(t *testing.T) {
				c := testContext(a)
				c.Debug.Object, c.Debug.HasObject = 0x7000, true
				var m Machine
				before := []Piece{{Kind: Value, Value: 1}}
				got, err := m.Locate(c, asm(t, a, tt.code), before)
				if err != nil || show(got) != show(append(before, tt.want...)) {
					t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
				}
			})
		}
	}
}

func onePieces(n int) (pieces []Piece) {
	for range n {
		pieces = append(pieces, Piece{Bits: 8})
	}
	return pieces
}

func TestLocationErrors(t *testing.T) {
	tests := []struct{ code, want string }{
		{"reg0 reg0", "DW_OP 0x50 at byte 1: two locations without a piece between them"},
		{"lit1 stack_value reg0", "DW_OP 0x50 at byte 2: two locations without a piece between them"},
		{"reg0 implicit_value:01", "DW_OP 0x9e at byte 1: two locations without a piece between them"},
		{"reg0 implicit_pointer:1,0", "DW_OP 0xa0 at byte 1: two locations without a piece between them"},
		{"piece:0x1000000000001", "DW_OP 0x93 at byte 0: a piece of more than 2^48 bytes"},
		{"bit_piece:0x1000000000001,0", "DW_OP 0x9d at byte 0: a piece of more than 2^48 bits"},
		{"bit_piece:0,0x1000000000001", "DW_OP 0x9d at byte 0: a piece of more than 2^48 bits"},
		{"9e 05 01", "DW_OP 0x9e at byte 0: cut off by the end of the expression"},
		{"a3 05 01", "DW_OP 0xa3 at byte 0: cut off by the end of the expression"},
		{"a0 01 02 03 04", "DW_OP 0xa0 at byte 0: cut off by the end of the expression"},
		{"91", "DW_OP 0x91 at byte 0: cut off by the end of the expression"},
		{"a5 01", "DW_OP 0xa5 at byte 0: cut off by the end of the expression"},
		{"fa 01", "DW_OP 0xfa at byte 0: cut off by the end of the expression"},
		{"addrx:2", "DW_OP 0xa1 at byte 0: it is not in .debug_addr"},
		{"constx:2", "DW_OP 0xa2 at byte 0: it is not in .debug_addr"},
		{"stack_value", "DW_OP 0x9f at byte 0: the stack is empty"},
		{"lit0 form_tls_address", "DW_OP 0x9b at byte 1: not supported"},
		{"lit0 GNU_push_tls_address", "DW_OP 0xe0 at byte 1: not supported"},
		{"98 00 00", "DW_OP 0x98 at byte 0: not supported"},
		{"const_type:f64,1.0", "expression at byte 11: the address is not an integer"},
		{"const_type:f64,1.0 piece:8", "expression at byte 11: the address is not an integer"},
		{"const_type:f64,1.0 bit_piece:8,0", "expression at byte 11: the address is not an integer"},
		{"entry_value:regval_type;5/none", "DW_OP 0xa3 at byte 0: a type that is not supported"},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			var m Machine
			before := []Piece{{Kind: Value, Value: 1}}
			got, err := m.Locate(testContext(arch.AMD64), asm(t, arch.AMD64, tt.code), before)
			if damage := (*Error)(nil); !errors.As(err, &damage) || err.Error() != tt.want || show(got) != show(before) {
				t.Errorf("got %+v, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// A loop can make many pieces in few bytes.
func TestManyPieces(t *testing.T) {
	for _, tt := range []struct {
		n    int
		want string
	}{{1024, ""}, {1025, "expression at byte 2: more than 1024 pieces"}} {
		r := run{m: &Machine{}, c: testContext(arch.AMD64), code: asm(t, arch.AMD64, "lit1 nop piece:1"), first: 1}
		r.pieces = make([]Piece, tt.n) // one of them is of another expression
		err := r.all()
		if errText(err) != tt.want {
			t.Errorf("%d pieces: got %v, want %s", tt.n, err, tt.want)
		}
	}
	var m Machine
	got, err := m.Locate(testContext(arch.AMD64), asm(t, arch.AMD64, "lit1 lit1 piece:8"), make([]Piece, 2000))
	if len(got) != 2001 || err != nil {
		t.Errorf("got %d pieces, %v", len(got), err)
	}
	// Nothing is left on the stack for the next expression.
	if _, err := m.Locate(testContext(arch.AMD64), asm(t, arch.AMD64, "drop"), nil); err == nil {
		t.Error("there is something on the stack of a used machine")
	}
}

// What a function of Debug does not tell is unknown, with the function's
// reason. Without the function it is unknown too.
func TestDebug(t *testing.T) {
	fails := func() (uint64, error) { return 7, errFrame }
	without, with := Debug{OffsetSize: 8}, Debug{CFA: fails, FrameBase: fails, OffsetSize: 8}
	tests := []struct {
		name, code string
		debug      *Debug
		want       string
	}{
		{"no CFA", "call_frame_cfa", &without, errNotKnown.Error()},
		{"no frame base", "fbreg:1", &without, errNotKnown.Error()},
		{"no entry", "entry_value:reg5", &without, errNotKnown.Error()},
		{"no object", "push_object_address", &without, errNotKnown.Error()},
		{"CFA", "call_frame_cfa", &with, errFrame.Error()},
		{"frame base", "fbreg:1", &with, errFrame.Error()},
		{"no .debug_addr", "addrx:1", &without, "DW_OP 0xa1 at byte 0: there is no .debug_addr"},
		{"no types", "const_type:u8,1", &without, "DW_OP 0xa4 at byte 0: there are no types"},
		{"cut off reference", "implicit_pointer:1,1", &without, "DW_OP 0xa0 at byte 0: cut off by the end of the expression"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := testContext(arch.AMD64)
			c.Debug = tt.debug
			var m Machine
			got, err := m.Locate(c, asm(t, arch.AMD64, tt.code), nil)
			if err == nil && len(got) == 1 && got[0].Kind == Unknown {
				err = got[0].Err
			}
			if errText(err) != tt.want {
				t.Errorf("got %+v, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestRegisterOf(t *testing.T) {
	tests := []struct {
		code string
		reg  uint64
		ok   bool
	}{
		{"reg0", 0, true},
		{"reg5", 5, true},
		{"reg31", 31, true},
		{"regx:300", 300, true},
		{"regval_type:300,i64", 300, true},
		{"GNU_regval_type:3,i64", 3, true},
		{"", 0, false},
		{"4f", 0, false},
		{"4f 01 01", 0, false},
		{"70", 0, false},
		{"breg0:0", 0, false},
		{"reg5 nop", 5, false},
		{"regx:3 nop", 3, false},
		{"90", 0, false},
		{"a5 03", 3, false},
		{"90 80", 0, false},
	}
	for _, tt := range tests {
		if reg, ok := RegisterOf(asm(t, arch.AMD64, tt.code)); ok != tt.ok || ok && reg != tt.reg {
			t.Errorf("%q: got %d, %v, want %d, %v", tt.code, reg, ok, tt.reg, tt.ok)
		}
	}
}
