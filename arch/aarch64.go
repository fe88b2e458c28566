package arch

import "encoding/binary"

// Registers of AArch64 that rules name [AADWARF64, 4.1]. PC has no DWARF
// number below NumRegs (32 there is reserved), so that slot is its own.
const (
	aarch64X19 Reg = 19
	aarch64FP  Reg = 29
	aarch64LR  Reg = 30
	aarch64SP  Reg = 31
	aarch64PC  Reg = 32
)

// AArch64 is 64-bit Arm with little-endian data.
var AArch64 = func() *Arch {
	a := aarch64(false)
	a.BFD, a.Delve, a.Perf.Machine = "elf64-littleaarch64", "arm64", "aarch64"
	a.SFrame = SFrame{ABI: 2, CFAFactor: 1}
	return a
}()

// AArch64BE is 64-bit Arm with big-endian data.
var AArch64BE = func() *Arch {
	a := aarch64(true)
	a.BFD, a.Perf.Machine = "elf64-bigaarch64", "aarch64_be"
	a.SFrame = SFrame{ABI: 1, CFAFactor: 1}
	return a
}()

func aarch64(bigEndian bool) *Arch {
	return &Arch{
		Name:    "aarch64",
		Machine: EMAArch64,
		ELF: ELF{
			HashWord: 4,
			Relocs: map[uint32]Reloc{ // [AAELF64, 5.7]
				257: {Size: 8},              // R_AARCH64_ABS64
				258: {Size: 4},              // R_AARCH64_ABS32
				260: {Size: 8, PCRel: true}, // R_AARCH64_PREL64
				261: {Size: 4, PCRel: true}, // R_AARCH64_PREL32
			},
			IRelative: 1032,
			PLT:       PLT{MaxSize: 6 * 4, First: []byte(aarch64BTI), Last: []byte("\x20\x02\x1f\xd6")}, // bti c; br x17
		},
		BigEndian: bigEndian,
		Regs: [NumRegs]string{
			"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7",
			"x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
			"x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
			"x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp", "pc",
		},
		PC: aarch64PC, SP: aarch64SP, FP: aarch64FP, LR: aarch64LR,
		CalleeSaved: Range(aarch64X19, aarch64FP),
		StackAlign:  16,

		Perf: Perf{Regs: first(33)},

		// struct user_pt_regs at pr_reg: x0-x30, sp, pc, pstate.
		PrStatus: run(33, PrStatusRegs),
		Vector:   VectorRegs{Name: "v", First: 64, Num: 32, Size: 16}, // struct user_fpsimd_state
		Raw: []RawReg{ // [linux arch/arm64/include/uapi/asm/ptrace.h]
			{Name: "pstate", Off: PrStatusRegs + 8*33, Size: 8, Bits: []RegBit{
				{Name: "N", Shift: 31}, {Name: "Z", Shift: 30}, {Name: "C", Shift: 29}, {Name: "V", Shift: 28},
			}},
			{Name: "fpsr", FP: true, Off: 512, Size: 4},
			{Name: "fpcr", FP: true, Off: 516, Size: 4},
		},

		// The frame record is somewhere in the frame, so FP + 16 is only a
		// lower bound of the CFA and SP is not recovered [AAPCS64, 6.2.3].
		FramePointer: Row{
			CFA: RegOffset(aarch64FP, 16), RA: AtCFA(-8), FP: AtCFA(-16),
			Extra: []RegRule{{Reg: aarch64SP}},
		},
		Entry: Row{
			CFA: RegOffset(aarch64SP, 0), RA: SameValue(aarch64LR), FP: SameValue(aarch64FP),
			CalleeSaved: true,
		},
		SignalFrames: []SignalFrame{
			{Code: []byte("\x68\x11\x80\xd2\x01\x00\x00\xd4"), Row: aarch64Signal}, // mov x8, #139; svc #0
		},
		ProgramBases: []uint64{0x400000, 0x10000}, // GNU ld, Go
		AltStackToSP: 416,                         // uc_stack is at 144 of the frame, sp at 560
		PAC:          true,
		SystemCall: SystemCall{ // svc #0
			Insn: []byte("\x01\x00\x00\xd4"), Number: 8, Args: [4]Reg{0, 1, 2, 3}, Result: NoReg,
			Futex: 98, Restart: 128,
		},
		NewThread: NewThread{Result: 0, Calls: []uint64{220, 435}}, // x0
		// With 48-bit addresses a signature has bits 48-54 and, without tags,
		// 56-63; bit 55 selects the half of the address space.
		PACMask:    0xff7f_0000_0000_0000,
		EndsInCall: aarch64EndsInCall, CallTarget: aarch64CallTarget, Jump: aarch64Jump, InsnAlign: 4,
		Slot: aarch64Slot,
	}
}

// SP is at struct rt_sigframe: siginfo (128), then the ucontext with its
// mcontext at 176, whose x0 is at 8 [linux arch/arm64/kernel/signal.c].
var aarch64Signal = Row{
	CFA: AtReg(aarch64SP, 560), RA: AtReg(aarch64SP, 568), FP: AtReg(aarch64SP, 312+8*int64(aarch64FP)),
	Extra:  stored(aarch64SP, run(32, 312)),
	Signal: true,
}

// BL, BLR and the authenticating BLRAA family [Arm ARM, C6.2].
func aarch64EndsInCall(code []byte) bool {
	if len(code) < 4 {
		return false
	}
	insn := binary.LittleEndian.Uint32(code[len(code)-4:])
	return insn>>26 == 0b100101 || // BL
		insn&0xffff_fc1f == 0xd63f_0000 || // BLR
		insn&0xfeff_f800 == 0xd63f_0800 // BLRAA, BLRAB, BLRAAZ, BLRABZ
}
