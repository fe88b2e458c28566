package arch

import (
	"debug/elf"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// numbered returns names from prefix0 to prefix(n-1), such as r0, r1, ...
func numbered(prefix string, n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i))
	}
	return names
}

// words returns where the members of a structure of 8-byte words are, from the
// offset of the first. A name of "" stands for a member without a name.
func words(off int, names ...string) map[string]string {
	at := map[string]string{}
	for i, name := range names {
		if name != "" {
			at[name] = fmt.Sprintf("%d+8", off+8*i)
		}
	}
	return at
}

// Every register is where the kernel's structures have it, and no other is known:
// user_regs_struct of x86, user_pt_regs and user_fpsimd_state of arm64, s390_regs and
// s390_fp_regs, and the FXSAVE area [linux arch/*/include/uapi/asm/ptrace.h; Intel SDM
// 1, table 10-2].
func TestRegisterLayout(t *testing.T) {
	user := strings.Fields("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs")
	arm := append(numbered("x", 31), "sp", "pc", "pstate")
	for _, tt := range []struct {
		name             string
		arch             *Arch
		prstatus, fpregs map[string]string
	}{
		{"amd64", AMD64, words(112, user...), map[string]string{"mxcsr": "24+4"}},
		{"aarch64", AArch64, words(112, arm...), map[string]string{"fpsr": "512+4", "fpcr": "516+4"}},
		{"aarch64be", AArch64BE, words(112, arm...), map[string]string{"fpsr": "512+4", "fpcr": "516+4"}},
		{"s390x", S390X, words(112, append([]string{"pswm", "pc"}, numbered("r", 16)...)...), words(8, numbered("f", 16)...)},
	} {
		prstatus, fpregs := map[string]string{}, map[string]string{}
		for _, l := range tt.arch.PrStatus {
			prstatus[tt.arch.RegName(l.Reg)] = fmt.Sprintf("%d+8", l.Off)
		}
		for _, l := range tt.arch.FPRegSet {
			fpregs[tt.arch.RegName(l.Reg)] = fmt.Sprintf("%d+8", l.Off)
		}
		for _, r := range tt.arch.Raw {
			at := prstatus
			if r.FP {
				at = fpregs
			}
			at[r.Name] = fmt.Sprintf("%d+%d", r.Off, r.Size)
		}
		if tt.name == "s390x" {
			tt.fpregs["fpc"] = "0+4"
		}
		if !maps.Equal(prstatus, tt.prstatus) {
			t.Errorf("%s: NT_PRSTATUS: got %v, want %v", tt.name, prstatus, tt.prstatus)
		}
		if !maps.Equal(fpregs, tt.fpregs) {
			t.Errorf("%s: NT_FPREGSET: got %v, want %v", tt.name, fpregs, tt.fpregs)
		}
	}
	if AMD64.PrStatus[0].Off != PrStatusRegs || PrStatusSignal != 12 || PrStatusPID != 32 {
		t.Error("struct elf_prstatus has pr_cursig at 12, pr_pid at 32 and pr_reg at 112")
	}
}

// The bits of flag registers have the names and places of the manuals [Intel SDM 1,
// 3.4.3; Arm ARM, C5.2.10; Principles of Operation, 4].
func TestFlagBits(t *testing.T) {
	want := map[string]string{
		"amd64":     "eflags: CF@0/0 PF@2/0 AF@4/0 ZF@6/0 SF@7/0 TF@8/0 IF@9/0 DF@10/0 OF@11/0",
		"aarch64":   "pstate: N@31/0 Z@30/0 C@29/0 V@28/0",
		"aarch64be": "pstate: N@31/0 Z@30/0 C@29/0 V@28/0",
		"s390x":     "pswm: cc@44/2",
	}
	for name, a := range all {
		var got []string
		for _, r := range a.Raw {
			if len(r.Bits) > 0 {
				got = append(got, r.Name+":")
			}
			for _, b := range r.Bits {
				got = append(got, fmt.Sprintf("%s@%d/%d", b.Name, b.Shift, b.Width))
			}
		}
		if text := strings.Join(got, " "); text != want[name] {
			t.Errorf("%s: got %q, want %q", name, text, want[name])
		}
	}
}

