package cfi

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/expr"
	"github.com/sfcore/sfcore/internal/testkit"
)

// initialSP makes the CFA sp+0, as on aarch64.
var initialSP = []byte{byte(cfaDefCFA), 31, 0}

// TestInstructions runs a program up to an address, in both byte orders.
func TestInstructions(t *testing.T) {
	const fp, lr, sp = 29, 30, 31
	tests := []struct {
		name    string
		initial []byte // initialSP if nil
		program func(b *testkit.Bytes)
		at      uint64 // from the start of the function
		want    string
	}{
		{name: "no instructions", program: func(*testkit.Bytes) {}, want: "cfa=sp ra=x30 fp=x29"},
		{name: "nop", program: op(cfaNop), want: "cfa=sp ra=x30 fp=x29"},
		{name: "def_cfa", program: op(cfaDefCFA, fp, 0x90, 1), want: "cfa=x29+144 ra=x30 fp=x29"},
		{name: "def_cfa_sf", program: op(cfaDefCFASF, fp, 0x7e), want: "cfa=x29+16 ra=x30 fp=x29"},
		{name: "def_cfa_register", initial: []byte{byte(cfaDefCFA), sp, 32}, program: op(cfaDefCFARegister, fp), want: "cfa=x29+32 ra=x30 fp=x29"},
		{name: "def_cfa_offset", program: op(cfaDefCFAOffset, 48), want: "cfa=sp+48 ra=x30 fp=x29"},
		{name: "def_cfa_offset_sf", program: op(cfaDefCFAOffsetSF, 0x7c), want: "cfa=sp+32 ra=x30 fp=x29"},
		{name: "offset", program: op(cfaOffset|fp, 2, uint8(cfaOffset|lr), 1), want: "cfa=sp ra=*(c-8) fp=*(c-16)"},
		{name: "offset_extended", program: op(cfaOffsetExtended, 19, 0x80, 1), want: "cfa=sp ra=x30 fp=x29 x19=*(c-1024)"},
		{name: "offset_extended_sf", program: op(cfaOffsetExtendedSF, lr, 0x7f), want: "cfa=sp ra=*(c+8) fp=x29"},
		{name: "GNU_negative_offset_extended", program: op(cfaGNUNegativeOffsetExtend, lr, 1), want: "cfa=sp ra=*(c+8) fp=x29"},
		{name: "val_offset", program: op(cfaValOffset, sp, 2), want: "cfa=sp ra=x30 fp=x29 sp=c-16"},
		{name: "val_offset_sf", program: op(cfaValOffsetSF, sp, 0x7e), want: "cfa=sp ra=x30 fp=x29 sp=c+16"},
		{name: "register", program: op(cfaRegister, lr, 9), want: "cfa=sp ra=x9 fp=x29"},
		{name: "same_value", program: op(cfaSameValue, 20), want: "cfa=sp ra=x30 fp=x29 x20=x20"},
		{name: "undefined return address", program: op(cfaUndefined, lr), want: "cfa=sp ra=u fp=x29"},
		{name: "undefined register", program: op(cfaUndefined, 19, uint8(cfaUndefined), fp), want: "cfa=sp ra=x30 fp=u x19=u"},
		{name: "expression", program: op(cfaExpression, 19, 2, expr.OpPlusUconst, 8), want: "cfa=sp ra=x30 fp=x29 x19=*(0x70000000001f0008)"},
		{name: "val_expression", program: op(cfaValExpression, 19, 2, expr.OpPlusUconst, 8), want: "cfa=sp ra=x30 fp=x29 x19=0x70000000001f0008"},
		{name: "def_cfa_expression", program: op(cfaDefCFAExpression, 2, expr.OpBreg0+1, 4), want: "cfa=0x7000000000010004 ra=x30 fp=x29"},
		{name: "GNU_args_size", program: op(cfaGNUArgsSize, 0x90, 1), want: "cfa=sp ra=x30 fp=x29"},
		{name: "registers that are not tracked", program: op(cfaOffset|40, 1, uint8(cfaRegister), 72, 73, uint8(cfaSameValue), 32, uint8(cfaUndefined), 0xff, 0xff, 3), want: "cfa=sp ra=x30 fp=x29"},
		{name: "rule in a register that is not tracked", program: op(cfaRegister, 19, 72), want: "cfa=sp ra=x30 fp=x29 x19=u"},

		{name: "restore to nothing", program: op(cfaOffset|19, 1, uint8(cfaRestore|19)), want: "cfa=sp ra=x30 fp=x29"},
		{name: "restore to a rule of the CIE", initial: []byte{byte(cfaDefCFA), sp, 0, byte(cfaOffset | 19), 3}, program: op(cfaSameValue, 19, uint8(cfaRestore|19)), want: "cfa=sp ra=x30 fp=x29 x19=*(c-24)"},
		{name: "restore_extended", initial: []byte{byte(cfaDefCFA), sp, 0, byte(cfaOffset | lr), 3}, program: op(cfaSameValue, lr, uint8(cfaRestoreExtended), lr), want: "cfa=sp ra=*(c-24) fp=x29"},
		{name: "remember and restore", program: op(cfaOffset|19, 1, uint8(cfaRememberState), uint8(cfaDefCFA), fp, 16, uint8(cfaOffset|20), 2, uint8(cfaRestore|19), uint8(cfaRestoreState)), want: "cfa=sp ra=x30 fp=x29 x19=*(c-8)"},
		{name: "remember twice", program: op(cfaRememberState, uint8(cfaDefCFAOffset), 16, uint8(cfaRememberState), uint8(cfaDefCFAOffset), 32, uint8(cfaRestoreState)), want: "cfa=sp+16 ra=x30 fp=x29"},

		{name: "negate_ra_state", program: op(cfaNegateRAState), want: "cfa=sp ra=x30 fp=x29 signed-ra"},
		{name: "negate_ra_state_with_pc", program: op(cfaNegateRAStateWithPC), want: "cfa=sp ra=x30 fp=x29 signed-ra"},
		{name: "negate_ra_state twice", program: op(cfaNegateRAState, uint8(cfaNegateRAState)), want: "cfa=sp ra=x30 fp=x29"},
		{name: "negate_ra_state remembered", program: op(cfaNegateRAState, uint8(cfaRememberState), uint8(cfaNegateRAState), uint8(cfaRestoreState)), want: "cfa=sp ra=x30 fp=x29 signed-ra"},

		{name: "advance_loc, before", program: op(cfaAdvanceLoc|2, uint8(cfaDefCFAOffset), 16), at: 7, want: "cfa=sp ra=x30 fp=x29"},
		{name: "advance_loc, at", program: op(cfaAdvanceLoc|2, uint8(cfaDefCFAOffset), 16), at: 8, want: "cfa=sp+16 ra=x30 fp=x29"},
		{name: "advance_loc1, before", program: op(cfaAdvanceLoc1, 0x3f, uint8(cfaDefCFAOffset), 16), at: 0xfb, want: "cfa=sp ra=x30 fp=x29"},
		{name: "advance_loc1, at", program: op(cfaAdvanceLoc1, 0x3f, uint8(cfaDefCFAOffset), 16), at: 0xfc, want: "cfa=sp+16 ra=x30 fp=x29"},
		{name: "advance_loc2", program: func(b *testkit.Bytes) {
			b.D8(uint8(cfaAdvanceLoc2)).D16(0x10).D8(uint8(cfaDefCFAOffset), 16).D8(uint8(cfaAdvanceLoc2)).D16(0x1000).D8(uint8(cfaDefCFAOffset), 32)
		}, at: 0x40, want: "cfa=sp+16 ra=x30 fp=x29"},
		{name: "advance_loc4", program: func(b *testkit.Bytes) {
			b.D8(uint8(cfaAdvanceLoc4)).D32(0x10).D8(uint8(cfaDefCFAOffset), 16).D8(uint8(cfaAdvanceLoc4)).D32(0x100000).D8(uint8(cfaDefCFAOffset), 32)
		}, at: 0x40, want: "cfa=sp+16 ra=x30 fp=x29"},
		{name: "MIPS_advance_loc8", program: func(b *testkit.Bytes) {
			b.D8(uint8(cfaMIPSAdvanceLoc8)).D64(0x10).D8(uint8(cfaDefCFAOffset), 16).D8(uint8(cfaMIPSAdvanceLoc8)).D64(0x1000000000).D8(uint8(cfaDefCFAOffset), 32)
		}, at: 0x40, want: "cfa=sp+16 ra=x30 fp=x29"},
		{name: "set_loc", program: func(b *testkit.Bytes) {
			b.D8(uint8(cfaSetLoc)).D64(testText+0x20).D8(uint8(cfaDefCFAOffset), 16)
		}, at: 0x20, want: "cfa=sp+16 ra=x30 fp=x29"},
		{name: "damage after the row", program: op(cfaAdvanceLoc|1, 0x3f), at: 3, want: "cfa=sp ra=x30 fp=x29"},
	}
	for _, a := range bothOrders {
		for _, tt := range tests {
			t.Run(orderOf(a).String()+"/"+tt.name, func(t *testing.T) {
				initial := tt.initial
				if initial == nil {
					initial = initialSP
				}
				s := oneFDE(t, a, cieText{initial: initial}, code(a, tt.program))
				row, found, err := findRow(s, testText+tt.at, numbered(), nil)
				if err != nil || !found {
					t.Fatal(found, err)
				}
				if got := row.Format(a); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				if !row.CalleeSaved {
					t.Error("CalleeSaved is not set")
				}
			})
		}
	}
}

