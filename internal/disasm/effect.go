package disasm

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/arch/x86/x86asm"

	"github.com/sfcore/sfcore/arch"
)

// Effect is what an instruction may fail at.
type Effect struct {
	// Operands are those in memory, also of PUSH, CALL, POP and RET, which do not write
	// them out. It is nil if they are not known.
	Operands []Operand
	// Divides is set for a division of integers. What it divides by is in Divisor, or in
	// the one operand if that is arch.NoReg; it has DivisorSize bytes.
	Divides     bool
	Divisor     arch.Reg
	DivisorSize int
	// Leads is Call, Jump or Return for instructions that lead to an address which is in
	// Target or, if that is arch.NoReg, in the last operand (known of amd64).
	Leads  Next
	Target arch.Reg
	// Privileged is set if only the kernel may use the instruction, and Undefined if it is
	// one that is meant to fail: UD2 and the like.
	Privileged, Undefined bool
}

// Pointer returns the operand that has the address to which an instruction leads.
func (e *Effect) Pointer() (*Operand, bool) {
	if len(e.Operands) == 0 || e.Operands[len(e.Operands)-1].Implied {
		return nil, false
	}
	return &e.Operands[len(e.Operands)-1], true
}

// Operand is an operand in memory, at Base + Scale*Index + Disp.
type Operand struct {
	Base, Index arch.Reg // NoReg for none
	Scale, Disp uint64
	Size        int // in bytes; 0 if unknown
	// Write is set if the instruction writes it, and Read if it reads it.
	Write, Read bool
	// Aligned is what the address must be a multiple of; 0 for anything.
	Aligned uint64
	// Implied is set if SP is moved to it: by PUSH and CALL.
	Implied bool
}

// Address returns the address of the operand, if the registers are known.
func (o *Operand) Address(regs *arch.Regs) (uint64, bool) {
	addr := o.Disp
	for _, part := range []struct {
		reg   arch.Reg
		scale uint64
	}{{o.Base, 1}, {o.Index, o.Scale}} {
		if part.reg == arch.NoReg {
			continue
		}
		v, ok := regs.Get(part.reg)
		if !ok {
			return 0, false
		}
		addr += v * part.scale
	}
	return addr, true
}

// EffectOf says what the instruction at address pc may fail at, which code begins with.
func EffectOf(a *arch.Arch, code []byte, pc uint64) Effect {
	if len(code) == 0 {
		return Effect{}
	}
	return machineOf(a).effect(a, code, pc)
}

// Instructions by what they do with their first operand.
var (
	amd64Writes = map[x86asm.Op]bool{ // without reading it
		x86asm.MOV: true, x86asm.MOVSB: true, x86asm.MOVSW: true, x86asm.MOVSD: true, x86asm.MOVSQ: true, x86asm.STOSB: true, x86asm.STOSW: true,
		x86asm.STOSD: true, x86asm.STOSQ: true, x86asm.MOVAPS: true, x86asm.MOVAPD: true, x86asm.MOVUPS: true, x86asm.MOVUPD: true, x86asm.MOVDQA: true,
		x86asm.MOVDQU: true, x86asm.MOVNTDQ: true, x86asm.MOVNTPS: true, x86asm.MOVNTPD: true, x86asm.MOVSS: true, x86asm.MOVSD_XMM: true, x86asm.MOVQ: true, x86asm.MOVD: true,
	}
	amd64Changes = map[x86asm.Op]bool{
		x86asm.ADD: true, x86asm.SUB: true, x86asm.AND: true, x86asm.OR: true, x86asm.XOR: true, x86asm.INC: true, x86asm.DEC: true, x86asm.NEG: true,
		x86asm.NOT: true, x86asm.XCHG: true, x86asm.XADD: true, x86asm.CMPXCHG: true, x86asm.ADC: true, x86asm.SBB: true, x86asm.SHL: true, x86asm.SHR: true, x86asm.SAR: true,
	}
	// amd64Aligned need memory at a multiple of 16 [Intel SDM 2A, table 2-21: type 1].
	amd64Aligned = map[x86asm.Op]bool{
		x86asm.MOVAPS: true, x86asm.MOVAPD: true, x86asm.MOVDQA: true, x86asm.MOVNTDQ: true, x86asm.MOVNTPS: true, x86asm.MOVNTPD: true,
	}
	amd64Privileged = map[x86asm.Op]bool{
		x86asm.HLT: true, x86asm.CLI: true, x86asm.STI: true, x86asm.RDMSR: true, x86asm.WRMSR: true, x86asm.LGDT: true, x86asm.LIDT: true, x86asm.LLDT: true,
		x86asm.LTR: true, x86asm.INVD: true, x86asm.WBINVD: true, x86asm.INVLPG: true, x86asm.CLTS: true, x86asm.IN: true, x86asm.OUT: true,
	}
)

