package core

import (
	"bytes"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// Call is a system call that a thread is in.
type Call struct {
	Number uint64
	Args   [4]uint64 // the first four arguments, also if the call takes fewer
}

// InCall returns the system call in which a thread was when it was stopped, which it
// had neither finished nor left for a signal handler. It returns false if there is
// none, or if registers and instructions, which code reads, do not tell. Where the
// first argument and the result share a register, a call that has returned may look
// like one that has its result as the first argument.
func (i *Image) InCall(th *Thread, code memreader.Reader) (Call, bool) {
	by := &i.Arch.SystemCall
	c, ok := arguments(i.Arch, &th.Regs, th.PrStatus)
	if !ok {
		return Call{}, false
	}
	if by.NumberAt != 0 {
		c.Number = byteOrder(i.Arch).Uint64(th.PrStatus[by.NumberAt:])
		return c, true
	}
	pc, known := th.Regs.Get(i.Arch.PC)
	if !known || pc%i.Arch.InsnAlign != 0 {
		return Call{}, false
	}
	words := memreader.Words{R: code}
	for _, at := range []uint64{pc - uint64(len(by.Insn)), pc} { // qemu-user leaves PC behind the instruction on all architectures
		if insn, err := words.Bytes(at, len(by.Insn)); err == nil && c.setNumber(i.Arch, insn, &th.Regs) {
			return c, true
		}
	}
	return Call{}, false
}

// setNumber sets the number of a call by the instruction that enters the kernel, and
// reports whether insn is one.
func (c *Call) setNumber(a *arch.Arch, insn []byte, regs *arch.Regs) (ok bool) {
	by := &a.SystemCall
	last := len(insn) - 1
	if by.Immediate && insn[last] != 0 {
		c.Number = uint64(insn[last])
		return bytes.Equal(insn[:last], by.Insn[:last])
	}
	c.Number, ok = regs.Get(by.Number)
	return ok && bytes.Equal(insn, by.Insn)
}

// arguments returns the arguments that a thread has if it is in a system call, and
// whether it may be in one, by its registers and its struct elf_prstatus.
func arguments(a *arch.Arch, regs *arch.Regs, status []byte) (c Call, ok bool) {
	by := &a.SystemCall
	if by.Insn == nil || len(status) < max(by.NumberAt, by.FirstAt)+8 {
		return c, false
	}
	for n, reg := range by.Args {
		if c.Args[n], ok = regs.Get(reg); !ok {
			return c, false
		}
	}
	if by.Result == arch.NoReg {
		return c, true
	}
	result, _ := regs.Get(by.Result)
	interrupted := arch.Interrupted(result)
	if by.FirstAt == 0 {
		return c, interrupted
	}
	if interrupted {
		c.Args[0] = byteOrder(a).Uint64(status[by.FirstAt:])
	} // or qemu-user wrote the core: it changes no register before the call has returned
	return c, true
}
