package report

// Fault is the class of what stopped a process. It is the same on all architectures,
// while signals and their codes differ.
type Fault string

// The faults. A signal that tells nothing besides its name has none, "".
const (
	FaultAbort         Fault = "abort"               // the program called abort
	FaultSelf          Fault = "self"                // the program sent itself another signal
	FaultSent          Fault = "sent"                // another process sent the signal
	FaultNullCall      Fault = "null-call"           // a call or jump through a null pointer
	FaultNullAccess    Fault = "null-access"         // an access through a null pointer
	FaultBadCall       Fault = "bad-call"            // a call or jump to what is not code
	FaultBadAccess     Fault = "bad-access"          // an access to memory that is not mapped or does not allow it
	FaultNonCanonical  Fault = "non-canonical"       // an address that no pointer can have, most often
	FaultStackOverflow Fault = "stack-overflow"      // an access just below the stack
	FaultMisaligned    Fault = "misaligned"          // an access that must be aligned and was not
	FaultPastFile      Fault = "past-file"           // an access to a mapped file beyond its end
	FaultDivision      Fault = "division"            // an integer division by zero, or one that overflowed
	FaultBreakpoint    Fault = "breakpoint"          // a breakpoint instruction
	FaultIllegal       Fault = "illegal-instruction" // an instruction that the processor does not know
)
