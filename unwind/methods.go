package unwind

import "strings"

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
	Goroutine                  // Go's record of the stack that the thread left for this one
	TailCall                   // debug information; no walk finds such a frame
)

// traits are everything that the walk knows about a method. No other code of the
// walk asks which method it is. Every column is read in one or two places.
type traits struct {
	name string
	// source says where a row is from. "%s" stands for the name of the module.
	source string

	// These fields say when to ask the method.

	// convention is set if the method relies on what code usually does, not on a
	// table that describes the code. It is not asked if a table has a row.
	convention bool
	// promisable is set if a module can promise that its code follows the
	// convention. Without the promise, code that ends its thread may still have
	// its parent's frame pointer.
	promisable bool
	// final is set if no method is asked after this one, even if its row failed.
	final bool
	// lasting is set if the row of a return address can be used at every return
	// to that address.
	lasting bool
	// derived is set if tools make the table from call frame information, so that
	// the two are compared.
	derived bool
	// unmarked is set if the version of the table may be one that does not mark
	// the frames without a caller.
	unmarked bool

	// These fields say where a row of the method may lead.

	// interrupts is set if the caller was interrupted. It made no call: the kernel
	// saved its registers, at any instruction and on any stack.
	interrupts bool
	// switches is set if the caller is on another stack. The stepper has checked
	// that SP is within the bounds of that stack.
	switches bool
	// maxFrame is the largest credible distance from SP to the caller's SP, in
	// bytes; 0 for any distance.
	maxFrame uint64
	// returnsTo is a set of evidence. A return address needs at least one of its
	// bits. It is 0 if the method may lead to any address: a signal may interrupt a
	// jump to nowhere.
	returnsTo Evidence
	// second is set if a second opinion is asked for: that of the frame pointer.
	second bool
	// undescribed is set if the frame is in code that no table describes. The call
	// must be one that may lead to such code.
	undescribed bool

	// These fields describe a frame that the method found.

	// inferred is set if the frame is not on the stack.
	inferred bool
	// innermost is set if the frame called nothing, whether or not its PC is exact.
	innermost bool
	// called is set if the frame called the one below by the calling convention of
	// C. Call frame information and entry values of variables rely on that.
	called bool
	// chain is set if a frame pointer of 0 in the frame ends the stack.
	chain bool

	// These fields give the trust of such a frame; see [traits.trust].

	// A frame that is confirmed has the best trust. One that is not, but follows a
	// call, has the next lower one. Others have the worst.
	best, worst Trust
	requires    Evidence // if a bit of these is missing, the trust is worst
	confirms    Evidence // best needs at least one of these
	doubts      Evidence // best needs none of these
	excuses     Evidence // any of these replaces a call
	// doubt says why such a frame does not have full trust if the evidence does not
	// say so.
	doubt string
}

const (
	// afterCall is the evidence that something was called: a function by the code,
	// or a signal handler by the kernel.
	afterCall = AfterCall | AtTrampoline
	// notChecked is the evidence that a frame could not be checked in full, or
	// that it does not look as its method expects.
	notChecked = Uncertain | CallMismatch | Injected
	// notCalled is the evidence that a stack may begin at the frame, or that the
	// code there cannot be read.
	notCalled = AtBase | CodeUnread
)

// noCall is the doubt about a frame that was found by a table.
const noCall = "no call precedes it"

