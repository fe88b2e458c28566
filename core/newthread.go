package core

import (
	"slices"

	"github.com/sfcore/sfcore/memreader"
)

// Begins reports whether a thread has executed no instruction yet, so that its one
// frame has no caller. code reads the instructions of the process. The first thread of a
// process may continue a stack of the process that made it.
func (i *Image) Begins(th *Thread, code memreader.Reader) bool {
	by := &i.Arch.NewThread
	result, ok := th.Regs.Get(by.Result)
	if th.ID == i.PID || by.Calls == nil || !ok || result != 0 {
		return false
	}
	if by.Number == 0 {
		return i.behindCall(th, code, by.Calls)
	}
	return len(th.PrStatus) >= by.Number+8 && slices.Contains(by.Calls, byteOrder(i.Arch).Uint64(th.PrStatus[by.Number:]))
}

// behindCall reports whether PC is behind the instruction of one of these system calls.
func (i *Image) behindCall(th *Thread, code memreader.Reader, calls []uint64) bool {
	size := uint64(len(i.Arch.SystemCall.Insn))
	pc, ok := th.Regs.Get(i.Arch.PC)
	if !ok || pc < size {
		return false
	}
	words := memreader.Words{R: code}
	insn, err := words.Bytes(pc-size, int(size))
	var c Call
	return err == nil && c.setNumber(i.Arch, insn, &th.Regs) && slices.Contains(calls, c.Number)
}
