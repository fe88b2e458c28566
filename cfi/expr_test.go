package cfi

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/expr"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

const testStack = 0x10000

// exprMemory is memory for expressions: at testStack 01 02 ... 08 and its own
// address as a word, and 0x01020304.
func exprMemory(a *arch.Arch) *testkit.Memory {
	return &testkit.Memory{Segs: map[uint64][]byte{
		testStack: code(a, func(b *testkit.Bytes) { b.D8(1, 2, 3, 4, 5, 6, 7, 8).D64(testStack).D32(0x01020304) }),
	}}
}

// findExpr evaluates an expression as the CFA.
func findExpr(t *testing.T, a *arch.Arch, text []byte, regs *arch.Regs, mem memreader.Reader) (uint64, *builder, error) {
	t.Helper()
	b := newBuilder(a)
	b.cie("cie", cieText{})
	b.entry("fde", "cie", func() {
		b.D64(testText, testSize).D8(uint8(cfaDefCFAExpression)).ULEB(uint64(len(text))).Mark("expr").Raw(text)
	})
	row, found, err := findRow(b.section(t, a), testText, regs, mem)
	if found == (err != nil) {
		t.Fatalf("found %v with error %v", found, err)
	}
	if want := (arch.Rule{Base: arch.Absolute, Off: row.CFA.Off}); found && row.CFA != want {
		t.Errorf("got rule %v, want %v", row.CFA, want)
	}
	return uint64(row.CFA.Off), b, err
}