// methods are the traits of every [Method].
var methods = [...]traits{
	Registers: {
		name: "registers", innermost: true,
		best: Full, worst: Full,
	},
	SFrame: {
		name: "sframe", source: ".sframe of %s", returnsTo: Executable, lasting: true, derived: true, unmarked: true, called: true,
		best: Full, confirms: afterCall, doubts: notChecked, excuses: notCalled, doubt: noCall,
	},
	FramePointer: {
		name: "frame-pointer", source: "the convention of a frame pointer", convention: true, promisable: true,
		maxFrame: maxGuessedFrame, returnsTo: afterCall | CodeUnread, called: true, chain: true,
		best: Checked, requires: Promised, confirms: afterCall,
		doubt: "it was found by the frame pointer, not by a table",
	},
	CFI: {
		name: "cfi", source: ".eh_frame or .debug_frame of %s", returnsTo: Executable, lasting: true, called: true,
		best: Full, confirms: afterCall, doubts: notChecked, excuses: notCalled, doubt: noCall,
	},
	Signal: {
		name: "signal", source: "the context that the kernel saved for the handler", interrupts: true,
		best: Full, worst: Checked, confirms: Executable, doubts: Uncertain,
		doubt: "the interrupted pc is not in executable memory",
	},
	Entry: {
		name: "entry", source: "the convention at the first instruction of a function", returnsTo: afterCall,
		best: Checked, confirms: afterCall,
		doubt: "no table says that this function called the bad address",
	},
	Code: {
		name: "code", source: "the instructions of a function that no table describes", convention: true, lasting: true,
		returnsTo: AfterCall, undescribed: true, second: true,
		best: Checked, confirms: Agreed | CalledHere | Returns, doubts: notChecked,
		doubt: "it was found by instructions, not by a table",
	},
	Pclntab: {
		name: "pclntab", source: "Go's table of functions in %s", returnsTo: Executable, lasting: true,
		final: true, // Go makes its call frame information from the same table
		best:  Full, confirms: afterCall, doubts: notChecked, excuses: notCalled, doubt: noCall,
	},
	Goroutine: {
		name: "goroutine", source: "Go's account of the stack that was left for this one", final: true,
		switches: true, returnsTo: afterCall,
		best: Full, confirms: DirectCall, doubts: notChecked,
		doubt: "the call before it does not tell where it goes",
	},
	TailCall: {
		name: "tail-call", source: "the only way of jumps that debug information knows", inferred: true,
		best: Full, worst: Full,
	},
}

// Inferred reports whether frames of the method are not on the stack: the function
// was called, and jumped to that of the frame below at its end. Such a frame has a PC
// and no registers.
func (m Method) Inferred() bool { return m.traits().inferred }

// traits returns the method's row in the table. A stepper may bring a method
// that is not in the table; traits then returns unknownMethod.
func (m Method) traits() *traits {
	if int(m) < len(methods) {
		return &methods[m]
	}
	return &unknownMethod
}

var unknownMethod = traits{returnsTo: Executable, best: Checked, confirms: afterCall}

// trust judges a frame that the method found. It does not consider the trust of
// the frames below.
func (t *traits) trust(e Evidence) Trust {
	switch {
	case e&t.requires != t.requires:
		return t.worst
	case e&t.confirms != 0 && e&t.doubts == 0:
		return t.best
	case e&(afterCall|Injected|t.excuses) != 0 && t.best > t.worst:
		return t.best - 1
	}
	return t.worst
}

// Doubt says why a frame that the method found does not have full trust, given its
// evidence. It returns "" for a frame of full trust.
func (m Method) Doubt(e Evidence, trust Trust) string {
	t := m.traits()
	switch own := t.trust(e); {
	case trust == Full:
		return ""
	case own > trust:
		return "a frame below it is not certain"
	case e&t.doubts != 0:
		return (e & t.doubts).String()
	case t.excuses&e != 0 && e&t.confirms == 0:
		return (e & t.excuses).String()
	}
	return t.doubt
}

// Describe says in words where a row of the method is from. module is the name of
// the module that the code is in. Describe returns "" for the thread's own
// registers.
func (m Method) Describe(module string) string {
	return strings.Replace(m.traits().source, "%s", module, 1)
}

var methodNames = func() (names []string) {
	for i := range methods {
		names = append(names, methods[i].name)
	}
	return names
}()

// String returns the name in reports: "registers", "sframe", "frame-pointer", ...
func (m Method) String() string { return nameOf(methodNames, "method", m) }

// MarshalText returns the name, or an error if m is not one of the methods.
func (m Method) MarshalText() ([]byte, error) { return textOf(methodNames, "method", m) }

// UnmarshalText sets m to the method with that name.
func (m *Method) UnmarshalText(text []byte) error { return valueOf(methodNames, "method", text, m) }
