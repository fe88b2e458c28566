package core

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxTrap bounds the instructions that trap with pc behind them, in bytes:
	// those of s390x.
	maxTrap = 6

	int3 = 0xcc // [Intel SDM 2A, INT3]
)

// Trapped reports whether the pc of th is behind the instruction that it was
// executing, by the signal and the instructions, which code reads. Some leave it there when they trap: int3 on amd64, those that raise
// SIGILL and SIGFPE on s390x. They may be the last of a function, and what follows
// is another.
func (i *Image) Trapped(th *Thread, code memreader.Reader) bool {
	pc, ok := th.Regs.Get(i.Arch.PC)
	s := i.Signal
	if !ok || s == nil || s.Thread != th.ID {
		return false
	}
	switch s.Name {
	case "SIGILL", "SIGFPE":
		return s.HasAddress && s.Address-(pc-maxTrap) < maxTrap
	case "SIGTRAP":
		words := memreader.Words{R: code}
		insn, err := words.Bytes(pc-1, 1)
		return i.Arch == arch.AMD64 && s.CodeName == "SI_KERNEL" && err == nil && insn[0] == int3
	}
	return false
}
