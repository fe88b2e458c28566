package process

import (
	"fmt"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/report"
)

const (
	// nullPages is the size in bytes of the range from address 0 that the kernel
	// keeps unmapped by default. An access there counts as one through a null
	// pointer.
	nullPages = 1 << 16

	// guardSize is the size in bytes of the range below SP in which an access
	// counts as one to the stack. The kernel keeps a gap of 256 pages below a stack
	// that grows [Documentation/admin-guide/kernel-parameters.txt: stack_guard_gap].
	guardSize = 1 << 20
)

// meaning classifies what a signal by itself tells about the crash, and says it in a few
// words, which do not claim more. Both are "" if the signal tells nothing besides its name.
func (p *Process) meaning(s *core.Signal) (report.Fault, string) {
	switch {
	case s.HasSender && s.SenderPID == p.img.PID && s.Name == "SIGABRT":
		return report.FaultAbort, "the program sent itself the signal, as abort does"
	case s.HasSender && s.SenderPID == p.img.PID:
		return report.FaultSelf, "the program sent itself the signal"
	case s.HasSender:
		return report.FaultSent, fmt.Sprintf("sent by process %d of user %d", s.SenderPID, s.SenderUID)
	case s.HasAddress && (s.Name == "SIGSEGV" || s.Name == "SIGBUS"):
		return p.meaningOfAccess(s)
	case s.Name == "SIGSEGV" && s.CodeName == "SI_KERNEL" && p.img.Arch.HidesAddress:
		return report.FaultNonCanonical, "the processor refused the instruction, most often because it used a non-canonical address, which no pointer can have"
	case s.CodeName == "FPE_INTDIV":
		return report.FaultDivision, "an integer was divided by zero, or the quotient did not fit"
	case s.Name == "SIGTRAP" && s.CodeName == "SI_KERNEL":
		return report.FaultBreakpoint, "a breakpoint instruction, which programs also use to abort"
	case s.Name == "SIGILL" && p.crashedAt(s)%p.img.Arch.InsnAlign != 0:
		return report.FaultBadCall, fmt.Sprintf("a call, jump or return to %#x, where no instruction can begin", p.crashedAt(s))
	case s.Name == "SIGILL":
		return report.FaultIllegal, "the processor refused this instruction"
	}
	return "", ""
}

// crashedAt returns the pc of the thread that got the signal; 0 if it is unknown.
func (p *Process) crashedAt(s *core.Signal) uint64 {
	for i := range p.img.Threads {
		if th := &p.img.Threads[i]; th.ID == s.Thread {
			pc, _ := th.Regs.Get(p.img.Arch.PC)
			return pc
		}
	}
	return 0
}

// meaningOfAccess explains a fault on an address.
func (p *Process) meaningOfAccess(s *core.Signal) (report.Fault, string) {
	pc, sp := p.crashedAt(s), uint64(0)
	for i := range p.img.Threads {
		if th := &p.img.Threads[i]; th.ID == s.Thread {
			sp, _ = th.Regs.Get(p.img.Arch.SP)
		}
	}
	mapping := p.img.Mapping(s.Address)
	where := "which is not mapped"
	if mapping != nil {
		where = "which is mapped, but does not allow this access"
		if mapping.Path != "" {
			where += " (" + mapping.Path + ")"
		}
	}
	switch {
	case s.CodeName == "BUS_ADRERR":
		return report.FaultPastFile, fmt.Sprintf("an access to %#x, for which the mapped file has no bytes, or the kernel could not get them", s.Address)
	case s.CodeName == "BUS_ADRALN":
		return report.FaultMisaligned, fmt.Sprintf("a misaligned access to %#x", s.Address)
	case s.Address == pc && pc < nullPages:
		return report.FaultNullCall, fmt.Sprintf("a call, jump or return to %#x, as by a call through a null pointer", pc)
	case s.Address == pc:
		return report.FaultBadCall, fmt.Sprintf("a call, jump or return to %#x, %s", pc, where)
	case s.Address < nullPages:
		return report.FaultNullAccess, fmt.Sprintf("an access to %#x, as through a null pointer", s.Address)
	case sp != 0 && s.Address < sp+nullPages && s.Address+guardSize > sp && !p.dumped(s.Address):
		return report.FaultStackOverflow, fmt.Sprintf("an access to %#x, just below the stack, as when it is full", s.Address)
	}
	return report.FaultBadAccess, fmt.Sprintf("an access to %#x, %s", s.Address, where)
}

// dumped reports whether the image holds the byte at addr.
func (p *Process) dumped(addr uint64) bool {
	n, _ := p.img.Mem.ReadMem(make([]byte, 1), addr)
	return n == 1
}