// op makes a program of bytes.
func op(o instruction, operands ...uint8) func(*testkit.Bytes) {
	return func(b *testkit.Bytes) { b.D8(uint8(o)).D8(operands...) }
}

// numbered returns registers whose values tell their numbers.
func numbered() *arch.Regs {
	var regs arch.Regs
	for r := range arch.Reg(arch.NumRegs) {
		regs.Set(r, 0x7000_0000_0000_0000+uint64(r)<<16)
	}
	return &regs
}

// TestReturnAddress covers the conventions for the return address.
func TestReturnAddress(t *testing.T) {
	amd64 := func(program ...byte) []byte { return append([]byte{byte(cfaDefCFA), 7, 8}, program...) }
	s390x := func(program ...byte) []byte { return append([]byte{byte(cfaDefCFA), 15, 0xa0, 1}, program...) }
	tests := []struct {
		name    string
		arch    *arch.Arch
		ra      uint64
		program []byte
		want    string
	}{
		{"amd64", arch.AMD64, 16, amd64(byte(cfaOffset|16), 1), "cfa=rsp+8 ra=*(c-8) fp=rbp"},
		{"amd64 in a register, as in vfork", arch.AMD64, 16, amd64(byte(cfaRegister), 16, 5), "cfa=rsp+8 ra=rdi fp=rbp"},
		{"amd64 undefined", arch.AMD64, 16, amd64(byte(cfaUndefined), 16), "cfa=rsp+8 ra=u fp=rbp"},
		{"s390x in the link register", arch.S390X, 14, s390x(), "cfa=r15+160 ra=r14 fp=r11"},
		{"s390x saved", arch.S390X, 14, s390x(byte(cfaOffset|14), 6), "cfa=r15+160 ra=*(c-48) fp=r11"},
		{"s390x in a floating-point register", arch.S390X, 14, s390x(byte(cfaRegister), 14, 16), "cfa=r15+160 ra=f0 fp=r11"},
		{"s390x PSW address", arch.S390X, 65, s390x(byte(cfaOffset|14), 6, byte(cfaOffsetExtended), 65, 9), "cfa=r15+160 ra=*(c-72) fp=r11 r14=*(c-48)"},
		{"s390x PSW address computed", arch.S390X, 65, s390x(byte(cfaExpression), 65, 2, expr.OpPlusUconst, 8), "cfa=r15+160 ra=*(0x70000000000f00a8) fp=r11"},
		{"aarch64 pc", arch.AArch64, 32, []byte{byte(cfaDefCFA), 31, 0, byte(cfaOffsetExtended), 32, 4}, "cfa=sp ra=*(c-32) fp=x29"},
		{"aarch64 pc undefined", arch.AArch64, 32, []byte{byte(cfaDefCFA), 31, 0, byte(cfaUndefined), 32}, "cfa=sp ra=u fp=x29"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := oneFDE(t, tt.arch, cieText{ra: tt.ra, codeAlign: 1, initial: tt.program}, nil)
			row, found, err := findRow(s, testText, numbered(), nil)
			if err != nil || !found {
				t.Fatal(found, err)
			}
			if got := row.Format(tt.arch); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestUnusableRules covers rules for the CFA and the return address that
// cannot be translated.
func TestUnusableRules(t *testing.T) {
	tests := []struct {
		name    string
		arch    *arch.Arch
		ra      uint64
		initial []byte
		field   string // of a FormatError
		reg     uint64 // of a RegisterError
	}{
		{name: "no CFA", arch: arch.AArch64, ra: 30, field: "CFA"},
		{name: "CFA of a register that is not tracked", arch: arch.AArch64, ra: 30, initial: []byte{byte(cfaDefCFA), 72, 0}, reg: 72},
		{name: "CFA of no register", arch: arch.AArch64, ra: 30, initial: []byte{byte(cfaDefCFA), 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}, reg: noReg},
		{name: "no return address on amd64", arch: arch.AMD64, ra: 16, initial: []byte{byte(cfaDefCFA), 7, 8}, field: "return_address_register"},
		{name: "no return address where its column is not tracked", arch: arch.S390X, ra: 65, initial: []byte{byte(cfaDefCFA), 15, 0}, field: "return_address_register"},
		{name: "same value of a column that is not tracked", arch: arch.S390X, ra: 65, initial: []byte{byte(cfaDefCFA), 15, 0, byte(cfaSameValue), 65}, reg: 65},
		{name: "return address in a register that is not tracked", arch: arch.S390X, ra: 14, initial: []byte{byte(cfaDefCFA), 15, 0, byte(cfaRegister), 14, 70}, reg: 70},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := oneFDE(t, tt.arch, cieText{ra: tt.ra, codeAlign: 1, initial: tt.initial}, nil)
			_, found, err := findRow(s, testText, numbered(), nil)
			if found {
				t.Error("found")
			}
			if tt.field != "" {
				checkFormatError(t, err, tt.field, -1)
			} else if e, ok := errors.AsType[*RegisterError](err); !ok || e.Reg != tt.reg {
				t.Errorf("got %v, want a RegisterError for %d", err, tt.reg)
			}
		})
	}
}

// TestDamagedPrograms covers every error of an instruction, which is at the
// end of the program, in both byte orders.
func TestDamagedPrograms(t *testing.T) {
	var deep []byte
	for range maxRemember {
		deep = append(deep, byte(cfaRememberState))
	}
	overlong := []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}
	tests := []struct {
		name   string
		before []byte // instructions before the bad one
		bad    []byte
		field  string
	}{
		{"unknown", nil, []byte{0x3f}, "DW_CFA opcode 0x3f"},
		{"unknown after a gap", nil, []byte{0x17}, "DW_CFA opcode 0x17"},
		{"restore_state without remember_state", nil, []byte{byte(cfaRestoreState)}, "DW_CFA_restore_state"},
		{"too many states", deep, []byte{byte(cfaRememberState)}, "DW_CFA_remember_state"},
		{"register without a register", []byte{byte(cfaDefCFAExpression), 1, expr.OpLit0}, []byte{byte(cfaDefCFARegister), 1}, "DW_CFA_def_cfa_register"},
		{"offset without a register", []byte{byte(cfaDefCFAExpression), 1, expr.OpLit0}, []byte{byte(cfaDefCFAOffset), 1}, "DW_CFA_def_cfa_offset"},
		{"signed offset without a register", []byte{byte(cfaDefCFAExpression), 1, expr.OpLit0}, []byte{byte(cfaDefCFAOffsetSF), 1}, "DW_CFA_def_cfa_offset_sf"},
		{"set_loc backwards", nil, append([]byte{byte(cfaSetLoc)}, 0, 0, 0, 0, 0, 0, 0, 0), "DW_CFA_set_loc"},
		{"advance past the end", []byte{byte(cfaAdvanceLoc | 1)}, append([]byte{byte(cfaMIPSAdvanceLoc8)}, 255, 255, 255, 255, 255, 255, 255, 255), "DW_CFA_MIPS_advance_loc8"},
		{"cut off set_loc", nil, []byte{byte(cfaSetLoc), 1, 2, 3, 4, 5, 6, 7}, "DW_CFA_set_loc"},
		{"cut off advance_loc1", nil, []byte{byte(cfaAdvanceLoc1)}, "DW_CFA_advance_loc1"},
		{"cut off advance_loc2", nil, []byte{byte(cfaAdvanceLoc2), 1}, "DW_CFA_advance_loc2"},
		{"cut off advance_loc4", nil, []byte{byte(cfaAdvanceLoc4), 1, 2, 3}, "DW_CFA_advance_loc4"},
		{"cut off offset", nil, []byte{byte(cfaOffset | 3)}, "DW_CFA_offset"},
		{"cut off offset_extended", nil, []byte{byte(cfaOffsetExtended), 3}, "DW_CFA_offset_extended"},
		{"cut off restore_extended", nil, []byte{byte(cfaRestoreExtended)}, "DW_CFA_restore_extended"},
		{"cut off def_cfa", nil, []byte{byte(cfaDefCFA), 3}, "DW_CFA_def_cfa"},
		{"cut off def_cfa_sf", nil, []byte{byte(cfaDefCFASF), 3, 0x80}, "DW_CFA_def_cfa_sf"},
		{"cut off expression", nil, []byte{byte(cfaExpression), 3, 2, expr.OpLit0}, "DW_CFA_expression"},
		{"endless expression", nil, []byte{byte(cfaValExpression), 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "DW_CFA_val_expression"},
		{"number without end", nil, append([]byte{byte(cfaGNUArgsSize)}, overlong...), "DW_CFA_GNU_args_size"},
		{"signed number without end", nil, append([]byte{byte(cfaDefCFAOffsetSF)}, overlong...), "DW_CFA_def_cfa_offset_sf"},
	}
	for _, a := range bothOrders {
		for _, tt := range tests {
			t.Run(orderOf(a).String()+"/"+tt.name, func(t *testing.T) {
				b := newBuilder(a)
				b.cie("cie", cieText{initial: initialSP})
				b.entry("fde", "cie", func() { b.D64(testText, testSize).Raw(tt.before).Mark("bad").Raw(tt.bad) })
				s := b.section(t, a)
				_, found, err := findRow(s, testText+testSize-1, numbered(), nil)
				if found {
					t.Error("found")
				}
				checkFormatError(t, err, tt.field, b.Pos("bad"))
			})
		}
	}
}

// TestVendorInstructions makes sure that AArch64's instructions are not
// understood elsewhere, where they would mean something else.
func TestVendorInstructions(t *testing.T) {
	for _, o := range []instruction{cfaNegateRAState, cfaNegateRAStateWithPC} {
		s := oneFDE(t, arch.AMD64, cieText{ra: 16, initial: []byte{byte(cfaDefCFA), 7, 8, byte(cfaOffset | 16), 1}}, []byte{byte(o)})
		_, _, err := findRow(s, testText, numbered(), nil)
		checkFormatError(t, err, o.String(), -1)
	}
}

// TestDamagedInitialInstructions covers what only initial instructions must
// not do.
func TestDamagedInitialInstructions(t *testing.T) {
	for _, tt := range []struct {
		name, field string
		initial     []byte
	}{
		{"restore", "DW_CFA_restore", []byte{byte(cfaRestore | 1)}},
		{"restore_extended", "DW_CFA_restore_extended", []byte{byte(cfaRestoreExtended), 1}},
		{"advance", "initial_instructions", []byte{byte(cfaAdvanceLoc | 1)}},
		{"too many", "initial_instructions", make([]byte, maxInitial+1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := oneFDE(t, arch.AArch64, cieText{initial: tt.initial}, nil)
			_, found, err := findRow(s, testText, numbered(), nil)
			if found {
				t.Error("found")
			}
			checkFormatError(t, err, tt.field, -1)
		})
	}
}
