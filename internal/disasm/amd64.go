package disasm

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/sfcore/sfcore/arch"
)

func flowAMD64(a *arch.Arch, code []byte, pc uint64) Flow {
	f := unchanged(a)
	f.amd64(a, code, pc)
	return f
}

func (f *Flow) amd64(a *arch.Arch, code []byte, pc uint64) {
	if len(code) >= len(endbr64) && string(code[:len(endbr64)]) == endbr64 {
		f.Next, f.Size, f.Entry = Through, len(endbr64), true
		return
	}
	if v := decodeVector(code); v.size > 0 {
		f.Next, f.Size = Through, v.size
		if v.fp {
			f.FP = arch.Rule{}
		}
		return
	}
	inst, err := instAMD64(code)
	if err != nil || inst.Op == 0 || inst.Len <= 0 {
		return
	}
	f.Next, f.Size = Through, inst.Len
	to := inst.Args[0]
	rel, direct := to.(x86asm.Rel)
	f.Target = pc + uint64(inst.Len) + uint64(int64(rel))
	switch inst.Op {
	case x86asm.RET:
		f.Next = Return
	case x86asm.CALL:
		f.Next = Call
	case x86asm.JMP:
		f.Next = Jump
		if !direct {
			f.Next = Nowhere
		}
	case x86asm.CMP, x86asm.TEST:
	case x86asm.HLT:
		f.Next = Halt
	case x86asm.SYSCALL:
		f.Next = System
	case x86asm.UD0, x86asm.UD1, x86asm.UD2, x86asm.INT, x86asm.INTO, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ,
		x86asm.LCALL, x86asm.LJMP, x86asm.LRET, x86asm.SYSEXIT, x86asm.SYSRET, x86asm.ENTER:
		f.Next = Nowhere
	case x86asm.PUSH:
		f.SP = arch.RegOffset(a.SP, -8)
		if reg := amd64Reg(to); reg != arch.NoReg {
			f.store(reg, 1, f.SP)
		}
		if inst.MemBytes == 2 || inst.DataSize == 16 {
			f.SP = arch.Rule{}
		}
	case x86asm.POP:
		reg := amd64Reg(to)
		_, toMemory := to.(x86asm.Mem)
		switch {
		case inst.MemBytes == 2 || inst.DataSize == 16 || reg == a.SP || reg == arch.NoReg && !toMemory:
			f.SP = arch.Rule{}
			return
		case !toMemory:
			f.load(a, reg, 1, arch.RegOffset(a.SP, 0))
		}
		f.SP = arch.RegOffset(a.SP, 8)
	case x86asm.PUSHFQ:
		f.SP = arch.RegOffset(a.SP, -8)
	case x86asm.POPFQ:
		f.SP = arch.RegOffset(a.SP, 8)
	case x86asm.LEAVE:
		f.SP = arch.RegOffset(a.FP, 8)
		f.load(a, a.FP, 1, arch.RegOffset(a.FP, 0))
	default:
		if direct {
			f.Next = Branch
		}
		if changes(inst, amd64SP) {
			f.SP = amd64Value(a, inst, a.SP)
			f.Leaves = inst.Op == x86asm.MOV && f.SP.Base == arch.Undefined && to == x86asm.RSP && amd64Reg(inst.Args[1]) != arch.NoReg
		}
		if changes(inst, amd64FP) {
			f.FP = amd64Value(a, inst, a.FP)
		}
		if inst.Op == x86asm.MOV {
			f.amd64Move(a, inst)
		}
	}
}

// amd64Move notes what a MOV stores on the stack, or loads from there.
func (f *Flow) amd64Move(a *arch.Arch, inst x86asm.Inst) {
	if mem, ok := inst.Args[0].(x86asm.Mem); ok {
		if reg := amd64Reg(inst.Args[1]); reg != arch.NoReg {
			f.store(reg, 1, amd64Stack(a, mem))
		}
		return
	}
	mem, ok := inst.Args[1].(x86asm.Mem)
	if reg := amd64Reg(inst.Args[0]); ok && reg != arch.NoReg && reg != a.SP {
		f.load(a, reg, 1, amd64Stack(a, mem))
	}
}

// amd64Stack returns the rule for the address of a memory operand, if it depends
// only on SP or FP.
func amd64Stack(a *arch.Arch, mem x86asm.Mem) arch.Rule {
	if mem.Segment != 0 || mem.Index != 0 {
		return arch.Rule{}
	}
	return stackRule(a, amd64Reg(mem.Base), mem.Disp)
}

// The names of SP and FP, of any size.
var (
	amd64SP = []x86asm.Reg{x86asm.RSP, x86asm.ESP, x86asm.SP, x86asm.SPB}
	amd64FP = []x86asm.Reg{x86asm.RBP, x86asm.EBP, x86asm.BP, x86asm.BPB}
)

// changes reports whether an instruction may change a register: it is the first
// argument, or the second of an exchange.
func changes(inst x86asm.Inst, reg []x86asm.Reg) bool {
	for i, arg := range inst.Args[:2] {
		for _, r := range reg {
			if arg == r && (i == 0 || inst.Op == x86asm.XCHG || inst.Op == x86asm.XADD || inst.Op == x86asm.CMPXCHG) {
				return true
			}
		}
	}
	return false
}

// amd64Value returns the rule for the value that an instruction gives SP or FP.
func amd64Value(a *arch.Arch, inst x86asm.Inst, to arch.Reg) arch.Rule {
	if amd64Reg(inst.Args[0]) != to {
		return arch.Rule{} // a part of it
	}
	op := inst.Op
	switch from := inst.Args[1].(type) {
	case x86asm.Imm:
		switch op {
		case x86asm.ADD:
			return arch.RegOffset(to, int64(from))
		case x86asm.SUB:
			return arch.RegOffset(to, -int64(from))
		default: // and such: unknown
		}
	case x86asm.Mem:
		if op == x86asm.LEA {
			return amd64Stack(a, from)
		}
	case x86asm.Reg:
		if base := amd64Reg(from); op == x86asm.MOV && (base == a.SP || base == a.FP) {
			return arch.RegOffset(base, 0)
		}
	}
	return arch.Rule{}
}

// amd64Reg returns the register that an argument is, NoReg if it is not a 64-bit
// register.
func amd64Reg(arg x86asm.Arg) arch.Reg {
	reg, ok := arg.(x86asm.Reg)
	if !ok || reg < x86asm.RAX || reg > x86asm.R15 {
		return arch.NoReg
	}
	// x86asm goes by encoding: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 and on
	// [System V psABI, figure 3.36].
	if n := reg - x86asm.RAX; n < 8 {
		return [...]arch.Reg{0, 2, 1, 3, 7, 6, 4, 5}[n]
	}
	return arch.Reg(reg - x86asm.RAX)
}

// instAMD64 decodes an instruction. x86asm does not extend the sign of displacements of 32
// bits; addresses of 32 bits have none, and those of moffs have 64 bits [Intel SDM 2.2.1].
func instAMD64(code []byte) (x86asm.Inst, error) {
	inst, err := x86asm.Decode(code[:min(len(code), MaxSize)], 64)
	moffs := inst.Opcode>>24&^3 == 0xa0 // MOV between the accumulator and an address
	if inst.AddrSize != 64 || moffs {
		return inst, err
	}
	for i, arg := range inst.Args {
		if mem, ok := arg.(x86asm.Mem); ok && mem.Disp == int64(uint32(mem.Disp)) {
			mem.Disp = int64(int32(mem.Disp))
			inst.Args[i] = mem
		}
	}
	return inst, err
}
