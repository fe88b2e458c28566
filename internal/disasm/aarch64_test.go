package disasm

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/sfcore/sfcore/arch"
)

// TestFlowOfAArch64 has instructions as objdump writes what GNU as made.
func TestFlowOfAArch64(t *testing.T) {
	tests := []struct {
		name string
		insn uint32
		want string
	}{
		{"ret", 0xd65f_03c0, "return"},
		{"ret x1", 0xd65f_0020, "nowhere"},
		{"retaa", 0xd65f_0bff, "return"},
		{"retab", 0xd65f_0fff, "return"},
		{"bl", 0x9400_0400, "call 0x2000 x30=u"},
		{"blr x3", 0xd63f_0060, "call x30=u"},
		{"blraaz x3", 0xd63f_087f, "call x30=u"},
		{"b", 0x17ff_ffff, "jump 0xffc"},
		{"br x16", 0xd61f_0200, "nowhere"},
		{"b.ne", 0x5400_0081, "branch 0x1010"},
		{"cbz x0,", 0xb400_0080, "branch 0x1010"},
		{"tbnz w3, #5,", 0x3728_0083, "branch 0x1010"},
		{"svc #0x0", 0xd400_0001, "system"},
		{"brk #0x1", 0xd420_0020, "nowhere"},
		{"udf #0", 0x0000_0000, "nowhere"},
		{"hlt #0x0", 0xd440_0000, "nowhere"},
		{"bti c", 0xd503_245f, "entry"},
		{"bti jc", 0xd503_24df, "entry"},
		{"bti j", 0xd503_249f, ""},
		{"bti", 0xd503_241f, ""},
		{"paciasp", 0xd503_233f, "entry"},
		{"pacibsp", 0xd503_237f, "entry"},
		{"autiasp", 0xd503_23bf, ""},
		{"nop", 0xd503_201f, ""},
		{"xpaclri", 0xd503_20ff, ""},
		{"pacia x30, sp", 0xdac1_03fe, "x30=u"},
		{"stp x29, x30, [sp, #-32]!", 0xa9be_7bfd, "sp=sp-32 store 1 x29 sp-32 store 1 x30 sp-24"},
		{"ldp x29, x30, [sp], #32", 0xa8c2_7bfd, "sp=sp+32 x29=*(sp) x30=*(sp+8) load 1 x29 sp load 1 x30 sp+8"},
		{"stp x19, x20, [sp, #16]", 0xa901_53f3, "store 1 x19 sp+16 store 1 x20 sp+24"},
		{"ldp x19, x30, [sp, #16]", 0xa941_7bf3, "x30=*(sp+24) load 1 x19 sp+16 load 1 x30 sp+24"},
		{"stp xzr, x30, [sp]", 0xa900_7bff, "store 1 x30 sp+8"},
		{"stnp x19, x20, [sp, #16]", 0xa801_53f3, "store 1 x19 sp+16 store 1 x20 sp+24"},
		{"stp w29, w30, [sp, #-16]!", 0x29be_7bfd, "sp=sp-16 x29=u x30=u"},
		{"stp d8, d9, [sp, #-16]!", 0x6dbf_27e8, "sp=sp-16"},
		{"ldp q8, q9, [sp], #64", 0xacc2_27e8, "sp=sp+64"},
		{"ldpsw x29, x30, [x0]", 0x6940_781d, "x29=u x30=u"},
		{"str x30, [sp, #-16]!", 0xf81f_0ffe, "sp=sp-16 store 1 x30 sp-16"},
		{"ldr x30, [sp], #16", 0xf841_07fe, "sp=sp+16 x30=*(sp) load 1 x30 sp"},
		{"str x30, [sp, #8]", 0xf900_07fe, "store 1 x30 sp+8"},
		{"ldr x29, [x29, #8]", 0xf940_07bd, "x29=*(x29+8) load 1 x29 x29+8"},
		{"ldr x29, [x0, #8]", 0xf940_041d, "x29=u load 1 x29 u"},
		{"stur x30, [x29, #-8]", 0xf81f_83be, "store 1 x30 x29-8"},
		{"str w30, [sp]", 0xb900_03fe, "x30=u"},
		{"ldrsw x30, [sp]", 0xb980_03fe, "x30=u"},
		{"ldrb w29, [sp, #-1]!", 0x385f_fffd, "sp=sp-1 x29=u"},
		{"ldr d8, [sp], #16", 0xfc41_07e8, "sp=sp+16"},
		{"ldr q0, [x29], #16", 0x3cc1_07a0, "x29=x29+16"},
		{"str x0, [x29, x1]", 0xf821_6ba0, ""},
		{"ldr x30, [sp, x1, lsl #3]", 0xf861_7bfe, "x30=u"},
		{"ldr x30,", 0x5800_005e, "x30=u"},
		{"ldr d30,", 0x5c00_005e, ""},
		{"sub sp, sp, #0x20", 0xd100_83ff, "sp=sp-32"},
		{"sub sp, sp, #0x1, lsl #12", 0xd140_07ff, "sp=sp-4096"},
		{"add sp, sp, #0x20", 0x9100_83ff, "sp=sp+32"},
		{"add sp, sp, x1", 0x8b21_63ff, "sp=u"},
		{"sub sp, sp, w1, uxtw", 0xcb21_43ff, "sp=u"},
		{"add x29, sp, #0x10", 0x9100_43fd, "x29=sp+16"},
		{"mov x29, sp", 0x9100_03fd, "x29=sp"},
		{"mov sp, x29", 0x9100_03bf, "sp=x29"},
		{"mov sp, x19", 0x9100_027f, "leaves sp=u"},
		{"add wsp, wsp, #0x10", 0x1100_43ff, "sp=u"},
		{"cmp sp, #0x10", 0xf100_43ff, ""},
		{"adds x29, sp, #0x10", 0xb100_43fd, "x29=sp+16"},
		{"sub x29, x1, #0x10", 0xd100_403d, "x29=u"},
		{"mov x29, x1", 0xaa01_03fd, "x29=u"},
		{"mov x30, #0x0", 0xd280_001e, "x30=u"},
		{"mov x0, sp", 0x9100_03e0, ""},
		{"and sp, x9, #0xfffffffffffffff0", 0x927c_ed3f, "sp=u"},
		{"tst x9, #0xf0", 0xf27c_0d3f, ""},
		{"orr w29, wzr, #0x1", 0x3200_03fd, "x29=u"},
		{"add x29, x0, x1", 0x8b01_001d, "x29=u"},
		{"csel x30, x0, x1, eq", 0x9a81_001e, "x30=u"},
		{"ccmp x30, x0, #0xd, eq", 0xfa40_03cd, ""},
		{"adrp x30,", 0x9000_001e, "x30=u"},
		{"bfi x29, x1, #3, #4", 0xb37d_0c3d, "x29=u"},
		{"extr x29, x1, x2, #3", 0x93c2_0c3d, "x29=u"},
		{"mrs x29, tpidr_el0", 0xd53b_d05d, "x29=u"},
		{"msr tpidr_el0, x29", 0xd51b_d05d, "x29=u"},
		{"dmb ish", 0xd503_3bbf, ""},
		{"fmov x29, d0", 0x9e66_001d, "x29=u"},
		{"fmov d29, x0", 0x9e67_001d, "x29=u"},
		{"fcvtzs w30, s0", 0x1e38_001e, "x30=u"},
		{"fcvtzs x30, d0, #4", 0x9e58_f01e, "x30=u"},
		{"mov x29, v0.d[0]", 0x4e08_3c1d, "x29=u"},
		{"smov w30, v0.h[0]", 0x0e02_2c1e, "x30=u"},
		{"fadd d29, d0, d1", 0x1e61_281d, ""},
		{"ldxr x30, [x0]", 0xc85f_7c1e, "x30=u"},
		{"stxr w29, x0, [x1]", 0xc81d_7c20, "x29=u"},
		{"casp x28, x29, x0, x1, [x2]", 0x483c_7c40, "x29=u"},
		{"ldadd x1, x30, [x0]", 0xf821_001e, "x30=u"},
		{"ld1 {v0.16b}, [sp], #16", 0x4cdf_73e0, "sp=u"},
		{"ld1 {v0.16b}, [sp]", 0x4c40_73e0, ""},
		{"st1 {v0.16b}, [x29], x1", 0x4c81_73a0, "x29=u"},
		{"stg sp, [sp, #16]", 0xd920_1bff, ""},
		{"stg sp, [sp], #16", 0xd920_17ff, "sp=u"},
		{"ldg x30, [x0]", 0xd960_001e, "x30=u"},
		{"addg sp, sp, #0x10, #0x1", 0x9181_07ff, "sp=u"},
		{"irg sp, x0", 0x9adf_101f, "sp=u"},
		{"addvl sp, sp, #-1", 0x043f_57ff, "sp=u"},
		{"addsvl x29, sp, #1", 0x043f_583d, "x29=u"},
		{"rdvl x30, #1", 0x04bf_503e, "x30=u"},
		{"cntb x29", 0x0420_e3fd, "x29=u"},
		{"ptrue p0.b", 0x2518_e3e0, ""},
		{"ldraa x30, [sp, #8]!", 0xf820_1ffe, "sp=u x30=u"},
		{"ldraa x30, [x0]", 0xf820_041e, "x30=u"},
		{"ldapur x30, [x0]", 0xd940_001e, "x30=u"},
		{"mov x8, #0x5d", 0xd280_0ba8, ""},
		{"eret", 0xd69f_03e0, "nowhere"},
		{"smstart", 0xd503_477f, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code := binary.LittleEndian.AppendUint32(nil, tt.insn)
			for _, a := range []*arch.Arch{arch.AArch64, arch.AArch64BE} {
				f := FlowOf(a, code, 0x1000)
				if got := flowText(a, &f); got != tt.want || (f.Size == 4) != (f.Next != Nowhere) {
					t.Errorf("got %q of %d bytes, want %q", got, f.Size, tt.want)
				}
			}
			if f := FlowOf(arch.AArch64, code[:3], 0x1000); f.Next != Nowhere || f.Size != 0 {
				t.Errorf("cut off: got %+v", f)
			}
		})
	}
}

