package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// What is wrong with an expression is told with its operation and place.
func TestErrors(t *testing.T) {
	lits := strings.Repeat("lit0 ", 64)
	tests := []struct {
		code string
		off  int
		op   uint8
		msg  string
	}{
		{lits + "lit1", 64, 0x31, "more than 64 values on the stack"},
		{lits + "dup", 64, 0x12, "more than 64 values on the stack"},
		{"dup", 0, 0x12, "it reaches below the stack"},
		{"lit0 over", 1, 0x14, "it reaches below the stack"},
		{"lit0 pick:1", 1, 0x15, "it reaches below the stack"},
		{"drop", 0, 0x13, "the stack is empty"},
		{"lit1 plus", 1, 0x22, "the stack is empty"},
		{"lit1 swap", 1, 0x16, "the stack is empty"},
		{"lit1 lit2 rot", 2, 0x17, "the stack is empty"},
		{"neg", 0, 0x1f, "the stack is empty"},
		{"plus_uconst:1", 0, 0x23, "the stack is empty"},
		{"deref", 0, 0x06, "the stack is empty"},
		{"bra:0", 0, 0x28, "the stack is empty"},
		{"", 0, 0, "the stack is empty"},
		{"23", 0, 0x23, "the stack is empty"}, // the first of two defects
		{"lit5 lit0 div", 2, 0x1b, "division by zero"},
		{"lit5 lit0 mod", 2, 0x1d, "division by zero"},
		{"lit1 deref_size:3", 1, 0x94, "a size other than 1, 2, 4 and 8"},
		{"lit1 deref_size:0", 1, 0x94, "a size other than 1, 2, 4 and 8"},
		{"skip:1", 0, 0x2f, "it leaves the expression"},
		{"skip:-4", 0, 0x2f, "it leaves the expression"},
		{"lit1 bra:1", 1, 0x28, "it leaves the expression"},
		{"skip:-3", 0, 0, "more than 1000 operations"},
		{strings.Repeat("nop ", 1001), 1000, 0, "more than 1000 operations"},
		{"lit1 03 00", 1, 0x03, "cut off by the end of the expression"},
		{"0a 00", 0, 0x0a, "cut off by the end of the expression"},
		{"10 80", 0, 0x10, "cut off by the end of the expression"},
		{"10 80 80 80 80 80 80 80 80 80 80 00", 0, 0x10, "a LEB128 number of more than 10 bytes"},
		{"70 80", 0, 0x70, "cut off by the end of the expression"},
		{"lit1 ff", 1, 0xff, "not supported"},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			var m Machine
			got, err := m.Value(fullContext(arch.AMD64), asm(t, arch.AMD64, tt.code))
			want := Error{Off: tt.off, Op: tt.op, Msg: tt.msg}
			if e := (*Error)(nil); !errors.As(err, &e) || *e != want || got != 0 {
				t.Errorf("got %d, %v, want %v", got, err, &want)
			}
		})
	}
	t.Run("as many operations as there may be", func(t *testing.T) {
		var m Machine
		got, err := m.Value(fullContext(arch.AMD64), asm(t, arch.AMD64, "lit7 "+strings.Repeat("nop ", 999)))
		if got != 7 || err != nil {
			t.Errorf("got %d, %v, want 7", got, err)
		}
	})
	t.Run("the longest number", func(t *testing.T) { // bits beyond the 64th are dropped
		var m Machine
		got, err := m.Value(fullContext(arch.AMD64), asm(t, arch.AMD64, "11 81 80 80 80 80 80 80 80 80 7f"))
		if got != 1|1<<63 || err != nil {
			t.Errorf("got %#x, %v", got, err)
		}
	})
}

// Call frame information has none of the operations of debug information, and
// a value is no location.
func TestNoValue(t *testing.T) {
	for name, op := range operations {
		c := fullContext(arch.AMD64)
		c.Debug = nil
		var m Machine
		_, err := m.Value(c, append([]byte{0x30, 0x30, op.code}, make([]byte, 8)...))
		refused := err != nil && strings.HasSuffix(err.Error(), "at byte 2: not an operation of call frame information")
		if want := op.code == 0x50 || op.code >= 0x90 && op.code != 0x92 && op.code != 0x94 && op.code != 0x96; refused != want {
			t.Errorf("%s: got %v, want refused: %v", name, err, want)
		}
	}
	for _, code := range []string{"reg5", "lit1 stack_value", "lit1 piece:4", "implicit_value:0102", "lit1 reg5 piece:8"} {
		var m Machine
		got, err := m.Value(fullContext(arch.AMD64), asm(t, arch.AMD64, code))
		if err == nil || err.Error() != "expression at byte 0: it gives a location, not a value" || got != 0 {
			t.Errorf("%s: got %d, %v", code, got, err)
		}
	}
}

// What needs an unknown register or memory is unknown, with the first reason.
func TestUnknown(t *testing.T) {
	const no40, no41 = "the value of register 40 is unknown", "the value of register 41 is unknown"
	const unmapped = "memory at 0x5: not mapped"
	tests := []struct{ code, want string }{
		{"bregx:40,0", no40},
		{"bregx:40,0 bregx:41,0 plus", no40},
		{"bregx:41,0 lit1 plus", no41},
		{"lit1 bregx:41,0 eq", no41},
		{"bregx:41,0 deref", no41},
		{"bregx:41,0 bra:0 lit1", no41},
		{"bregx:41,0 neg", no41},
		{"bregx:41,0 plus_uconst:4", no41},
		{"bregx:41,0 dup drop", no41},
		{"lit5 deref", unmapped},
		{"lit5 deref_size:4 bregx:40,0 plus", unmapped},
	}
	for _, tt := range tests {
		var m Machine
		got, err := m.Value(testContext(arch.AMD64), asm(t, arch.AMD64, tt.code))
		if err == nil || err.Error() != tt.want || got != 0 {
			t.Errorf("%s: got %d, %v, want %s", tt.code, got, err, tt.want)
		}
	}
	c := testContext(arch.AMD64)
	c.Mem = nil
	var m Machine
	fault := (*memreader.FaultError)(nil)
	if got, err := m.Value(c, asm(t, arch.AMD64, "lit5 deref")); !errors.As(err, &fault) || fault.Addr != 5 {
		t.Errorf("without memory: got %d, %v", got, err)
	}
	c.Mem = &memreader.Words{R: &testkit.Memory{Segs: map[uint64][]byte{0: make([]byte, 8)}}}
	if got, err := m.Value(c, asm(t, arch.AMD64, "bregx:40,0 deref")); err == nil {
		t.Errorf("an unknown address: got %d", got)
	}
	if got, err := m.Value(c, asm(t, arch.AMD64, "bregx:40,0 drop lit1")); got != 1 || err != nil {
		t.Errorf("an unknown value that is not used: got %d, %v", got, err)
	}
}