// Vector registers have the numbers of the psABIs, and the places of the FXSAVE and
// XSAVE areas and of user_fpsimd_state.
func TestVectorLayout(t *testing.T) {
	fxsave, fpsimd := make([]byte, 512), make([]byte, 528)
	for i := range fxsave {
		fxsave[i] = byte(i / 16)
	}
	for i := range fpsimd {
		fpsimd[i] = byte(i / 16)
	}
	for _, tt := range []struct {
		name  string
		v     *VectorRegs
		n     uint64
		desc  []byte
		first byte // of the register's 16 bytes; 0xff if it is not there
	}{
		{"xmm0", &AMD64.Vector, 17, fxsave, 10},
		{"xmm1", &AMD64.Vector, 18, fxsave, 11},
		{"xmm15", &AMD64.Vector, 32, fxsave, 25},
		{"no xmm16", &AMD64.Vector, 33, fxsave, 0xff},
		{"rip", &AMD64.Vector, 16, fxsave, 0xff},
		{"xmm0, cut off", &AMD64.Vector, 17, fxsave[:175], 0xff},
		{"xmm0, the last that is there", &AMD64.Vector, 17, fxsave[:176], 10},
		{"v0", &AArch64.Vector, 64, fpsimd, 0},
		{"v31", &AArch64.Vector, 95, fpsimd, 31},
		{"no v32", &AArch64.Vector, 96, fpsimd, 0xff},
		{"before v0", &AArch64.Vector, 63, fpsimd, 0xff},
		{"s390x has none", &S390X.Vector, 0, fpsimd, 0xff},
	} {
		got := tt.v.Bytes(tt.n, tt.desc)
		if tt.first == 0xff {
			if got != nil {
				t.Errorf("%s: got %x", tt.name, got)
			}
			continue
		}
		if len(got) != 16 || got[0] != tt.first || got[15] != tt.first {
			t.Errorf("%s: got %x, want 16 of %x", tt.name, got, tt.first)
		}
	}

	xsave := make([]byte, 576+256)
	for i := range xsave[576:] {
		xsave[576+i] = byte(i / 16)
	}
	for bits, want := range map[byte]bool{0: false, 3: false, 4: true, 7: true} { // bit 2 stands for AVX
		xsave[512] = bits
		for i := range uint64(16) {
			got := AMD64.Vector.UpperBytes(i, xsave)
			if (got != nil) != want || want && (len(got) != 16 || got[0] != byte(i) || got[15] != byte(i)) {
				t.Errorf("upper half of ymm%d, XSTATE_BV %d: got %x", i, bits, got)
			}
		}
	}
	xsave[512] = 4
	if got := AMD64.Vector.UpperBytes(1, xsave[:576+32]); len(got) != 16 {
		t.Errorf("upper half of ymm1, the last that is there: got %x", got)
	}
}

