package arch

// Registers of s390x that rules name [s390x ELF ABI, table 1.4]. 16 to 31 are
// the floating-point registers in DWARF's order. The PSW address has DWARF
// number 65, so slot 32 is its own.
const (
	s390xR6  Reg = 6
	s390xR11 Reg = 11
	s390xR13 Reg = 13
	s390xR14 Reg = 14
	s390xR15 Reg = 15
	s390xPC  Reg = 32
)

// s390xFPRs are the slots of f0, f1, ... f15 in this order.
var s390xFPRs = []Reg{16, 20, 17, 21, 18, 22, 19, 23, 24, 28, 25, 29, 26, 30, 27, 31}

// S390X is 64-bit z/Architecture, big-endian.
var S390X = &Arch{
	Name:    "s390x",
	Machine: EMS390,
	BFD:     "elf64-s390",
	ELF: ELF{
		HashWord: 8, // [LSB for z/Architecture]
		Relocs: map[uint32]Reloc{ // [s390x ELF ABI, 3.2]
			4:  {Size: 4},              // R_390_32
			5:  {Size: 4, PCRel: true}, // R_390_PC32
			22: {Size: 8},              // R_390_64
			23: {Size: 8, PCRel: true}, // R_390_PC64
		},
		IRelative: 61,
		PLT:       PLT{EntrySize: 32},
	},
	// CFA offsets are in units of the stack alignment, less the register save area
	// that every caller provides [SFrame 3, 3.3].
	SFrame:    SFrame{ABI: 4, Since: 2, CFAFactor: 8, CFABase: 160, RegWords: true},
	BigEndian: true,
	Regs: [NumRegs]string{
		"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
		"f0", "f2", "f4", "f6", "f1", "f3", "f5", "f7",
		"f8", "f10", "f12", "f14", "f9", "f11", "f13", "f15", "pc",
	},
	PC: s390xPC, SP: s390xR15, FP: s390xR11, LR: s390xR14,
	CalleeSaved: Range(s390xR6, s390xR13) | Range(24, 31), // r6-r13, f8-f15
	SPFromCFA:   -160,
	SavedSP:     -40,
	StackAlign:  8,

	// struct s390_regs at pr_reg: PSW mask and address, 16 general registers.
	PrStatus: append(inOrder(PrStatusRegs+8, s390xPC), run(16, PrStatusRegs+16)...),
	FPRegSet: inOrder(8, s390xFPRs...),
	// The condition code is bits 18 and 19 of the PSW, counted from the left
	// [linux arch/s390/include/uapi/asm/ptrace.h; Principles of Operation, 4].
	Raw: []RawReg{
		{Name: "pswm", Off: PrStatusRegs, Size: 8, Bits: []RegBit{{Name: "cc", Shift: 44, Width: 2}}},
		{Name: "fpc", FP: true, Off: 0, Size: 4},
	},
	Perf:   Perf{Machine: "s390x", Regs: append(append(first(16), s390xFPRs...), NoReg, s390xPC)},
	Floats: Range(16, 31),

	// The back chain at SP holds the caller's SP. If r14 and r11 are saved, they are in
	// their slots of the caller's register save area.
	FramePointer: Row{
		CFA: Rule{Base: Register, Reg: s390xR15, Deref: true, Add: 160},
		RA:  AtCFA(-48), FP: AtCFA(-72),
	},
	Entry: Row{
		CFA: RegOffset(s390xR15, 160), RA: SameValue(s390xR14), FP: SameValue(s390xR11),
		CalleeSaved: true,
	},
	SignalFrames: []SignalFrame{
		{Code: []byte("\x0a\xad"), Row: s390xSignal(336)}, // svc rt_sigreturn: struct rt_sigframe
		{Code: []byte("\x0a\x77"), Row: s390xSignal(176)}, // svc sigreturn: struct sigframe
	},
	ProgramBases: []uint64{0x1000000, 0x10000}, // GNU ld, Go
	AltStackToSP: 160,                          // uc_stack is at 312 of the frame, r15 at 472
	SystemCall: SystemCall{ // svc; orig_gpr2, behind 16 access registers
		Insn: []byte("\x0a\x00"), Immediate: true, Number: 1, Args: [4]Reg{2, 3, 4, 5}, Result: 2, FirstAt: PrStatusRegs + 208,
		Futex: 238, Restart: 7,
	},
	NewThread:  NewThread{Result: 2, Calls: []uint64{120, 435}}, // r2
	EndsInCall: s390xEndsInCall, CallTarget: s390xCallTarget, Jump: s390xJump, InsnAlign: 2, FaultsByPage: true,
	Slot: s390xSlot,
}

// s390xSignal makes the row for a signal frame whose _sigregs structure is at
// SP + at: PSW, 16 general registers, 16 access registers, FPC, 16
// floating-point registers [linux arch/s390/include/uapi/asm/sigcontext.h].
func s390xSignal(at uint16) Row {
	locs := append(run(16, at+16), inOrder(at+216, s390xFPRs...)...)
	return Row{
		CFA: Rule{Base: Register, Reg: s390xR15, Off: int64(at) + 16 + 8*int64(s390xR15), Deref: true, Add: 160},
		RA:  AtReg(s390xR15, int64(at)+8), FP: AtReg(s390xR15, int64(at)+16+8*int64(s390xR11)),
		Extra:  stored(s390xR15, locs),
		Signal: true,
	}
}

// BRASL, BASR with a target, BRAS and BAS; the link register is not
// checked, since r14 is only a convention [Principles of Operation, 7].
func s390xEndsInCall(code []byte) bool {
	n := len(code)
	switch {
	case n >= 6 && code[n-6] == 0xc0 && code[n-5]&0xf == 5: // BRASL
		return true
	case n >= 4 && code[n-4] == 0xa7 && code[n-3]&0xf == 5: // BRAS
		return true
	}
	return s390xEndsInIndirectCall(code)
}

func s390xEndsInIndirectCall(code []byte) bool {
	n := len(code)
	return n >= 4 && code[n-4] == 0x4d || // BAS
		n >= 2 && code[n-2] == 0x0d && code[n-1]&0xf != 0 // BASR
}
