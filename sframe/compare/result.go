package compare

import (
	"github.com/sfcore/sfcore/arch"
)

// Cause is a kind of difference.
type Cause string

// The causes.
const (
	// RuleLost: CFI has a rule, and SFrame has the default rule or another base
	// register.
	RuleLost Cause = "rule lost"
	// WrongOffset: the rules differ only in their offset.
	WrongOffset Cause = "wrong offset"
	// WrongRule: the rules differ in another way.
	WrongRule Cause = "wrong rule"
	// RowMissing: SFrame has the function, but nothing usable for these pcs.
	RowMissing Cause = "row missing"
	// FunctionMissing: SFrame does not have the function.
	FunctionMissing Cause = "function missing"
	// OutermostMark: one of the two says that the frame is the outermost one.
	OutermostMark Cause = "outermost mark"
	// SignalMark: one of the two says that the function is a signal trampoline.
	SignalMark Cause = "signal mark"
	// SignedMark: one of the two says that the return address is signed.
	SignedMark Cause = "signed return address"
)

// Causes are all causes, in the order in which they are reported.
var Causes = []Cause{RuleLost, WrongOffset, WrongRule, RowMissing, FunctionMissing, OutermostMark, SignalMark, SignedMark}

// Difference is a range of pcs for which the tables disagree in one way.
type Difference struct {
	Cause Cause
	// Field is the first rule that differs: "cfa", "ra" or "fp"; "" for other
	// causes.
	Field string
	// Habit is the ID of the known habit that explains the difference, "" if none
	// does. Limit is set if the habit is a limit. See [Habits].
	Habit string
	Limit bool
	// Lo and Hi bound the pcs: Lo <= pc < Hi.
	Lo, Hi uint64
	// Func is where the function begins, as CFI has it.
	Func uint64
	// SFrame and CFI are the rows; SFrame is nil if it has no row.
	SFrame, CFI *arch.Row
	// Err is why SFrame has no row, if it is damage.
	Err error
}

// Result is the outcome of a comparison.
type Result struct {
	// Functions, FDEs, SFrameRows and CFIRows are how many there are.
	Functions, FDEs, SFrameRows, CFIRows int
	// Compared is the code for which there are rows of both, in bytes;
	// Differing is how much of it has differences.
	Compared, Differing uint64
	// Differences ascend by pc. There are at most 10,000.
	Differences []Difference
	// Counts are the numbers of differences by cause.
	Counts map[Cause]int
	// Known is the number of differences that have a Habit, Limits of those
	// whose Habit is a limit.
	Known, Limits int
	// Problems are what could not be compared, and why. There are at most 100.
	Problems []error
}

const (
	// maxDifferences and maxProblems bound the result for a module in which
	// everything is wrong.
	maxDifferences = 10_000
	maxProblems    = 100
)

// Format writes a row of a [Difference] like [arch.Row.Format], but for rules
// that are expressions.
func Format(r *arch.Row, a *arch.Arch) string {
	rule := func(r arch.Rule) string {
		if r == expression {
			return "expression"
		}
		return r.Format(a)
	}
	s := "cfa=" + rule(r.CFA) + " ra=" + rule(r.RA) + " fp=" + rule(r.FP)
	if r.Signal {
		s += " signal"
	}
	if r.SignedRA {
		s += " signed-ra"
	}
	return s
}
