package unwind

import (
	"fmt"

	"github.com/sfcore/sfcore/arch"
)

// Frame is one physical frame of a stack. The frame below is the one that it
// called, or that interrupted it; frame 0, the innermost, is the lowest. A Frame
// is a value: it shares nothing with the Unwinder but the Module.
type Frame struct {
	// PC is the program counter, without pointer authentication bits.
	PC uint64
	// CFA is the canonical frame address, 0 where it was not computed because
	// the walk ended here.
	CFA uint64
	// Regs are the registers as they were in this frame. What was not
	// recovered is unknown.
	Regs arch.Regs
	// Module contains PC; nil if no module does.
	Module *Module
	// Row is how the caller of this frame was found; its Extra is dropped.
	Row arch.Row
	// Method is how this frame was found from the one below.
	Method Method
	// Evidence and Trust are what speaks for this frame.
	Evidence Evidence
	Trust    Trust
	// Exact is set where PC is the instruction that was, or is to be,
	// executed, and unset where PC is a return address or behind an
	// instruction that trapped.
	Exact bool
	// Signal is set on the trampoline to which a signal handler returns.
	Signal bool
	// Skipped says why better methods did not find this frame's caller; nil
	// if there is nothing to say. It wraps the errors of tables and memory.
	Skipped error

	trampoline *arch.SignalFrame
	executable bool
	base       bool // see site
}

// LookupPC returns the address by which to look up what this frame was
// executing. A return address is the instruction after the call, which may
// belong to the next function, line or row if the call does not return: so it
// is one less, within the call instruction.
func (f *Frame) LookupPC() uint64 {
	if f.Exact {
		return f.PC
	}
	return f.PC - 1
}

// Method is a way to find a frame from the one below it.
type Method uint8

// The methods.
const (
	Registers    Method = iota // the thread's own registers
	SFrame                     // a row of .sframe
	FramePointer               // the frame-pointer convention
	CFI                        // .eh_frame or .debug_frame
	Signal                     // the context saved by the kernel for a signal
	Entry                      // the convention at a function's first instruction
	Code                       // the instructions of the function
	Pclntab                    // Go's table of functions
	Goroutine                  // Go's account of the stack that was left for this one
)

// convention reports whether a method goes by what code usually does, and not
// by what a table says of it.
func (m Method) convention() bool { return m == FramePointer || m == Code }

// String returns the name in reports: "registers", "sframe", "frame-pointer", ...
func (m Method) String() string {
	switch m {
	case Registers:
		return "registers"
	case SFrame:
		return "sframe"
	case FramePointer:
		return "frame-pointer"
	case CFI:
		return "cfi"
	case Signal:
		return "signal"
	case Entry:
		return "entry"
	case Code:
		return "code"
	case Pclntab:
		return "pclntab"
	case Goroutine:
		return "goroutine"
	}
	return fmt.Sprintf("method %d", uint8(m))
}

// Evidence are the checks that a frame passed.
type Evidence uint16

const (
	// AfterCall is set where PC follows a call instruction.
	AfterCall Evidence = 1 << iota
	// Executable is set where PC is in an executable mapping.
	Executable
	// AtTrampoline is set where PC is where signal handlers return to.
	AtTrampoline
	// AtBase is set where PC follows no call and the function is outermost, by the
	// tables or because it begins by leaving the stack: a runtime put the address
	// there for the last function to return to, like Go's goexit or, by
	// makecontext, __start_context.
	AtBase
	// CodeUnread is set where the instructions before PC could not be read.
	CodeUnread
	// Promised is set where the module's SFRAME_F_FRAME_POINTER flag says that
	// all of its functions keep a frame pointer.
	Promised
	// CallMismatch is set where the call before PC goes to another function
	// than the one that is to return to PC, and no jump from there leads on.
	CallMismatch
	// DirectCall is set where the call before PC tells where it goes.
	DirectCall
	// Injected is set where PC was interrupted, and a signal handler made it
	// look as if it had called.
	Injected
	// Uncertain is set where not all could be checked by which the frame was
	// found, or it is from a table that the process could write to.
	Uncertain
)

// Trust says how far a frame may be relied on. It never rises along a walk: a
// table row found for a guessed pc is still a guess.
type Trust uint8

const (
	// Guess is a frame that may not exist: found by a convention that the
	// code may not follow, or at an address that no call returns to.
	Guess Trust = iota
	// Checked is a frame found by a convention whose every check passed, or by
	// a table that the process could write to, or where the code before PC does not
	// confirm it.
	Checked
	// Full is a frame that follows from the registers and from tables, and
	// whose every check passed.
	Full
)

// String returns "guess", "checked" or "full".
func (t Trust) String() string {
	switch t {
	case Guess:
		return "guess"
	case Checked:
		return "checked"
	case Full:
		return "full"
	}
	return fmt.Sprintf("trust %d", uint8(t))
}

// trust judges a frame by itself, whatever the frames below it are worth.
func trust(m Method, e Evidence) Trust {
	called := e&(AfterCall|AtTrampoline) != 0
	table := m == SFrame || m == CFI || m == Pclntab
	switch {
	case m == Registers, m == Signal && e&Executable != 0 && e&Uncertain == 0:
		return Full
	case m == Signal:
		return Checked
	case m == FramePointer && e&Promised == 0, m == Code:
		return Guess
	case e&Uncertain != 0 && called, e&Injected != 0 && e&Executable != 0:
		return Checked
	case table && called && e&CallMismatch == 0:
		return Full
	case m == Goroutine && e&DirectCall != 0 && e&CallMismatch == 0:
		return Full
	case called, table && e&(AtBase|CodeUnread) != 0:
		return Checked
	}
	return Guess
}

// Stop is why a walk ended.
type Stop struct {
	Reason Reason
	// Detail explains the reason in a sentence; nil if there is no more to say.
	// It wraps the errors of tables and memory, such as a [*memreader.FaultError].
	Detail error
}

// Complete reports whether the stack was followed to its end.
func (s Stop) Complete() bool { return s.Reason == Outermost }

// Reason is a kind of [Stop].
type Reason uint8

// The reasons.
const (
	// NoUnwindInfo: no method knows anything about the last frame's pc.
	NoUnwindInfo Reason = iota
	// Outermost: the last frame has no caller.
	Outermost
	// BadCFA: the canonical frame address is misaligned or does not grow.
	BadCFA
	// BadReturnAddress: the return address is in no executable mapping.
	BadReturnAddress
	// UnreadableMemory: a value that is needed is not in memory at hand.
	UnreadableMemory
	// Loop: the walk came back to where it had been.
	Loop
	// Limit: the number of frames or the time allowed is used up.
	Limit
	// NotExecutable: the pc is not executable and nothing tells who called.
	NotExecutable
)

// String returns the name in reports: "outermost", "bad-cfa", ...
func (r Reason) String() string {
	switch r {
	case NoUnwindInfo:
		return "no-unwind-info"
	case Outermost:
		return "outermost"
	case BadCFA:
		return "bad-cfa"
	case BadReturnAddress:
		return "bad-return-address"
	case UnreadableMemory:
		return "unreadable-memory"
	case Loop:
		return "loop"
	case Limit:
		return "limit"
	case NotExecutable:
		return "not-executable"
	}
	return fmt.Sprintf("reason %d", uint8(r))
}
