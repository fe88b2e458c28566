package compare

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// differ says how a row of SFrame differs from the row of CFI.
func (c *comparison) differ(s, want *arch.Row) (Cause, string) {
	a := c.Arch
	switch {
	case s.Outermost() && want.Outermost():
		return "", ""
	case s.Outermost() != want.Outermost():
		return OutermostMark, ""
	}
	if cause := differCFA(s.CFA, want.CFA); cause != "" {
		return cause, "cfa"
	}
	ra := arch.AtCFA(-8) // which is implied on amd64
	if a.LR != arch.NoReg {
		ra = arch.SameValue(a.LR)
	}
	if cause := differRule(s.RA, want.RA, ra); cause != "" {
		return cause, "ra"
	}
	if want.FP.Base != arch.Undefined { // a caller that has lost it does not ask for it
		if cause := differRule(s.FP, want.FP, arch.SameValue(a.FP)); cause != "" {
			return cause, "fp"
		}
	}
	switch {
	case s.SignedRA != want.SignedRA:
		return SignedMark, ""
	case s.Signal != want.Signal && c.version >= sframe.V3: // which has a bit for it
		return SignalMark, ""
	}
	return "", ""
}

func differCFA(s, want arch.Rule) Cause {
	switch {
	case s == want:
		return ""
	case sameBut(s, want):
		return WrongOffset
	}
	return RuleLost
}

// differRule compares rules of a register. implied is the rule that holds if SFrame
// gives none.
func differRule(s, want, implied arch.Rule) Cause {
	switch {
	case s == want:
		return ""
	case s == implied:
		return RuleLost
	case sameBut(s, want):
		return WrongOffset
	}
	return WrongRule
}

// sameBut reports whether rules are the same except for the offset.
func sameBut(a, b arch.Rule) bool {
	a.Off = b.Off
	return a == b
}
