package disasm

import "github.com/sfcore/sfcore/arch"

// Next is where the code continues after an instruction.
type Next uint8

// Where code continues.
const (
	Nowhere Next = iota // or unknown
	Through             // at the next instruction
	Call                // at the next instruction, if what is called returns
	System              // at the next instruction, if the system call returns
	Branch              // at the next instruction or at Target
	Jump                // at Target
	Return              // in the caller
	Halt                // nowhere: HLT of amd64, which stands behind calls that do not return
	Exit                // nowhere: the system ends the thread
)

// Flow is what an instruction does to the frame of its function.
type Flow struct {
	Next   Next
	Size   int    // bytes of the instruction
	Target uint64 // of a direct Call, Branch or Jump
	// Entry is set for an instruction that only begins functions (ENDBR64, PACIASP).
	Entry bool
	// Leaves is set if SP is loaded from a register other than FP.
	Leaves bool
	// SP, FP and the link register, if there is one, have these values afterwards,
	// in terms of SP and FP before; Undefined if unknown.
	SP, FP, LR arch.Rule
	// Moves are registers that are stored in memory or loaded from there.
	Moves [2]Move
}

// Move says where registers are stored or loaded from. The zero Move stands for no
// move.
type Move struct {
	First arch.Reg
	Num   uint8 // how many, one after the other: 8 bytes each
	Load  bool
	// At is the address of the first, in terms of SP and FP before the instruction,
	// even if the instruction changes them. If At is Undefined, the loaded value
	// may be anything.
	At arch.Rule
}

// FlowOf says what the instruction at address pc does, which code begins with.
// [MaxSize] bytes of code are enough. An unknown instruction leads nowhere.
func FlowOf(a *arch.Arch, code []byte, pc uint64) Flow {
	return machineOf(a).flow(a, code, pc)
}

// unchanged is the Flow of an instruction that changes no register, and leads
// nowhere.
func unchanged(a *arch.Arch) Flow {
	return Flow{SP: arch.SameValue(a.SP), FP: arch.SameValue(a.FP), LR: arch.SameValue(a.LR)}
}

// set notes the new value of a register, if the register is followed.
func (f *Flow) set(a *arch.Arch, reg arch.Reg, r arch.Rule) {
	switch reg {
	case a.SP:
		f.SP = r
	case a.FP:
		f.FP = r
	case a.LR:
		f.LR = r
	default:
	}
}

// store notes that consecutive registers are stored, load that they are loaded. An
// Undefined address is not on the stack.
func (f *Flow) store(first arch.Reg, num uint8, at arch.Rule) {
	if at.Base != arch.Undefined {
		f.move(Move{First: first, Num: num, At: at})
	}
}

func (f *Flow) load(a *arch.Arch, first arch.Reg, num uint8, at arch.Rule) {
	for i := range num {
		from := at
		from.Off += 8 * int64(i)
		from.Deref = at.Base != arch.Undefined
		f.set(a, first+arch.Reg(i), from)
	}
	f.move(Move{First: first, Num: num, Load: true, At: at})
}

func (f *Flow) move(m Move) {
	if f.Moves[0].Num == 0 {
		f.Moves[0] = m
	} else {
		f.Moves[1] = m
	}
}

// stackRule returns the rule for a register with an offset, if it is SP or FP.
func stackRule(a *arch.Arch, reg arch.Reg, off int64) arch.Rule {
	if reg != a.SP && reg != a.FP {
		return arch.Rule{}
	}
	return arch.RegOffset(reg, off)
}

// sext returns the low bits of v, as a signed number.
func sext(v uint32, bits int) int64 { return int64(uint64(v)<<(64-bits)) >> (64 - bits) }
