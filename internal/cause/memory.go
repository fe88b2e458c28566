package cause

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/disasm"
)

// nullPages is the size of the range from address 0 that kernels keep unmapped.
const nullPages = 1 << 16

// address returns the address of a fault.
func (f *Facts) address() (uint64, bool) {
	return f.Signal.Address, f.Signal.HasAddress && (f.Signal.Name == "SIGSEGV" || f.Signal.Name == "SIGBUS")
}

// accessed returns the operand that the fault was at, and the address; nil if none is known.
func (f *Facts) accessed() (*disasm.Operand, uint64) {
	at, ok := f.address()
	if !ok {
		return nil, 0
	}
	for i := range f.Effect.Operands {
		o := &f.Effect.Operands[i]
		addr, known := o.Address(f.Regs)
		switch {
		case !known:
			return nil, 0
		case f.Arch.FaultsByPage && at == addr&^0xfff:
			return o, addr
		case !f.Arch.FaultsByPage && at-addr < uint64(max(o.Size, 16)):
			return o, at
		}
	}
	return nil, 0
}

// registers says what the registers of an operand hold.
func (f *Facts) registers(o *disasm.Operand) string {
	var parts []string
	for _, reg := range []arch.Reg{o.Base, o.Index} {
		if v, ok := f.Regs.Get(reg); ok && reg != arch.NoReg {
			parts = append(parts, fmt.Sprintf("%s is %#x", f.Arch.RegName(reg), v))
		}
	}
	return strings.Join(parts, ", ")
}

func (f *Facts) evidence(o *disasm.Operand) []string {
	if where := f.registers(o); where != "" {
		return []string{"the instruction at the pc is " + f.Text, where}
	}
	return []string{"the instruction at the pc is " + f.Text}
}

// badPC is for calls and jumps to what is no code.
func badPC(f *Facts) *Cause {
	pc, ok := f.pc()
	if at, fault := f.address(); !ok || !fault || at != pc || f.Text != "" && f.PC != nil && f.PC.Exec {
		return nil
	}
	c := &Cause{Evidence: []string{fmt.Sprintf("the pc is %#x", pc)}}
	switch {
	case f.PC == nil && f.Signal.CodeName == "SEGV_MAPERR":
		c.Kind, c.Text = "bad-call", fmt.Sprintf("a call to %#x, where nothing is mapped", pc)
	case f.PC != nil && !f.PC.Exec && f.Signal.CodeName == "SEGV_ACCERR":
		c.Kind, c.Text = "data-call", fmt.Sprintf("a call to %#x, which is data and not code%s", pc, pathOf(f.PC))
	default:
		return nil
	}
	switch {
	case !f.Called: // by a return, perhaps, through a stack that was written over
		c.Kind, c.Text = "bad-pc", strings.Replace(c.Text, "a call to", "a call, jump or return to", 1)
	case pc == 0:
		c.Kind, c.Text = "null-call", "a call through a null pointer"
		fallthrough
	default:
		c.Evidence = append(c.Evidence, "the return address follows a call through a pointer")
		if f.CalledFreed != "" {
			c.Kind, c.Text = "use-after-free", fmt.Sprintf("a call to %#x", pc)+throughFreed
			c.Evidence = append(c.Evidence, f.CalledFreed)
		}
	}
	return c
}

func pathOf(m *core.Mapping) string {
	if m == nil || m.Path == "" {
		return ""
	}
	return " (" + m.Path + ")"
}

// privileged is for instructions that belong to the kernel.
func privileged(f *Facts) *Cause {
	if f.is("SIGSEGV", "SI_KERNEL") && f.Effect.Privileged {
		return &Cause{"privileged", "the program executed " + f.Text + ", which only the kernel may", []string{"the instruction at the pc is " + f.Text}}
	}
	return nil
}

// canonical reports whether an address of amd64 can be one, with 57 bits [Intel SDM 1, 3.3.7.1].
func canonical(addr uint64) bool { return int64(addr<<7)>>7 == int64(addr) }

