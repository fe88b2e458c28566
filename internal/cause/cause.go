// Package cause says why a process crashed, in one sentence with its evidence. It is
// given what is known of the crash, and reads nothing itself. Where the evidence does not
// decide, it says nothing: a sentence that is wrong once is believed no more.
package cause

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/disasm"
)

// Facts are what is known of a crash.
type Facts struct {
	Arch   *arch.Arch
	Signal *core.Signal
	// Own is set if the process sent itself the signal.
	Own bool
	// Regs are the registers of the thread that got the signal.
	Regs *arch.Regs
	// Text is the instruction at the pc, and Effect what it may fail at; "" and nothing
	// if it could not be read.
	Text   string
	Effect disasm.Effect
	// At, PC and SP are the mappings that contain the signal's address, the pc and SP;
	// Above is the one that follows SP, if none contains it. They are nil if there are
	// none.
	At, PC, SP, Above *core.Mapping
	// Guarded is set if At is known to hold no data, as a guard page does.
	Guarded bool
	// Called is set if the return address, where it is before a function has executed
	// anything, follows a call through a pointer.
	Called bool
	// Functions are those of the stack, the innermost first, with their demangled names;
	// CFAs are of its frames that are no guesses.
	Functions []string
	CFAs      []uint64
	// Message is what libc noted before it called abort; "" for nothing. ByLibc is set if
	// it is libc that called abort, and not the program, as it may after such a note.
	Message string
	ByLibc  bool
	// Exception is what was thrown and not caught; nil if that is not known.
	Exception *Exception
	// Panic is what a program in Go or Rust panics with, and PanicAt the place; "" for
	// unknown.
	Panic, PanicAt string
	// Sanitizer is the function by which the program called the sanitizer that called
	// abort; "" for none.
	Sanitizer string
	// Freed reports whether the value of a register was read from freed memory right
	// before, and says by what instruction from where.
	Freed func(arch.Reg) (string, bool)
	// InFreed reports whether an address is in freed memory, and says in which.
	InFreed func(addr uint64) (string, bool)
	// CalledFreed says by what instruction a pointer was read from freed memory, which
	// was called as Called says; "" if it is not known that one was.
	CalledFreed string
	// Load reads an integer of the process.
	Load func(addr uint64, size int) (uint64, bool)
}

// Exception is a C++ exception.
type Exception struct {
	Type string // demangled
	What string // what what() returns; "" if unknown
}

// Cause is why a process crashed.
type Cause struct {
	// Kind names the cause for programs: "null-access", "assertion".
	Kind string
	// Text is the sentence, and Evidence what it follows from.
	Text     string
	Evidence []string
}

// Explain returns the cause of a crash; nil if the facts do not decide.
func Explain(f *Facts) *Cause {
	if f.Signal == nil || f.Regs == nil {
		return nil
	}
	for _, rule := range rules {
		if c := rule(f); c != nil {
			return c
		}
	}
	return nil
}

// rules are in an order in which the first that holds is the cause.
var rules = []func(*Facts) *Cause{
	sent, message, exception, goPanic, rustPanic, sanitizer, abort,
	badPC, privileged, usedAfterFree, badTarget, nonCanonical, misaligned, stackOverflow, nullPointer, pastFile, forbidden,
	division, breakpoint, undefined, seccomp,
}

func (f *Facts) is(signal, code string) bool {
	return f.Signal.Name == signal && (code == "" || f.Signal.CodeName == code)
}

func (f *Facts) pc() (uint64, bool) { return f.Regs.Get(f.Arch.PC) }
func (f *Facts) sp() (uint64, bool) { return f.Regs.Get(f.Arch.SP) }