// A signal frame has all registers where the kernel stores them: struct sigcontext of
// x86 and arm64, and _sigregs of s390x, where access registers and FPC are between
// the general and the floating-point registers.
func TestSignalFrameRegisters(t *testing.T) {
	arm := append(numbered("x", 31), "sp")
	regs390 := func(at int) map[string]string {
		want := words(at+16, numbered("r", 16)...)
		maps.Copy(want, words(at+16+128+64+8, numbered("f", 16)...))
		return want
	}
	for _, tt := range []struct {
		name string
		arch *Arch
		row  *Row
		want map[string]string
	}{
		{"amd64", AMD64, &AMD64.SignalFrames[0].Row, words(40, strings.Fields("r8 r9 r10 r11 r12 r13 r14 r15 rdi rsi rbp rbx rdx rax rcx rsp")...)},
		{"aarch64", AArch64, &AArch64.SignalFrames[0].Row, words(312, arm...)},
		{"s390x rt", S390X, &S390X.SignalFrames[0].Row, regs390(336)},
		{"s390x", S390X, &S390X.SignalFrames[1].Row, regs390(176)},
	} {
		got := map[string]string{}
		for _, e := range tt.row.Extra {
			if e.Rule != AtReg(tt.arch.SP, e.Rule.Off) {
				t.Errorf("%s: %s is at %s", tt.name, tt.arch.RegName(e.Reg), e.Rule.Format(tt.arch))
			}
			got[tt.arch.RegName(e.Reg)] = fmt.Sprintf("%d+8", e.Rule.Off)
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	// uc_stack is behind uc_flags and uc_link.
	for name, tt := range map[string]struct {
		arch *Arch
		sp   int // the offset of the interrupted SP from the ucontext
	}{"amd64": {AMD64, 160}, "aarch64": {AArch64, 560 - 128}, "s390x": {S390X, 472 - 296}} {
		if got := tt.arch.AltStackToSP; got != tt.sp-16 {
			t.Errorf("%s: SP is %d behind uc_stack, want %d", name, got, tt.sp-16)
		}
	}
}

// The conventions are those of the psABIs.
func TestConventionRows(t *testing.T) {
	for _, tt := range []struct {
		arch                *Arch
		framePointer, entry string
		callee              string
		align               uint64
		spFromCFA, savedSP  int64
	}{
		{AMD64, "cfa=rbp+16 ra=*(c-8) fp=*(c-16)", "cfa=rsp+8 ra=*(c-8) fp=rbp", "rbx rbp r12 r13 r14 r15", 16, 0, 0},
		{AArch64, "cfa=x29+16 ra=*(c-8) fp=*(c-16) sp=u", "cfa=sp ra=x30 fp=x29", "x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29", 16, 0, 0},
		{AArch64BE, "cfa=x29+16 ra=*(c-8) fp=*(c-16) sp=u", "cfa=sp ra=x30 fp=x29", "x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29", 16, 0, 0},
		{S390X, "cfa=*(r15)+160 ra=*(c-48) fp=*(c-72)", "cfa=r15+160 ra=r14 fp=r11", "r6 r7 r8 r9 r10 r11 r12 r13 f8 f10 f12 f14 f9 f11 f13 f15", 8, -160, -40},
	} {
		a := tt.arch
		if got := a.FramePointer.Format(a); got != tt.framePointer || a.FramePointer.CalleeSaved {
			t.Errorf("%s: frame pointer: got %q, want %q", a.Name, got, tt.framePointer)
		}
		if got := a.Entry.Format(a); got != tt.entry || !a.Entry.CalleeSaved {
			t.Errorf("%s: entry: got %q, want %q, with callee-saved registers", a.Name, got, tt.entry)
		}
		var callee []string
		for r := range Reg(NumRegs) {
			if a.CalleeSaved.Has(r) {
				callee = append(callee, a.RegName(r))
			}
		}
		if got := strings.Join(callee, " "); got != tt.callee {
			t.Errorf("%s: callees save %q, want %q", a.Name, got, tt.callee)
		}
		if a.StackAlign != tt.align || a.SPFromCFA != tt.spFromCFA || a.SavedSP != tt.savedSP {
			t.Errorf("%s: got alignment %d, SP at %d and saved at %d from the CFA", a.Name, a.StackAlign, a.SPFromCFA, a.SavedSP)
		}
	}
	if !S390X.FaultsByPage || AMD64.FaultsByPage || AArch64.FaultsByPage {
		t.Error("only s390x tells the page of a fault and not its address")
	}
	if PAC := AArch64.PACMask; PAC != 0xff7f<<48 || !AArch64.PAC || AMD64.PAC || S390X.PAC {
		t.Errorf("got mask %#x; only AArch64 signs addresses, in bits 48 to 54 and 56 to 63", PAC)
	}
}

// What the kernel and linkers do with each architecture.
func TestSystem(t *testing.T) {
	for _, tt := range []struct {
		arch         *Arch
		insn         uint64
		bases        []uint64
		vsyscall     uint64
		hidesAddress bool
		breakpoint   string
		longDouble   FloatFormat
		sframe       SFrame
	}{
		{AMD64, 1, []uint64{0x400000}, 0xffffffffff600000, true, "\xcc", X87, SFrame{ABI: 3, FixedRA: -8, CFAFactor: 1}},
		{AArch64, 4, []uint64{0x400000, 0x10000}, 0, false, "", Binary128, SFrame{ABI: 2, CFAFactor: 1}},
		{AArch64BE, 4, []uint64{0x400000, 0x10000}, 0, false, "", Binary128, SFrame{ABI: 1, CFAFactor: 1}},
		{S390X, 2, []uint64{0x1000000, 0x10000}, 0, false, "", Binary128, SFrame{ABI: 4, Since: 2, CFAFactor: 8, CFABase: 160, RegWords: true}},
	} {
		a := tt.arch
		if a.InsnAlign != tt.insn || !slices.Equal(a.ProgramBases, tt.bases) || a.VSyscall != tt.vsyscall ||
			a.HidesAddress != tt.hidesAddress || string(a.Breakpoint) != tt.breakpoint || a.LongDouble != tt.longDouble {
			t.Errorf("%s: got instructions of %d, programs at %#x, vsyscall %#x, hidden addresses %v, breakpoint %x, long double %d; want %+v",
				a.Name, a.InsnAlign, a.ProgramBases, a.VSyscall, a.HidesAddress, a.Breakpoint, a.LongDouble, tt)
		}
		if a.SFrame != tt.sframe {
			t.Errorf("%s: got %+v, want %+v", a.Name, a.SFrame, tt.sframe)
		}
	}
	if got := S390X.Floats; got != Range(16, 31) || AMD64.Floats != 0 {
		t.Errorf("floating-point registers of s390x: got %#x", got)
	}
	var order []string
	for _, r := range AMD64.Order {
		order = append(order, AMD64.RegName(r))
	}
	const want = "rip rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("got order %q, want %q", got, want)
	}
}

// Relocations have the numbers of debug/elf, and the fields of the psABIs.
func TestELF(t *testing.T) {
	x86, arm, s390 := elf.R_X86_64_IRELATIVE, elf.R_AARCH64_IRELATIVE, uint32(61) // R_390_IRELATIVE
	relocsARM := map[uint32]Reloc{
		uint32(elf.R_AARCH64_ABS64):  {Size: 8},
		uint32(elf.R_AARCH64_ABS32):  {Size: 4},
		uint32(elf.R_AARCH64_PREL64): {Size: 8, PCRel: true},
		uint32(elf.R_AARCH64_PREL32): {Size: 4, PCRel: true},
	}
	pltARM := PLT{MaxSize: 24, First: []byte("\x5f\x24\x03\xd5"), Last: []byte("\x20\x02\x1f\xd6")}
	for _, tt := range []struct {
		arch      *Arch
		machine   elf.Machine
		hashWord  int
		iRelative uint32
		plt       PLT
		relocs    map[uint32]Reloc
	}{
		{AMD64, elf.EM_X86_64, 4, uint32(x86), PLT{EntrySize: 16}, map[uint32]Reloc{
			uint32(elf.R_X86_64_64):   {Size: 8},
			uint32(elf.R_X86_64_PC32): {Size: 4, PCRel: true},
			uint32(elf.R_X86_64_32):   {Size: 4},
			uint32(elf.R_X86_64_32S):  {Size: 4},
			uint32(elf.R_X86_64_PC64): {Size: 8, PCRel: true},
		}},
		{AArch64, elf.EM_AARCH64, 4, uint32(arm), pltARM, relocsARM},
		{AArch64BE, elf.EM_AARCH64, 4, uint32(arm), pltARM, relocsARM},
		{S390X, elf.EM_S390, 8, s390, PLT{EntrySize: 32}, map[uint32]Reloc{
			uint32(elf.R_390_32):   {Size: 4},
			uint32(elf.R_390_PC32): {Size: 4, PCRel: true},
			uint32(elf.R_390_64):   {Size: 8},
			uint32(elf.R_390_PC64): {Size: 8, PCRel: true},
		}},
	} {
		got := ELFOf(uint16(tt.machine))
		if got.HashWord != tt.hashWord || got.IRelative != tt.iRelative || !maps.Equal(got.Relocs, tt.relocs) {
			t.Errorf("%v: got %+v, want %+v", tt.machine, got, tt)
		}
		if p := got.PLT; p.EntrySize != tt.plt.EntrySize || p.MaxSize != tt.plt.MaxSize || string(p.First) != string(tt.plt.First) || string(p.Last) != string(tt.plt.Last) {
			t.Errorf("%v: got %+v, want %+v", tt.machine, p, tt.plt)
		}
		if tt.arch.Machine != uint16(tt.machine) {
			t.Errorf("%s: got machine %d, want %v", tt.arch.Name, tt.arch.Machine, tt.machine)
		}
	}
	if got := ELFOf(uint16(elf.EM_RISCV)); got.HashWord != 4 || len(got.Relocs) != 0 {
		t.Errorf("an architecture that is not known: got %+v, want what the gABI says", got)
	}
}
