package unwind

import (
	"fmt"
	"slices"
	"strings"
)

// Evidence is a set of results of the checks of a frame.
type Evidence uint16

const (
	// AfterCall is set if PC follows a call instruction.
	AfterCall Evidence = 1 << iota
	// Executable is set if PC is in an executable mapping.
	Executable
	// AtTrampoline is set if PC is the address to which signal handlers return.
	AtTrampoline
	// AtBase is set if PC does not follow a call and the function is outermost.
	// The tables say that it is, or the code at PC first loads another SP. A
	// runtime put the address on the stack, so that the last function returns to
	// it: Go's runtime puts goexit there, and makecontext __start_context.
	AtBase
	// CodeUnread is set if the instructions before PC could not be read.
	CodeUnread
	// Promised is set if the module's SFRAME_F_FRAME_POINTER flag says that all
	// functions of the module keep a frame pointer.
	Promised
	// CallMismatch is set if the call before PC does not go to the function of
	// the frame below, and no jump leads from its target to that function.
	CallMismatch
	// DirectCall is set if the call before PC tells where it goes.
	DirectCall
	// Injected is set if the code was interrupted at PC, and a signal handler
	// made it look as if it had called a function there.
	Injected
	// Uncertain is set if the values by which the frame was found could not all
	// be checked, or if they are from a table that the process could write to.
	Uncertain
	// Agreed is set if the instructions and the frame pointer of the frame below
	// lead to the same saved registers.
	Agreed
	// CalledHere is set if the call before PC goes to the start of the function of
	// the frame below, and the instructions from there on lead to where that frame
	// is.
	CalledHere
	// Jumped is set if the call before PC goes to another function than that of the
	// frame below, from which jumps lead there: a tail call, or a part of one function
	// that is apart from the rest.
	Jumped
	// Returns is set if the code of the frame below was being executed, and its
	// instructions lead to a return to PC without a call.
	Returns
)

// evidenceNames are the descriptions of the bits, the lowest bit first. No
// description contains a comma.
var evidenceNames = []string{
	"follows a call",
	"in executable memory",
	"at a signal trampoline",
	"at the base of a stack",
	"the code before it is not readable",
	"the module promises frame pointers",
	"the call before it leads elsewhere",
	"the call before it tells where it goes",
	"interrupted and made to call by a signal handler",
	"found by what could not be checked in full",
	"the frame pointer leads to the same frame",
	"the call before it goes to the start of the code that was followed",
	"the call before it goes to a function that jumps on to the frame below",
	"the code that was being executed returns there",
}

// String returns the descriptions of all bits that are set, for example "follows
// a call, in executable memory", or "none".
func (e Evidence) String() string {
	if e == 0 {
		return noEvidence
	}
	var words []string
	for i, name := range evidenceNames {
		if e&(1<<i) != 0 {
			words = append(words, name)
		}
	}
	if unknown := e >> len(evidenceNames); unknown != 0 {
		words = append(words, fmt.Sprintf("evidence %#x", uint16(unknown<<len(evidenceNames))))
	}
	return strings.Join(words, ", ")
}

const noEvidence = "none"

// MarshalText returns the text of [Evidence.String], or an error if a bit has no
// description.
func (e Evidence) MarshalText() ([]byte, error) {
	if e>>len(evidenceNames) != 0 {
		return nil, fmt.Errorf("evidence %#x has no text", uint16(e))
	}
	return []byte(e.String()), nil
}

// UnmarshalText sets e from a text that [Evidence.String] returned.
func (e *Evidence) UnmarshalText(text []byte) error {
	var all Evidence
	if string(text) != noEvidence {
		for word := range strings.SplitSeq(string(text), ", ") {
			i := slices.Index(evidenceNames, word)
			if i < 0 {
				return fmt.Errorf("%q is not evidence", word)
			}
			all |= 1 << i
		}
	}
	*e = all
	return nil
}

// Trust says how far a frame can be relied on. It never rises along a walk: if
// a pc is a guess, so is the frame that a table row for that pc leads to.
type Trust uint8

const (
	// Guess is the trust of a frame that may not exist. It was found by a
	// convention that the code may not follow, or at an address that no call
	// returns to.
	Guess Trust = iota
	// Checked is the trust of a frame that was found by a convention and passed
	// every check. It is also the trust of a frame that was found by a table, if
	// the process could write to the table or the code before PC does not confirm
	// the frame.
	Checked
	// Full is the trust of a frame that follows from the registers and from
	// tables, and that passed every check.
	Full
)

var trustNames = []string{Guess: "guess", Checked: "checked", Full: "full"}

// String returns "guess", "checked" or "full".
func (t Trust) String() string { return nameOf(trustNames, "trust", t) }

// MarshalText returns the name, or an error if t is not one of the three.
func (t Trust) MarshalText() ([]byte, error) { return textOf(trustNames, "trust", t) }

// UnmarshalText sets t to the trust with that name.
func (t *Trust) UnmarshalText(text []byte) error { return valueOf(trustNames, "trust", text, t) }
