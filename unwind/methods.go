package unwind

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

var methodNames = []string{
	Registers:    "registers",
	SFrame:       "sframe",
	FramePointer: "frame-pointer",
	CFI:          "cfi",
	Signal:       "signal",
	Entry:        "entry",
	Code:         "code",
	Pclntab:      "pclntab",
	Goroutine:    "goroutine",
}

// String returns the name in reports: "registers", "sframe", "frame-pointer", ...
func (m Method) String() string { return nameOf(methodNames, "method", m) }

// MarshalText returns the name, or an error if m is none of the methods.
func (m Method) MarshalText() ([]byte, error) { return textOf(methodNames, "method", m) }

// UnmarshalText sets m to the method of that name.
func (m *Method) UnmarshalText(text []byte) error { return valueOf(methodNames, "method", text, m) }

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
