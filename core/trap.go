package core

import (
	"bytes"

	"github.com/sfcore/sfcore/memreader"
)

// maxTrap bounds the instructions that trap with pc behind them, in bytes:
// those of s390x.
const maxTrap = 6

// Trapped reports whether the pc of th is behind the instruction that it was
// executing, by the signal and the instructions, which code reads. Some
// instructions leave pc there when they trap: breakpoints, where the architecture
// says so, and on s390x those that raise SIGILL and SIGFPE. Such an instruction may
// be the last of a function, and another function may follow it.
func (i *Image) Trapped(th *Thread, code memreader.Reader) bool {
	pc, ok := th.Regs.Get(i.Arch.PC)
	s := i.Signal
	if !ok || s == nil || s.Thread != th.ID || pc%i.Arch.InsnAlign != 0 { // a jump to an odd address is a SIGILL too
		return false
	}
	switch s.Name {
	case "SIGILL", "SIGFPE":
		return s.HasAddress && s.Address-(pc-maxTrap) < maxTrap
	case "SIGTRAP":
		words, breakpoint := memreader.Words{R: code}, i.Arch.Breakpoint
		insn, err := words.Bytes(pc-uint64(len(breakpoint)), len(breakpoint))
		return breakpoint != nil && s.CodeName == "SI_KERNEL" && err == nil && bytes.Equal(insn, breakpoint)
	}
	return false
}
