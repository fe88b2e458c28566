package arch

// Registers of amd64 that rules name [System V psABI, figure 3.36].
const (
	amd64RBX Reg = 3
	amd64RBP Reg = 6
	amd64RSP Reg = 7
	amd64R12 Reg = 12
	amd64R15 Reg = 15
	amd64RIP Reg = 16
)

// AMD64 is x86-64, little-endian.
var AMD64 = &Arch{
	Name:    "amd64",
	Machine: EMX86_64,
	BFD:     "elf64-x86-64",
	Delve:   "amd64",
	ELF: ELF{
		HashWord: 4,
		Relocs: map[uint32]Reloc{ // [System V psABI, table 4.9]
			1:  {Size: 8},              // R_X86_64_64
			2:  {Size: 4, PCRel: true}, // R_X86_64_PC32
			10: {Size: 4},              // R_X86_64_32
			11: {Size: 4},              // R_X86_64_32S
			24: {Size: 8, PCRel: true}, // R_X86_64_PC64
		},
		IRelative: 37,
		PLT:       PLT{EntrySize: 16}, // .plt.got has 8, and says so
	},
	SFrame: SFrame{ABI: 3, FixedRA: -8, CFAFactor: 1},
	Regs: [NumRegs]string{
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip",
	},
	PC: amd64RIP, SP: amd64RSP, FP: amd64RBP, LR: NoReg,
	CalleeSaved: Set(amd64RBX, amd64RBP) | Range(amd64R12, amd64R15),
	StackAlign:  16,

	// struct user_regs_struct at pr_reg [linux arch/x86/include/asm/user_64.h].
	PrStatus: inOrder(PrStatusRegs, 15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5,
		NoReg, amd64RIP, NoReg, NoReg, amd64RSP),
	// XMM0 to XMM15 are in the FXSAVE area [Intel SDM 1, table 10-2], the upper
	// halves of YMM0 to YMM15 in the XSAVE area, if XSTATE_BV says so [Intel SDM 1,
	// 13.4.2, 13.4.3; CPUID leaf 0xd has the same offset on all processors].
	Vector: VectorRegs{
		Name: "xmm", First: 17, Num: 16, Off: 160, Size: 16,
		Upper: UpperRegs{Off: 576, Present: 512, Mask: 1 << 2},
	},
	Raw: amd64Raw(),
	// As rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, after the PC.
	Order: []Reg{amd64RIP, 0, 3, 2, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	Perf: Perf{Machine: "x86_64", Regs: []Reg{
		0, 3, 2, 1, 4, 5, 6, 7, amd64RIP, NoReg, NoReg, NoReg, NoReg, NoReg, NoReg, NoReg,
		8, 9, 10, 11, 12, 13, 14, 15,
	}},
	LongDouble: X87, // [System V psABI, figure 3.1]

	FramePointer: Row{
		CFA: RegOffset(amd64RBP, 16), RA: AtCFA(-8), FP: AtCFA(-16),
	},
	Entry: Row{
		CFA: RegOffset(amd64RSP, 8), RA: AtCFA(-8), FP: SameValue(amd64RBP),
		CalleeSaved: true,
	},
	SignalFrames: []SignalFrame{
		{Code: []byte("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"), Row: amd64Signal}, // mov $15,%rax; syscall
		{Code: []byte("\xb8\x0f\x00\x00\x00\x0f\x05"), Row: amd64Signal},         // mov $15,%eax; syscall
	},
	Breakpoint:   []byte{0xcc},                                                                // [Intel SDM 2A, INT3]
	HidesAddress: true,                                                                        // #GP [Intel SDM 3A, 6.15; linux arch/x86/kernel/traps.c]
	VSyscall:     0xffff_ffff_ff60_0000,                                                       // [linux arch/x86/include/uapi/asm/vsyscall.h]
	ProgramBases: []uint64{0x400000},                                                          // GNU ld, Go
	AltStackToSP: 144,                                                                         // uc_stack is at 16, rsp at 160
	NewThread:    NewThread{Number: PrStatusRegs + 8*15, Result: 0, Calls: []uint64{56, 435}}, // orig_rax, rax
	SystemCall: SystemCall{ // syscall; orig_rax; rdi, rsi, rdx, r10
		Insn: []byte{0x0f, 0x05}, NumberAt: PrStatusRegs + 8*15, Args: [4]Reg{5, 4, 1, 10}, Result: 0,
		Futex: 202, Restart: 219,
	},
	EndsInCall: amd64EndsInCall, CallTarget: amd64CallTarget, Jump: amd64Jump, InsnAlign: 1,
	Slot: amd64Slot, CallSlot: amd64CallSlot,
}

// When the handler has returned, SP is at the ucontext of struct rt_sigframe,
// whose mcontext begins at 40 [linux arch/x86/include/uapi/asm/sigcontext.h].
var amd64Signal = Row{
	CFA: AtReg(amd64RSP, 160), RA: AtReg(amd64RSP, 168), FP: AtReg(amd64RSP, 120),
	Extra: stored(amd64RSP, inOrder(40, 8, 9, 10, 11, 12, 13, 14, 15,
		5, 4, amd64RBP, amd64RBX, 1, 0, 2, amd64RSP)),
	Signal: true,
}

// amd64Raw are the registers of struct user_regs_struct that have no slot, and
// MXCSR of the FXSAVE area [linux arch/x86/include/asm/user_64.h; Intel SDM 1,
// 3.4.3 and table 10-2].
func amd64Raw() []RawReg {
	pr := func(name string, n int) RawReg { return RawReg{Name: name, Off: PrStatusRegs + 8*n, Size: 8} }
	eflags := pr("eflags", 18)
	eflags.Bits = []RegBit{
		{Name: "CF"},
		{Name: "PF", Shift: 2},
		{Name: "AF", Shift: 4},
		{Name: "ZF", Shift: 6},
		{Name: "SF", Shift: 7},
		{Name: "TF", Shift: 8},
		{Name: "IF", Shift: 9},
		{Name: "DF", Shift: 10},
		{Name: "OF", Shift: 11},
	}
	return []RawReg{
		eflags, pr("orig_rax", 15), pr("fs_base", 21), pr("gs_base", 22),
		pr("cs", 17), pr("ss", 20), pr("ds", 23), pr("es", 24), pr("fs", 25), pr("gs", 26),
		{Name: "mxcsr", FP: true, Off: 24, Size: 4},
	}
}

// A near call is E8 with a 32-bit displacement, or FF /2 with any addressing
// mode, which takes 2 to 7 bytes, plus prefixes [Intel SDM 2A, CALL].
func amd64EndsInCall(code []byte) bool {
	n := len(code)
	return n >= 5 && code[n-5] == 0xe8 || amd64EndsInIndirectCall(code)
}

func amd64EndsInIndirectCall(code []byte) bool {
	n := len(code)
	for size := 2; size <= 7 && size <= n; size++ {
		if at := code[n-size:]; at[0] == 0xff && at[1]>>3&7 == 2 && modRMSize(at[1:]) == size-1 {
			return true
		}
	}
	return false
}

// modRMSize returns the bytes taken by a ModRM byte, its SIB byte and its
// displacement, or 0 if b is too short to tell.
func modRMSize(b []byte) int {
	mod, rm := b[0]>>6, b[0]&7
	if mod == 3 {
		return 1
	}
	size, base := 1, rm
	if rm == 4 {
		if len(b) < 2 {
			return 0
		}
		size, base = 2, b[1]&7
	}
	switch {
	case mod == 1:
		return size + 1
	case mod == 2, base == 5:
		return size + 4
	}
	return size
}
