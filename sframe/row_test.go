package sframe

import (
	"testing"
)

// What a row means, and how it is shown.
func TestRows(t *testing.T) {
	flex := func(t *rawTable) { t.funcs[0].info2 = fdeFlex }
	ra := func(v int8) func(*rawTable) { return func(t *rawTable) { t.fixedRA = v } }
	fixedFP := func(v int8) func(*rawTable) { return func(t *rawTable) { t.fixedFP = v } }
	keep := func(*rawTable) {}
	tests := []struct {
		name   string
		v      Version
		abi    ABI
		change func(*rawTable)
		row    rawRow
		want   string
		shown  Columns
	}{
		// Default FDEs: CFA, then what the header does not fix of RA and FP.
		{"AMD64, CFA", V2, AMD64LE, keep, row(0, sp, 8), "cfa=rsp+8 ra=*(c-8) fp=rbp", Columns{"sp+8", "u", "f"}},
		{"AMD64, FP", V2, AMD64LE, keep, row(0, fp, 16, -16), "cfa=rbp+16 ra=*(c-8) fp=*(c-16)", Columns{"fp+16", "c-16", "f"}},
		{"AMD64, FP at the CFA", V2, AMD64LE, keep, row(0, fp, 16, 0), "cfa=rbp+16 ra=*(c-8) fp=*(c+0)", Columns{"fp+16", "c+0", "f"}},
		{"AMD64, words that are not used", V2, AMD64LE, keep, row(0, fp, 16, -16, 1, 2, 3), "cfa=rbp+16 ra=*(c-8) fp=*(c-16)", Columns{"fp+16", "c-16", "f"}},
		{"AMD64 without fixed RA", V2, AMD64LE, ra(0), row(0, fp, 16, -24, -16), "cfa=rbp+16 ra=*(c-24) fp=*(c-16)", Columns{"fp+16", "c-16", "c-24"}},
		{"AMD64, negative CFA offset", V2, AMD64LE, keep, row(0, sp, -8), "cfa=rsp-8 ra=*(c-8) fp=rbp", Columns{"sp-8", "u", "f"}},
		{"AArch64, CFA", V2, AArch64BE, keep, row(0, sp, 16), "cfa=sp+16 ra=x30 fp=x29", Columns{"sp+16", "u", "u"}},
		{"AArch64, RA", V2, AArch64BE, keep, row(0, sp, 16, -8), "cfa=sp+16 ra=*(c-8) fp=x29", Columns{"sp+16", "u", "c-8"}},
		{"AArch64, RA, FP", V3, AArch64LE, keep, row(0, sp, 16, -8, -16), "cfa=sp+16 ra=*(c-8) fp=*(c-16)", Columns{"sp+16", "c-16", "c-8"}},
		{"AArch64, FP without RA", V3, AArch64LE, keep, row(0, sp, 16, 0, -16), "cfa=sp+16 ra=x30 fp=*(c-16)", Columns{"sp+16", "c-16", "U"}},
		{"AArch64 with fixed RA", V2, AArch64LE, ra(-8), row(0, sp, 16, -16), "cfa=sp+16 ra=*(c-8) fp=*(c-16)", Columns{"sp+16", "c-16", "f"}},
		{"AArch64, signed", V1, AArch64LE, keep, rawRow{0, 0x87, []int8{16, -8, -16}}, "cfa=sp+16 ra=*(c-8) fp=*(c-16) signed-ra", Columns{"sp+16", "c-16", "c-8[s]"}},
		{"AArch64, signed in LR", V3, AArch64LE, keep, rawRow{0, 0x83, []int8{0}}, "cfa=sp ra=x30 fp=x29 signed-ra", Columns{"sp+0", "u", "u[s]"}},
		{"AMD64, bit 7", V3, AMD64LE, keep, rawRow{0, 0x83, []int8{8}}, "cfa=rsp+8 ra=*(c-8) fp=rbp", Columns{"sp+8", "u", "f[s]"}},
		{"fixed FP", V2, AMD64LE, fixedFP(-16), row(0, sp, 32), "cfa=rsp+32 ra=*(c-8) fp=*(c-16)", Columns{"sp+32", "f", "f"}},
		{"fixed FP, one word more", V2, AMD64LE, fixedFP(-16), row(0, sp, 32, -24), "cfa=rsp+32 ra=*(c-8) fp=*(c-16)", Columns{"sp+32", "f", "f"}},
		{"fixed FP, RA", V2, AArch64LE, fixedFP(-16), row(0, sp, 32, -8), "cfa=sp+32 ra=*(c-8) fp=*(c-16)", Columns{"sp+32", "f", "c-8"}},

		// CTF Frame has FP before RA.
		{"CTF, CFA", CTFFrame, AArch64LE, keep, row(0, sp, 16), "cfa=sp+16 ra=x30 fp=x29", Columns{"sp+16", "u", "u"}},
		{"CTF, FP", CTFFrame, AArch64LE, keep, row(0, sp, 16, -16), "cfa=sp+16 ra=x30 fp=*(c-16)", Columns{"sp+16", "c-16", "u"}},
		{"CTF, FP, RA", CTFFrame, AArch64BE, keep, row(0, fp, 16, -16, -8), "cfa=x29+16 ra=*(c-8) fp=*(c-16)", Columns{"fp+16", "c-16", "c-8"}},
		{"CTF, AMD64", CTFFrame, AMD64LE, keep, row(0, fp, 16, -16), "cfa=rbp+16 ra=*(c-8) fp=*(c-16)", Columns{"fp+16", "c-16", "f"}},
		{"CTF, bit 7", CTFFrame, AArch64LE, keep, rawRow{0, 0x83, []int8{16}}, "cfa=sp+16 ra=x30 fp=x29", Columns{"sp+16", "u", "u"}},

		// s390x scales the CFA offset; registers are in V2 only.
		{"s390x, CFA", V2, S390XBE, keep, row(0, sp, 20), "cfa=r15+320 ra=r14 fp=r11", Columns{"sp+320", "u", "u"}},
		{"s390x, negative word", V2, S390XBE, keep, row(0, sp, -20), "cfa=r15 ra=r14 fp=r11", Columns{"sp+0", "u", "u"}},
		{"s390x, RA", V2, S390XBE, keep, row(0, sp, 0, -48), "cfa=r15+160 ra=*(c-48) fp=r11", Columns{"sp+160", "u", "c-48"}},
		{"s390x, RA, FP", V3, S390XBE, keep, row(0, fp, 0, -48, -72), "cfa=r11+160 ra=*(c-48) fp=*(c-72)", Columns{"fp+160", "c-72", "c-48"}},
		{"s390x, FP without RA", V3, S390XBE, keep, row(0, sp, 0, 0, -72), "cfa=r15+160 ra=r14 fp=*(c-72)", Columns{"sp+160", "c-72", "U"}},
		{"s390x, registers", V2, S390XBE, keep, row(0, sp, 0, 35, 33), "cfa=r15+160 ra=f2 fp=f0", Columns{"sp+160", "r16", "r17"}},
		{"s390x, FP in a register", V2, S390XBE, keep, row(0, sp, 0, 0, 33), "cfa=r15+160 ra=r14 fp=f0", Columns{"sp+160", "r16", "U"}},
		{"s390x, no registers in V3", V3, S390XBE, keep, row(0, sp, 0, 35, 33), "cfa=r15+160 ra=*(c+35) fp=*(c+33)", Columns{"sp+160", "c+33", "c+35"}},

		// Flexible FDEs: pairs of control word and offset.
		{"flex, CFA", V3, AMD64LE, flex, row(0, 0, 0x51, 8), "cfa=r10+8 ra=*(c-8) fp=rbp", Columns{"r10+8", "u", "f"}},
		{"flex, CFA in memory", V3, AMD64LE, flex, row(0, 0, 0x33, -8), "cfa=*(rbp-8) ra=*(c-8) fp=rbp", Columns{"(fp-8)", "u", "f"}},
		{"flex, base bit", V3, AMD64LE, flex, row(0, sp, 0x31, 8), "cfa=rbp+8 ra=*(c-8) fp=rbp", Columns{"fp+8", "u", "f"}},
		{"flex, RA slot", V3, AMD64LE, flex, row(0, 0, 0x39, 8, 2, -24), "cfa=rsp+8 ra=*(c-24) fp=rbp", Columns{"sp+8", "u", "c-24"}},
		{"flex, RA register", V3, AMD64LE, flex, row(0, 0, 0x39, 0, 0x09, 0), "cfa=rsp ra=rdx fp=rbp", Columns{"sp+0", "u", "r1+0"}},
		{"flex, RA register, offset", V3, AMD64LE, flex, row(0, 0, 0x39, 0, 0x09, 4), "cfa=rsp ra=rdx+4 fp=rbp", Columns{"sp+0", "u", "r1+4"}},
		{"flex, FP", V3, AMD64LE, flex, row(0, 0, 0x39, 8, 0, 0x33, 0), "cfa=rsp+8 ra=*(c-8) fp=*(rbp)", Columns{"sp+8", "(fp+0)", "U"}},
		{"flex, FP not tracked", V3, AMD64LE, flex, row(0, 0, 0x39, 8, 0, 0, 8), "cfa=rsp+8 ra=*(c-8) fp=rbp", Columns{"sp+8", "u", "U"}},
		{"flex, RA, FP", V3, AMD64LE, flex, row(0, 0, 0x39, 8, 2, -24, 2, -32), "cfa=rsp+8 ra=*(c-24) fp=*(c-32)", Columns{"sp+8", "c-32", "c-24"}},
		{"flex, RA, FP not tracked", V3, AMD64LE, flex, row(0, 0, 0x39, 8, 2, -24, 0, 8), "cfa=rsp+8 ra=*(c-24) fp=rbp", Columns{"sp+8", "u", "c-24"}},
		{"flex, AArch64", V3, AArch64BE, flex, row(0, 0, 0x49, 16), "cfa=x9+16 ra=x30 fp=x29", Columns{"r9+16", "u", "u"}},
		{"flex, s390x", V3, S390XBE, flex, row(0, 0, 0x51, 40, 0, 2, -72), "cfa=r10+480 ra=r14 fp=*(c-72)", Columns{"r10+480", "c-72", "U"}},
		{"flex, s390x, registers", V3, S390XBE, flex, row(0, 0, 0x79, 0, -119, 0, -127, 0), "cfa=r15+160 ra=f2 fp=f0", Columns{"sp+160", "r16+0", "r17+0"}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			raw := plain(c.v, c.abi)
			raw.funcs[0].rows = []rawRow{c.row}
			c.change(raw)
			s := parseRaw(t, raw.bytes().Done())
			if got := found(s, 0x1000); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			f := firstFunc(t, s)
			for e := range s.FREs(f) {
				if got, err := f.Columns(&e); got != c.shown || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, c.shown)
				}
			}
		})
	}
}

// Columns show registers that cannot be tracked, and outermost rows.
func TestColumns(t *testing.T) {
	for want, words := range map[Columns][]int8{
		{CFA: "r31+8", FP: "u", RA: "f"}: {-7, 8},
		{RA: "undefined"}:                nil,
	} {
		raw := flexRow(words...)()
		s := parseRaw(t, raw.bytes().Done())
		f := firstFunc(t, s)
		for e := range s.FREs(f) {
			if got, err := f.Columns(&e); got != want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		}
	}
}