func TestExpressions(t *testing.T) {
	minus := func(v int64) uint64 { return uint64(-v) }
	tests := []struct {
		name string
		expr func(b *testkit.Bytes)
		want uint64
	}{
		{"lit0", func(b *testkit.Bytes) { b.D8(expr.OpLit0) }, 0},
		{"lit31", func(b *testkit.Bytes) { b.D8(expr.OpLit31) }, 31},
		{"addr", func(b *testkit.Bytes) { b.D8(expr.OpAddr).D64(0x123456789abcdef0) }, 0x123456789abcdef0},
		{"const1u", func(b *testkit.Bytes) { b.D8(expr.OpConst1u, 0xfe) }, 0xfe},
		{"const1s", func(b *testkit.Bytes) { b.D8(expr.OpConst1s, 0xfe) }, minus(2)},
		{"const2u", func(b *testkit.Bytes) { b.D8(expr.OpConst2u).D16(0xfedc) }, 0xfedc},
		{"const2s", func(b *testkit.Bytes) { b.D8(expr.OpConst2s).D16(0xfffe) }, minus(2)},
		{"const4u", func(b *testkit.Bytes) { b.D8(expr.OpConst4u).D32(0xfedcba98) }, 0xfedcba98},
		{"const4s", func(b *testkit.Bytes) { b.D8(expr.OpConst4s).D32(0xfffffffe) }, minus(2)},
		{"const8u", func(b *testkit.Bytes) { b.D8(expr.OpConst8u).D64(0xfedcba9876543210) }, 0xfedcba9876543210},
		{"const8s", func(b *testkit.Bytes) { b.D8(expr.OpConst8s).D64(minus(2)) }, minus(2)},
		{"constu", func(b *testkit.Bytes) { b.D8(expr.OpConstu).ULEB(1 << 63) }, 1 << 63},
		{"consts", func(b *testkit.Bytes) { b.D8(expr.OpConsts).SLEB(-1 << 63) }, 1 << 63},
		{"consts of one byte", func(b *testkit.Bytes) { b.D8(expr.OpConsts).SLEB(-3) }, minus(3)},
		{"breg0", func(b *testkit.Bytes) { b.D8(expr.OpBreg0).SLEB(-8) }, 0x7000000000000000 - 8},
		{"breg31", func(b *testkit.Bytes) { b.D8(expr.OpBreg31).SLEB(8) }, 0x70000000001f0008},
		{"bregx", func(b *testkit.Bytes) { b.D8(expr.OpBregx).ULEB(30).SLEB(200) }, 0x70000000001e00c8},
		{"consts of two bytes", func(b *testkit.Bytes) { b.D8(expr.OpConsts).SLEB(-200) }, minus(200)},
		{"dup", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpDup, expr.OpPlus) }, 10},
		{"drop", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpLit0+6, expr.OpDrop) }, 5},
		{"over", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpLit0+6, expr.OpOver) }, 5},
		{"pick", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpLit0+6, expr.OpLit0+7, expr.OpPick, 2) }, 5},
		{"swap", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpLit0+7, expr.OpSwap, expr.OpMinus) }, 2},
		{"rot top", func(b *testkit.Bytes) { b.D8(expr.OpLit0+1, expr.OpLit0+2, expr.OpLit0+3, expr.OpRot) }, 2},
		{"rot second", func(b *testkit.Bytes) { b.D8(expr.OpLit0+1, expr.OpLit0+2, expr.OpLit0+3, expr.OpRot, expr.OpDrop) }, 1},
		{"rot third", func(b *testkit.Bytes) {
			b.D8(expr.OpLit0+1, expr.OpLit0+2, expr.OpLit0+3, expr.OpRot, expr.OpDrop, expr.OpDrop)
		}, 3},
		{"abs", func(b *testkit.Bytes) { b.D8(expr.OpConst1s, 0xfb, expr.OpAbs) }, 5},
		{"abs of positive", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpAbs) }, 5},
		{"and", func(b *testkit.Bytes) { b.D8(expr.OpLit0+12, expr.OpLit0+10, expr.OpAnd) }, 8},
		{"or", func(b *testkit.Bytes) { b.D8(expr.OpLit0+12, expr.OpLit0+10, expr.OpOr) }, 14},
		{"xor", func(b *testkit.Bytes) { b.D8(expr.OpLit0+12, expr.OpLit0+10, expr.OpXor) }, 6},
		{"plus", func(b *testkit.Bytes) { b.D8(expr.OpLit0+12, expr.OpLit0+10, expr.OpPlus) }, 22},
		{"minus", func(b *testkit.Bytes) { b.D8(expr.OpLit0+10, expr.OpLit0+12, expr.OpMinus) }, minus(2)},
		{"mul", func(b *testkit.Bytes) { b.D8(expr.OpLit0+12, expr.OpLit0+10, expr.OpMul) }, 120},
		{"div is signed", func(b *testkit.Bytes) { b.D8(expr.OpConst1s, 0xf9, expr.OpLit0+2, expr.OpDiv) }, minus(3)},
		{"div of the least by -1", func(b *testkit.Bytes) { b.D8(expr.OpConst8u).D64(1<<63).D8(expr.OpConst1s, 0xff, expr.OpDiv) }, 1 << 63},
		{"mod is unsigned", func(b *testkit.Bytes) { b.D8(expr.OpConst1s, 0xff, expr.OpLit0+16, expr.OpMod) }, 15},
		{"neg", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpNeg) }, minus(5)},
		{"not", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpNot) }, minus(6)},
		{"plus_uconst", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpPlusUconst).ULEB(1000) }, 1005},
		{"shl", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpLit0+3, expr.OpShl) }, 40},
		{"shl by too much", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpConst1u, 64, expr.OpShl) }, 0},
		{"shr", func(b *testkit.Bytes) { b.D8(expr.OpConst1s, 0xff, expr.OpConst1u, 60, expr.OpShr) }, 15},
		{"shra", func(b *testkit.Bytes) { b.D8(expr.OpConst1s, 0xf0, expr.OpLit0+2, expr.OpShra) }, minus(4)},
		{"shra by too much", func(b *testkit.Bytes) { b.D8(expr.OpConst1s, 0xf0, expr.OpConst1u, 200, expr.OpShra) }, minus(1)},
		{"eq", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpLit0+5, expr.OpEq) }, 1},
		{"ne", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpLit0+5, expr.OpNe) }, 0},
		{"lt is signed", func(b *testkit.Bytes) { b.D8(expr.OpConst1s, 0xff, expr.OpLit0, expr.OpLt) }, 1},
		{"le", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpLit0+5, expr.OpLe) }, 1},
		{"gt is signed", func(b *testkit.Bytes) { b.D8(expr.OpConst1s, 0xff, expr.OpLit0, expr.OpGt) }, 0},
		{"ge", func(b *testkit.Bytes) { b.D8(expr.OpLit0+5, expr.OpLit0+5, expr.OpGe) }, 1},
		{"deref", func(b *testkit.Bytes) { b.D8(expr.OpConst4u).D32(testStack + 8).D8(expr.OpDeref) }, testStack},
		{"deref_size 1", func(b *testkit.Bytes) { b.D8(expr.OpConst4u).D32(testStack).D8(expr.OpDerefSize, 1) }, 1},
		{"deref_size 4", func(b *testkit.Bytes) { b.D8(expr.OpConst4u).D32(testStack+16).D8(expr.OpDerefSize, 4, expr.OpNop) }, 0x01020304},
		{"skip", func(b *testkit.Bytes) {
			b.D8(expr.OpLit0+1, expr.OpSkip).D16(1).D8(expr.OpLit0+2, expr.OpLit0+3, expr.OpPlus)
		}, 4},
		{"skip to the end", func(b *testkit.Bytes) { b.D8(expr.OpLit0+1, expr.OpSkip).D16(1).D8(expr.OpLit0 + 2) }, 1},
		{"bra taken", func(b *testkit.Bytes) { b.D8(expr.OpLit0+9, expr.OpLit0+1, expr.OpBra).D16(1).D8(expr.OpLit0 + 2) }, 9},
		{"bra not taken", func(b *testkit.Bytes) { b.D8(expr.OpLit0+9, expr.OpLit0, expr.OpBra).D16(1).D8(expr.OpLit0 + 2) }, 2},
		{"a loop", func(b *testkit.Bytes) { // 5 down to 0, counting by 3 up
			b.D8(expr.OpLit0, expr.OpLit0+5)
			b.Mark("loop").D8(expr.OpSwap, expr.OpPlusUconst, 3, expr.OpSwap, expr.OpLit0+1, expr.OpMinus, expr.OpDup, expr.OpBra).Mark("bra")
			b.Diff(2, "loop", "after", 0).Mark("after").D8(expr.OpDrop)
		}, 15},
		{"as in a PLT", func(b *testkit.Bytes) {
			b.D8(expr.OpBreg0+7, 8, expr.OpBreg0+16, 0, expr.OpLit0+15, expr.OpAnd, expr.OpLit0+11, expr.OpGe, expr.OpLit0+3, expr.OpShl, expr.OpPlus)
		}, 0x7000000000070008},
	}
	for _, a := range bothOrders {
		for _, tt := range tests {
			t.Run(orderOf(a).String()+"/"+tt.name, func(t *testing.T) {
				got, _, err := findExpr(t, a, code(a, tt.expr), numbered(), exprMemory(a))
				if got != tt.want || err != nil {
					t.Errorf("got %#x, %v, want %#x", got, err, tt.want)
				}
			})
		}
	}
}