// badTarget is for calls, jumps and returns to what the processor refuses as an address.
// The pc is still at the instruction.
func badTarget(f *Facts) *Cause {
	e := &f.Effect
	if !f.is("SIGSEGV", "SI_KERNEL") || !f.Arch.HidesAddress || e.Leads == disasm.Nowhere {
		return nil
	}
	for i := range e.Operands {
		if addr, ok := e.Operands[i].Address(f.Regs); !ok || !canonical(addr) {
			return nil
		}
	}
	target, ok := f.Regs.Get(e.Target)
	at := uint64(0) // where the target is
	if e.Target == arch.NoReg {
		o, known := e.Pointer()
		if !known {
			return nil
		}
		at, _ = o.Address(f.Regs)
		target, ok = f.Load(at, 8)
	}
	if !ok || canonical(target) {
		return nil
	}
	c := &Cause{Kind: "bad-call", Text: fmt.Sprintf("a call to %#x", target), Evidence: []string{"the instruction at the pc is " + f.Text}}
	if e.Leads == disasm.Jump {
		c.Text = fmt.Sprintf("a jump to %#x", target)
	}
	where, freed := "", false
	switch {
	case e.Leads == disasm.Return:
		return &Cause{
			"bad-return", fmt.Sprintf("a return to %#x, which no pointer can be: the stack has it in place of a return address", target),
			append(c.Evidence, fmt.Sprintf("at %#x is %#x", at, target)),
		}
	case e.Target == arch.NoReg:
		if f.InFreed != nil {
			where, freed = f.InFreed(at)
		}
		if freed {
			where = ", " + where + ","
		}
		c.Evidence = append(c.Evidence, fmt.Sprintf("at %#x%s is %#x", at, where, target))
	default:
		c.Evidence = append(c.Evidence, fmt.Sprintf("%s is %#x", f.Arch.RegName(e.Target), target))
		if f.Freed != nil {
			if where, freed = f.Freed(e.Target); freed {
				c.Evidence = append(c.Evidence, where)
			}
		}
	}
	if !freed {
		c.Text += ", which no pointer can be"
		return c
	}
	c.Kind, c.Text = "use-after-free", c.Text+throughFreed
	return c
}

// throughFreed is what is said of pointers that a block had which malloc has as free.
const throughFreed = " through a pointer that was read from memory that malloc has as free"

// nonCanonical is for addresses that the processor refuses. Which it was is not told, so all
// operands are looked at.
func nonCanonical(f *Facts) *Cause {
	if !f.is("SIGSEGV", "SI_KERNEL") || !f.Arch.HidesAddress || f.Effect.Privileged {
		return nil
	}
	for i := range f.Effect.Operands {
		o := &f.Effect.Operands[i]
		addr, ok := o.Address(f.Regs)
		if ok && !canonical(addr) {
			return &Cause{"non-canonical", fmt.Sprintf("an access to %#x, which no pointer can be", addr), f.evidence(o)}
		}
	}
	return nil
}

// misaligned is for operands that have to be aligned.
func misaligned(f *Facts) *Cause {
	if f.is("SIGBUS", "BUS_ADRALN") {
		return &Cause{"misaligned", fmt.Sprintf("a misaligned access to %#x", f.Signal.Address), []string{"the code of the signal is BUS_ADRALN"}}
	}
	if !f.is("SIGSEGV", "SI_KERNEL") || !f.Arch.HidesAddress {
		return nil
	}
	for i := range f.Effect.Operands {
		o := &f.Effect.Operands[i]
		addr, ok := o.Address(f.Regs)
		if ok && o.Aligned > 1 && addr%o.Aligned != 0 && canonical(addr) {
			return &Cause{"misaligned", fmt.Sprintf("an access to %#x, which has to be a multiple of %d", addr, o.Aligned), f.evidence(o)}
		}
	}
	return nil
}

