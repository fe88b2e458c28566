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
	Goroutine                  // Go's account of the stack that was left for this one
)

// traits are all that the walk knows of a method. No other code asks which
// method it is; every column is read in one place or two.
type traits struct {
	name string
	// source says where a row is from, in code of the module "%s".
	source string

	// How the method is asked.

	// convention is set if the method goes by what code usually does instead of
	// what a table says about the code. It is not asked where a table has a row.
	convention bool
	// promisable is set if a module can promise that its code keeps to the
	// convention. Without the promise, code that ends its thread may have its
	// parent's frame pointer.
	promisable bool
	// final is set if no method is asked after this one, whatever its row led to.
	final bool
	// lasting is set if the row of a return address can be used at every return
	// to that address.
	lasting bool
	// unmarked is set if the table may be of a version that does not mark which
	// frames have no caller.
	unmarked bool

	// What its rows may lead to.

	// interrupts is set if the caller did not call: the kernel saved its registers,
	// at any instruction and on any stack.
	interrupts bool
	// switches is set if the caller is on another stack, within whose bounds the
	// stepper has checked SP to be.
	switches bool
	// maxFrame is the largest distance from SP to the caller's SP that is believed,
	// in bytes; 0 for any.
	maxFrame uint64
	// returnsTo is what a return address needs one of; 0 if it only has to be
	// executable.
	returnsTo Evidence
	// undescribed is set if the frame is in code that no table describes. The call
	// has to be one that may lead to such code.
	undescribed bool

	// What a frame is that was found by the method.

	// innermost is set if the frame called nothing, whether or not its PC is exact.
	innermost bool
	// called is set if the frame called the one below by the calling convention of
	// C, which call frame information and entry values of variables take for granted.
	called bool
	// chain is set if a frame pointer of 0 in the frame ends the stack.
	chain bool

	// Its trust; see [traits.trust].

	best, worst Trust
	requires    Evidence // all of this, or it is the worst
	confirms    Evidence // one of these for the best
	doubts      Evidence // none of these for the best
	excuses     Evidence // one of these does in place of a call
}

const (
	// afterCall is seen where something was called: the function that returns, or a
	// signal handler by the kernel.
	afterCall = AfterCall | AtTrampoline
	// notChecked is seen where a frame was found by what could not be checked, or
	// does not look as its method would have it.
	notChecked = Uncertain | CallMismatch | Injected
	// notCalled is seen where a stack may begin, or nobody knows.
	notCalled = AtBase | CodeUnread
)

// methods are the traits of every [Method].
var methods = [...]traits{
	Registers: {
		name: "registers", innermost: true,
		best: Full, worst: Full,
	},
	SFrame: {
		name: "sframe", source: ".sframe of %s", lasting: true, unmarked: true, called: true,
		best: Full, confirms: afterCall, doubts: notChecked, excuses: notCalled,
	},
	FramePointer: {
		name: "frame-pointer", source: "the convention of a frame pointer", convention: true, promisable: true,
		maxFrame: maxGuessedFrame, returnsTo: afterCall, called: true, chain: true,
		best: Checked, requires: Promised,
	},
	CFI: {
		name: "cfi", source: ".eh_frame or .debug_frame of %s", lasting: true, called: true,
		best: Full, confirms: afterCall, doubts: notChecked, excuses: notCalled,
	},
	Signal: {
		name: "signal", source: "the context that the kernel saved for the handler", interrupts: true,
		best: Full, worst: Checked, confirms: Executable, doubts: Uncertain,
	},
	Entry: {
		name: "entry", source: "the convention at the first instruction of a function", returnsTo: afterCall,
		best: Checked,
	},
	Code: {
		name: "code", source: "the instructions of a function that no table describes", convention: true, lasting: true,
		returnsTo: AfterCall, undescribed: true,
		best: Guess,
	},
	Pclntab: {
		name: "pclntab", source: "Go's table of functions in %s", lasting: true,
		final: true, // call frame information of Go code is made from the same table
		best:  Full, confirms: afterCall, doubts: notChecked, excuses: notCalled,
	},
	Goroutine: {
		name: "goroutine", source: "Go's account of the stack that was left for this one", final: true,
		switches: true, returnsTo: afterCall,
		best: Full, confirms: DirectCall, doubts: notChecked,
	},
}

// traits returns the row of the table. A stepper may bring a method that is not
// in it, of which nothing is known.
func (m Method) traits() *traits {
	if int(m) < len(methods) {
		return &methods[m]
	}
	return &unknownMethod
}

var unknownMethod = traits{best: Checked}

// trust judges a frame that the method found by itself, whatever the frames below
// it are worth.
func (t *traits) trust(e Evidence) Trust {
	switch {
	case e&t.requires != t.requires:
		return t.worst
	case e&t.confirms != 0 && e&t.doubts == 0:
		return t.best
	case e&(afterCall|Injected|t.excuses) != 0:
		return max(t.worst, min(t.best, Checked))
	}
	return t.worst
}

// Describe says in words where a row of the method is from, in code of the named
// module; "" for the thread's own registers.
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

// MarshalText returns the name, or an error if m is none of the methods.
func (m Method) MarshalText() ([]byte, error) { return textOf(methodNames, "method", m) }

// UnmarshalText sets m to the method of that name.
func (m *Method) UnmarshalText(text []byte) error { return valueOf(methodNames, "method", text, m) }