// A thread ends where the system is called by the numbers of exit and exit_group.
func TestExitAArch64(t *testing.T) {
	const svc, svc1 = "\x01\x00\x00\xd4", "\x21\x00\x00\xd4"
	for code, want := range map[string]Next{
		"\xa8\x0b\x80\xd2" + svc:  Exit,    // mov x8, #93
		"\xc8\x0b\x80\x52" + svc:  Exit,    // mov w8, #94
		"\xe8\x0b\x80\xd2" + svc:  Through, // mov x8, #95
		"\xa9\x0b\x80\xd2" + svc:  Through, // mov x9, #93
		"\xa8\x0b\x80\xd2" + svc1: Through,
		"\xa8\x0b\x80\xd2\x01":    Through,
		svc:                       System,
	} {
		if f := FlowOf(arch.AArch64, []byte(code), 0); f.Next != want || (f.Size == 8) != (want == Exit) {
			t.Errorf("% x: got %+v, want %v", code, f, want)
		}
	}
}

// compareAArch64 compares with another decoder: what that says changes SP, FP or
// the link register does, and what goes elsewhere does not go through.
func compareAArch64(t *testing.T, insn uint32) {
	t.Helper()
	code := binary.LittleEndian.AppendUint32(nil, insn)
	got := FlowOf(arch.AArch64, code, 0)
	if got.Next == Nowhere {
		return
	}
	inst, err := arm64asm.Decode(code)
	if err != nil {
		return
	}
	text := arm64asm.GNUSyntax(inst)
	op, args, _ := strings.Cut(text, " ")
	first, _, _ := strings.Cut(args, ",")
	_, index, _ := strings.Cut(args, "[")
	changed := []string{first}
	if base, _, _ := strings.Cut(strings.ReplaceAll(index, "]", ","), ","); (strings.HasSuffix(args, "!") || strings.Contains(args, "],")) && !strings.HasSuffix(args, "#0]!") && !strings.HasSuffix(args, "],#0") {
		changed = append(changed, base)
	}
	if same := first + ", " + first; slices.Contains(reads, op) || args == same || strings.HasPrefix(args, same+", #0x0") || strings.HasPrefix(op, "st") && !strings.HasPrefix(op, "stx") && !strings.HasPrefix(op, "stlx") {
		changed[0] = ""
	}
	for _, reg := range changed {
		same := map[string]bool{
			"sp": got.SP == arch.SameValue(31), "wsp": got.SP == arch.SameValue(31),
			"x29": got.FP == arch.SameValue(29), "w29": got.FP == arch.SameValue(29),
			"x30": got.LR == arch.SameValue(30), "w30": got.LR == arch.SameValue(30),
		}
		if same[reg] {
			t.Errorf("%08x %s: %s", insn, text, flowText(arch.AArch64, &got))
		}
	}
	if jump := slices.Contains(jumps, op) || strings.HasPrefix(op, "b."); jump != (got.Next == Jump || got.Next == Branch || got.Next == Return || got.Next == Call) {
		t.Errorf("%08x %s: %s", insn, text, flowText(arch.AArch64, &got))
	}
}

func FuzzFlowOfAArch64(f *testing.F) {
	f.Add(uint32(0xa9be_7bfd))
	f.Add(uint32(0x9100_03bf))
	f.Add(uint32(0xd65f_03c0))
	f.Fuzz(compareAArch64)
}

// Most instructions there are that name SP, FP or the link register first.
func TestCompareAArch64(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		insn := random.Uint32() &^ 31
		for _, reg := range []uint32{29, 30, 31} {
			compareAArch64(t, insn|reg)
		}
	}
}

// reads are instructions that do not change the register they name first, and
// jumps those that go elsewhere.
var (
	reads = []string{"cbz", "cbnz", "tbz", "tbnz", "cmp", "cmn", "tst", "ccmp", "ccmn", "prfm", "prfum", "blr", "msr"}
	jumps = []string{"b", "bl", "blr", "br", "ret", "cbz", "cbnz", "tbz", "tbnz"}
)
