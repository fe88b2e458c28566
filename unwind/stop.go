package unwind

// Stop says why a walk ended.
type Stop struct {
	Reason Reason
	// Detail explains the reason in a sentence; nil if there is no more to say.
	// It wraps the errors of tables and memory, such as a [*memreader.FaultError].
	Detail error
}

// Complete reports whether the stack was followed to its end.
func (s Stop) Complete() bool { return s.Reason == Outermost }

// String returns the reason, then a colon and the detail if there is one.
func (s Stop) String() string {
	if s.Detail == nil {
		return s.Reason.String()
	}
	return s.Reason.String() + ": " + s.Detail.Error()
}

// Reason is a kind of [Stop].
type Reason uint8

// The reasons.
const (
	// NoUnwindInfo: no method has a usable row for the last frame's pc.
	NoUnwindInfo Reason = iota
	// Outermost: the last frame has no caller.
	Outermost
	// BadCFA: the canonical frame address is misaligned or does not grow.
	BadCFA
	// BadReturnAddress: the return address is in no executable mapping.
	BadReturnAddress
	// UnreadableMemory: the step needs a value from memory that cannot be read.
	UnreadableMemory
	// Loop: the walk came back to a place where it had been.
	Loop
	// Limit: the walk reached the limit on frames or on time.
	Limit
	// NotExecutable: the pc is not executable and the caller is not known.
	NotExecutable
)

var reasonNames = []string{
	NoUnwindInfo:     "no-unwind-info",
	Outermost:        "outermost",
	BadCFA:           "bad-cfa",
	BadReturnAddress: "bad-return-address",
	UnreadableMemory: "unreadable-memory",
	Loop:             "loop",
	Limit:            "limit",
	NotExecutable:    "not-executable",
}

// String returns the name in reports: "outermost", "bad-cfa", ...
func (r Reason) String() string { return nameOf(reasonNames, "reason", r) }

// MarshalText returns the name, or an error if r is not one of the reasons.
func (r Reason) MarshalText() ([]byte, error) { return textOf(reasonNames, "reason", r) }

// UnmarshalText sets r to the reason with that name.
func (r *Reason) UnmarshalText(text []byte) error { return valueOf(reasonNames, "reason", text, r) }