func effectAMD64(a *arch.Arch, code []byte, pc uint64) (e Effect) {
	if decodeVector(code).size > 0 {
		return e
	}
	inst, err := instAMD64(code)
	if err != nil || inst.Op == 0 || inst.Len <= 0 || inst.AddrSize != 64 {
		return e
	}
	e.Privileged = amd64Privileged[inst.Op]
	e.Undefined = inst.Op == x86asm.UD0 || inst.Op == x86asm.UD1 || inst.Op == x86asm.UD2
	switch inst.Op {
	case x86asm.DIV, x86asm.IDIV:
		e.Divides, e.Divisor, e.DivisorSize = true, arch.NoReg, inst.MemBytes
		if reg, ok := inst.Args[0].(x86asm.Reg); ok {
			e.Divisor, e.DivisorSize = amd64Part(reg)
			if e.Divisor == arch.NoReg {
				e.Divides = false
			}
		}
	case x86asm.PUSH, x86asm.CALL:
		e.Operands = append(e.Operands, Operand{Base: a.SP, Index: arch.NoReg, Disp: ^uint64(7), Size: 8, Write: true, Implied: true})
	case x86asm.POP, x86asm.RET:
		e.Operands = append(e.Operands, Operand{Base: a.SP, Index: arch.NoReg, Size: 8, Read: true})
	case x86asm.LEA, x86asm.NOP:
		return e
	default:
	}
	e.Leads, e.Target = amd64Leads(&inst)
	for i, arg := range inst.Args {
		mem, ok := arg.(x86asm.Mem)
		if !ok {
			continue
		}
		o := Operand{Base: arch.NoReg, Index: arch.NoReg, Scale: uint64(mem.Scale), Disp: uint64(mem.Disp), Size: inst.MemBytes, Read: true}
		if i == 0 {
			o.Write = amd64Writes[inst.Op] || amd64Changes[inst.Op]
			o.Read = !amd64Writes[inst.Op]
		}
		if amd64Aligned[inst.Op] {
			o.Aligned = 16
		}
		switch {
		case mem.Segment == x86asm.FS || mem.Segment == x86asm.GS:
			continue // whose address is not in a register
		case mem.Base == x86asm.RIP:
			o.Disp += pc + uint64(inst.Len)
		case mem.Base != 0:
			if o.Base = amd64Reg(mem.Base); o.Base == arch.NoReg {
				continue
			}
		}
		if mem.Index != 0 {
			if o.Index = amd64Reg(mem.Index); o.Index == arch.NoReg {
				continue
			}
		}
		e.Operands = append(e.Operands, o)
	}
	return e
}

func amd64Leads(inst *x86asm.Inst) (Next, arch.Reg) {
	lead := map[x86asm.Op]Next{x86asm.CALL: Call, x86asm.JMP: Jump, x86asm.RET: Return}[inst.Op]
	switch to := inst.Args[0].(type) {
	case x86asm.Rel:
		return Nowhere, arch.NoReg
	case x86asm.Reg:
		return lead, amd64Reg(to)
	}
	return lead, arch.NoReg
}

// amd64Part returns the register that a register is the low part of, and the size of the
// part; NoReg for AH and the like.
func amd64Part(reg x86asm.Reg) (arch.Reg, int) {
	switch {
	case reg >= x86asm.AL && reg <= x86asm.BL:
		return amd64Reg(reg - x86asm.AL + x86asm.RAX), 1
	case reg >= x86asm.SPB && reg <= x86asm.R15B:
		return amd64Reg(reg - x86asm.SPB + x86asm.RSP), 1
	case reg >= x86asm.AX && reg <= x86asm.R15W:
		return amd64Reg(reg - x86asm.AX + x86asm.RAX), 2
	case reg >= x86asm.EAX && reg <= x86asm.R15L:
		return amd64Reg(reg - x86asm.EAX + x86asm.RAX), 4
	case reg >= x86asm.RAX && reg <= x86asm.R15:
		return amd64Reg(reg), 8
	}
	return arch.NoReg, 0
}

// The operands in memory of the others, as GNU syntax writes them: "ldr x0, [x1,#8]",
// "lg %r1,8(%r2)". Operands with an index are left out.
var (
	aarch64Memory = expression(`^(ldr|ldur|str|stur|ldrb|strb|ldrh|strh|ldrsw|ldp|stp)\s.*\[(x\d+|sp)(?:, ?#(-?(?:0x)?[0-9a-f]+))?\]$`)
	s390xMemory   = expression(`^(lg|l|lgf|lgh|llgc|llgh|llgf|lmg|stg|st|sth|stc|stmg|mvi|mvhi|mvghi)\s.*?(-?\d+)\(%r(\d+)\)`)
)

// expression returns a regular expression that is compiled when it is first used, not
// whenever a program starts.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

func effectAArch64(a *arch.Arch, code []byte, pc uint64) Effect {
	text := decodeAArch64(code, pc, noNames).Text
	if strings.HasPrefix(text, "udf") || len(code) >= 4 && code[2] == 0 && code[3] == 0 { // UDF #imm16 [Arm ARM, C6.2]
		return Effect{Undefined: true}
	}
	m := aarch64Memory().FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		return Effect{}
	}
	disp, err := strconv.ParseInt(m[3], 0, 64)
	if m[3] != "" && err != nil {
		return Effect{}
	}
	base := a.SP
	if m[2] != "sp" {
		n, _ := strconv.Atoi(m[2][1:])
		base = arch.Reg(n)
	}
	return memory(base, disp, m[1][0] == 's')
}

func effectS390X(_ *arch.Arch, code []byte, pc uint64) Effect {
	text := decodeS390X(code, pc, noNames).Text
	m := s390xMemory().FindStringSubmatch(text)
	if m == nil {
		return Effect{}
	}
	disp, err := strconv.ParseInt(m[2], 10, 64)
	n, _ := strconv.Atoi(m[3])
	if err != nil || n > 15 {
		return Effect{}
	}
	base := arch.Reg(n)
	if n == 0 { // no base
		base = arch.NoReg
	}
	return memory(base, disp, m[1][0] != 'l')
}

func memory(base arch.Reg, disp int64, write bool) Effect {
	return Effect{Operands: []Operand{{Base: base, Index: arch.NoReg, Disp: uint64(disp), Write: write, Read: !write}}}
}