// stackOverflow is for accesses through SP where the stack has no more room: below the
// mapping that SP has left, or is about to leave.
func stackOverflow(f *Facts) *Cause {
	sp, ok := f.sp()
	o, at := f.accessed()
	if !ok || o == nil || o.Base != f.Arch.SP && o.Base != f.Arch.FP {
		return nil
	}
	stack := f.Above
	switch {
	case f.SP != nil && !f.sameAsSP() && at < f.SP.Lo && o.Implied && sp-f.SP.Lo < 16: // SP is at the lowest byte
		stack = f.SP
	case f.SP == nil || f.Guarded && f.sameAsSP(): // SP has left the stack
	default:
		return nil
	}
	if stack == nil || stack.Exec || at >= stack.Lo || stack.Lo-at > guardSize || f.framesIn(stack) < leastFrames {
		return nil
	}
	evidence := f.evidence(o)
	if o.Base != f.Arch.SP {
		evidence = append(evidence, fmt.Sprintf("%s is %#x", f.Arch.RegName(f.Arch.SP), sp))
	}
	return &Cause{
		"stack-overflow", fmt.Sprintf("the stack is full: an access to %#x, below the stack, which begins at %#x", at, stack.Lo),
		append(evidence, fmt.Sprintf("at least %d frames are in this stack", f.framesIn(stack))),
	}
}

// framesIn returns how many frames of the thread are known to be in a mapping.
func (f *Facts) framesIn(m *core.Mapping) (n int) {
	for _, cfa := range f.CFAs {
		if m.Contains(cfa) {
			n++
		}
	}
	return n
}

// leastFrames is how many frames show that memory is a stack.
const leastFrames = 2

func (f *Facts) sameAsSP() bool { return f.At != nil && f.SP == f.At }

// guardSize is how far below a stack an access counts as one to the stack: the gap that the
// kernel keeps below it [linux Documentation/admin-guide/kernel-parameters.txt:
// stack_guard_gap].
const guardSize = 1 << 20

// nullPointer is for accesses near address 0. They are through a null pointer if the base
// register is zero.
func nullPointer(f *Facts) *Cause {
	o, at := f.accessed()
	if o == nil || at >= nullPages || f.At != nil {
		return nil
	}
	base, known := f.Regs.Get(o.Base)
	switch {
	case !known:
		return nil
	case o.Index != arch.NoReg && o.Scale == 1 && at != o.Disp: // either may be the pointer
		return nil
	case base == 0 && (o.Index == arch.NoReg || at == o.Disp):
		return &Cause{"null-access", fmt.Sprintf("an access through a null pointer, at offset %#x", at), f.evidence(o)}
	case base == 0:
		return &Cause{"null-access", fmt.Sprintf("an access through a null pointer, with an index, to %#x", at), f.evidence(o)}
	}
	return &Cause{"bad-pointer", fmt.Sprintf("an access to %#x through a pointer that is %#x, and not null", at, base), f.evidence(o)}
}

// pastFile is for mappings that are longer than their file. The kernel says the same where
// a file system is full or fails.
func pastFile(f *Facts) *Cause {
	if !f.is("SIGBUS", "BUS_ADRERR") {
		return nil
	}
	return &Cause{"past-file", fmt.Sprintf("an access to %#x, for which the mapped file has no bytes, or the kernel could not get them%s", f.Signal.Address, pathOf(f.At)), []string{"the code of the signal is BUS_ADRERR"}}
}

// forbidden is for memory that is mapped and does not allow the access.
func forbidden(f *Facts) *Cause {
	o, at := f.accessed()
	if !f.is("SIGSEGV", "SEGV_ACCERR") || o == nil || o.Read == o.Write {
		return nil
	}
	if o.Write {
		return &Cause{"read-only", fmt.Sprintf("a write to %#x, which may not be written%s", at, pathOf(f.At)), f.evidence(o)}
	}
	return &Cause{"no-access", fmt.Sprintf("a read of %#x, which may not be read%s", at, pathOf(f.At)), f.evidence(o)}
}