func TestDamagedExpressions(t *testing.T) {
	var deep []byte
	for range 64 {
		deep = append(deep, expr.OpLit0)
	}
	tests := []struct {
		name   string
		before []byte
		bad    []byte // the operation to blame, at the end
		field  string
	}{
		{"unknown", nil, []byte{0xff}, "DW_OP 0xff"},
		{"fbreg", nil, []byte{0x91, 0}, "DW_OP 0x91"},
		{"call_frame_cfa", nil, []byte{0x9c}, "DW_OP 0x9c"},
		{"reg0, a location", nil, []byte{0x50}, "DW_OP 0x50"},
		{"stack overflow", deep, []byte{expr.OpDup}, "DW_OP 0x12"},
		{"dup of nothing", nil, []byte{expr.OpDup}, "DW_OP 0x12"},
		{"drop of nothing", nil, []byte{expr.OpDrop}, "DW_OP 0x13"},
		{"over of one", []byte{expr.OpLit0}, []byte{expr.OpOver}, "DW_OP 0x14"},
		{"pick too far", []byte{expr.OpLit0}, []byte{expr.OpPick, 1}, "DW_OP 0x15"},
		{"swap of one", []byte{expr.OpLit0}, []byte{expr.OpSwap}, "DW_OP 0x16"},
		{"rot of two", []byte{expr.OpLit0, expr.OpLit0}, []byte{expr.OpRot}, "DW_OP 0x17"},
		{"plus of one", []byte{expr.OpLit0}, []byte{expr.OpPlus}, "DW_OP 0x22"},
		{"neg of nothing", nil, []byte{expr.OpNeg}, "DW_OP 0x1f"},
		{"deref of nothing", nil, []byte{expr.OpDeref}, "DW_OP 0x06"},
		{"deref_size of 3", []byte{expr.OpLit0}, []byte{expr.OpDerefSize, 3}, "DW_OP 0x94"},
		{"deref_size of 0", []byte{expr.OpLit0}, []byte{expr.OpDerefSize, 0}, "DW_OP 0x94"},
		{"division by zero", []byte{expr.OpLit0, expr.OpLit0}, []byte{expr.OpDiv}, "DW_OP 0x1b"},
		{"remainder by zero", []byte{expr.OpLit0, expr.OpLit0}, []byte{expr.OpMod}, "DW_OP 0x1d"},
		{"skip past the end", nil, []byte{expr.OpSkip, 1, 1}, "DW_OP 0x2f"},
		{"skip before the start", nil, []byte{expr.OpSkip, 0xfc, 0xfc}, "DW_OP 0x2f"},
		{"bra without a condition", nil, []byte{expr.OpBra, 0, 0}, "DW_OP 0x28"},
		{"cut off addr", nil, []byte{expr.OpAddr, 1, 2, 3, 4, 5, 6, 7}, "DW_OP 0x03"},
		{"cut off const1u", nil, []byte{expr.OpConst1u}, "DW_OP 0x08"},
		{"cut off const2s", nil, []byte{expr.OpConst2s, 1}, "DW_OP 0x0b"},
		{"cut off const4u", nil, []byte{expr.OpConst4u, 1, 2, 3}, "DW_OP 0x0c"},
		{"cut off const8u", nil, []byte{expr.OpConst8u, 1, 2, 3}, "DW_OP 0x0e"},
		{"cut off constu", nil, []byte{expr.OpConstu, 0x80}, "DW_OP 0x10"},
		{"cut off breg", nil, []byte{expr.OpBreg0, 0x80}, "DW_OP 0x70"},
		{"cut off bregx", nil, []byte{expr.OpBregx, 1}, "DW_OP 0x92"},
		{"cut off bra", []byte{expr.OpLit0}, []byte{expr.OpBra, 1}, "DW_OP 0x28"},
	}
	for _, a := range bothOrders {
		for _, tt := range tests {
			t.Run(orderOf(a).String()+"/"+tt.name, func(t *testing.T) {
				_, b, err := findExpr(t, a, append(tt.before[:len(tt.before):len(tt.before)], tt.bad...), numbered(), exprMemory(a))
				checkFormatError(t, err, tt.field, b.Pos("expr")+len(tt.before))
			})
		}
	}
	t.Run("endless", func(t *testing.T) {
		_, b, err := findExpr(t, arch.AArch64, []byte{expr.OpSkip, 0xfd, 0xff}, numbered(), nil)
		checkFormatError(t, err, "expression", b.Pos("expr"))
	})
	t.Run("empty", func(t *testing.T) {
		_, b, err := findExpr(t, arch.AArch64, nil, numbered(), nil)
		checkFormatError(t, err, "expression", b.Pos("expr"))
	})
}

