package unwind

import (
	"fmt"
	"slices"
	"strings"
)

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

// evidenceNames are the bits in words, from the lowest. None has a comma in it.
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
}

// String returns every bit in words, "follows a call, in executable memory", or
// "none".
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

// MarshalText returns the words of [Evidence.String], or an error if a bit has none.
func (e Evidence) MarshalText() ([]byte, error) {
	if e>>len(evidenceNames) != 0 {
		return nil, fmt.Errorf("evidence %#x has no text", uint16(e))
	}
	return []byte(e.String()), nil
}

// UnmarshalText sets e to the bits that [Evidence.String] wrote.
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

var trustNames = []string{Guess: "guess", Checked: "checked", Full: "full"}

// String returns "guess", "checked" or "full".
func (t Trust) String() string { return nameOf(trustNames, "trust", t) }

// MarshalText returns the name, or an error if t is none of the three.
func (t Trust) MarshalText() ([]byte, error) { return textOf(trustNames, "trust", t) }

// UnmarshalText sets t to the trust of that name.
func (t *Trust) UnmarshalText(text []byte) error { return valueOf(trustNames, "trust", text, t) }