// TestUnknownInExpressions covers expressions that need what is not there: an
// error for the CFA and the return address, an undefined register otherwise.
func TestUnknownInExpressions(t *testing.T) {
	var spOnly arch.Regs
	spOnly.Set(31, testStack)
	unknown := []byte{expr.OpBreg0 + 9, 0}
	unreadable := []byte{expr.OpBreg31, 0, expr.OpDeref}
	prog := func(instruction instruction, reg []byte, text []byte) []byte {
		p := append([]byte{byte(cfaDefCFA), 31, 0}, byte(instruction))
		p = append(p, reg...)
		return append(append(p, byte(len(text))), text...)
	}
	tests := []struct {
		name    string
		program []byte
		want    string // of the row, if there is one
	}{
		{"CFA", prog(cfaDefCFAExpression, nil, unknown), ""},
		{"CFA", prog(cfaDefCFAExpression, nil, unreadable), ""},
		{"return address", prog(cfaExpression, []byte{30}, unknown), ""},
		{"return address", prog(cfaValExpression, []byte{30}, unreadable), ""},
		{"frame pointer", prog(cfaExpression, []byte{29}, unknown), "cfa=sp ra=x30 fp=u"},
		{"register", prog(cfaExpression, []byte{19}, unreadable), "cfa=sp ra=x30 fp=x29 x19=u"},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := oneFDE(t, arch.AArch64, cieText{}, tt.program)
			mem := &testkit.Memory{Faults: map[uint64]int{}}
			wantFault := i%2 == 1
			if wantFault {
				mem.Faults[testStack] = 0
			}
			row, found, err := findRow(s, testText, &spOnly, mem)
			mem.CheckFaults(t)
			if tt.want != "" {
				if got := row.Format(arch.AArch64); !found || err != nil || got != tt.want {
					t.Errorf("got %v, %v, %s, want %s", found, err, got, tt.want)
				}
				return
			}
			if found {
				t.Error("found")
			}
			reg, isReg := errors.AsType[*RegisterError](err)
			fault, isFault := errors.AsType[*memreader.FaultError](err)
			switch {
			case wantFault && (!isFault || fault.Addr != testStack || fault.Why != memreader.NotDumped):
				t.Errorf("got %v, want a fault at %#x", err, testStack)
			case !wantFault && (!isReg || reg.Reg != 9):
				t.Errorf("got %v, want register 9 unknown", err)
			}
		})
	}
	t.Run("no memory", func(t *testing.T) {
		_, _, err := findExpr(t, arch.AArch64, unreadable, &spOnly, nil)
		if _, ok := errors.AsType[*memreader.FaultError](err); !ok {
			t.Errorf("got %v, want a fault", err)
		}
	})
	t.Run("CFA of an unknown register", func(t *testing.T) {
		s := oneFDE(t, arch.AArch64, cieText{}, []byte{byte(cfaDefCFA), 28, 0, byte(cfaExpression), 30, 1, expr.OpNop})
		_, _, err := findRow(s, testText, &spOnly, nil)
		if e, ok := errors.AsType[*RegisterError](err); !ok || e.Reg != 28 {
			t.Errorf("got %v, want register 28 unknown", err)
		}
	})
}
