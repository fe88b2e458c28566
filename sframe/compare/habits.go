package compare

import (
	"errors"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// Habit is a known behaviour of a tool that explains a difference.
type Habit struct {
	ID string
	// Limit is set if the tool is not to blame: the version of the format, or the
	// assembler, has no way to express what CFI says.
	Limit   bool
	Meaning string
}

// Habits are all known habits, in the order in which they are tried.
var Habits = []Habit{
	{"outermost-before-v3", true, "versions 1 and 2 cannot mark the outermost frame: assemblers write a row as if .cfi_undefined were not there, or leave the function out"},
	{"signal-without-rows", true, "gas writes no rows for a signal trampoline whose CFI it cannot express (V3); the unwinder takes the registers from the ucontext"},
	{"inexpressible", true, "the function has a row that its version of SFrame, or the assembler for this architecture, cannot express, so the whole function is left out"},
	{"plt-got-offset", false, "GNU ld writes the rows of .plt for .plt.got, whose entries push nothing: the CFA is 8 too high in the whole entry or at its end"},
	{"plt-sec-offset", false, "GNU ld 2.40 writes the rows of PLT0 for the first entry of .plt.sec"},
	{"plt-sec-overlap", false, "GNU ld 2.40 writes a function of 32 bytes behind a .plt.sec that has one entry: it lies over the code that follows"},
	{"plt-ibt-start", false, "GNU ld up to 2.43 writes the rows of entries without endbr64 for entries that begin with it; their push is at offset 4, not 6"},
	{"plt-missing", false, "lld, mold and, on aarch64, GNU ld write no SFrame functions for PLTs"},
	{"cfa-register-ignored", false, "gas 2.40 ignores the register of a CFA that is neither SP nor FP, and writes SP"},
	{"ra-rule-ignored", false, "gas up to 2.45 and LLVM ignore rules for the return address on amd64, and write that it is at CFA-8"},
	{"fp-register-ignored", false, "LLVM ignores rules that say that the frame pointer is in another register"},
	{"fp-as-ra", false, "on aarch64 gas 2.40 writes the offset of FP where RA is not saved; readers take it for the offset of RA"},
	{"ra-offset-truncated", false, "gas 2.46 and 2.47 ignore the offset of RA when they choose the word size of a flexible row, and cut the offset off"},
	{"ra-restore-ignored", false, "gas 2.46 and 2.47 ignore .cfi_restore of the return address on amd64: the row keeps the place where it was before"},
	{"fp-restore-ignored", false, "gas up to 2.47 and LLVM ignore .cfi_restore of the frame pointer if the rule that it undoes was set before the function's first advance: the row keeps the place where the frame pointer was not yet saved"},
	{"undefined-sticks", false, "gas 2.46 and 2.47 do not end the undefined state of RA on amd64 at .cfi_offset"},
}

// IsLimit reports whether the habit with an ID is a limit of the format.
func IsLimit(id string) bool {
	for i := range Habits {
		if Habits[i].ID == id {
			return Habits[i].Limit
		}
	}
	return false
}

// habit returns the ID of the habit that explains a difference between rows.
func (c *comparison) habit(d *Difference) string {
	section := c.Section(d.Lo)
	// pushed: calls push the return address, and rows do not tell where it is.
	pushed := c.Arch.SFrame.FixedRA != 0
	if c.version <= sframe.V1 && c.overlapped(d) {
		return "plt-sec-overlap"
	}
	switch d.Cause { //nolint:exhaustive // the others have no known habits
	case OutermostMark:
		switch {
		case d.CFI.Outermost() && c.version < sframe.V3:
			return "outermost-before-v3"
		case d.SFrame.Outermost() && pushed && c.version == sframe.V3:
			return "undefined-sticks"
		}
	case WrongOffset:
		switch {
		case d.Field == "cfa" && section == ".plt.got" && d.SFrame.CFA.Off == d.CFI.CFA.Off+8:
			return "plt-got-offset"
		case d.Field == "cfa" && section == ".plt.sec":
			return "plt-sec-offset"
		case d.Field == "cfa" && section == ".plt" && pushed:
			return "plt-ibt-start"
		case d.Field == "ra" && truncated(d.SFrame.RA.Off, d.CFI.RA.Off):
			return "ra-offset-truncated"
		case d.Field == "ra" && c.raRestored(d):
			return "ra-restore-ignored"
		}
	case RuleLost:
		switch {
		case d.Field == "cfa" && c.version <= sframe.V1 && d.SFrame.CFA == arch.RegOffset(c.Arch.SP, d.CFI.CFA.Off):
			return "cfa-register-ignored"
		case d.Field == "ra" && pushed && c.version < sframe.V3:
			return "ra-rule-ignored"
		case d.Field == "fp" && c.version < sframe.V3 && d.CFI.FP.Base == arch.Register:
			return "fp-register-ignored"
		}
	case RowMissing:
		if errors.Is(d.Err, sframe.ErrSignalContext) {
			return "signal-without-rows"
		}
	case WrongRule:
		fp := arch.SameValue(c.Arch.FP)
		if d.Field == "ra" && c.raRestored(d) {
			return "ra-restore-ignored"
		}
		if d.Field == "fp" && d.CFI.FP == fp && d.SFrame.FP == arch.AtCFA(d.SFrame.FP.Off) {
			return "fp-restore-ignored"
		}
		if d.Field == "ra" && c.version <= sframe.V1 && c.Arch.LR != arch.NoReg && d.SFrame.RA == d.CFI.FP {
			return "fp-as-ra"
		}
	}
	return ""
}

// overlapped reports whether a row is that of an entry of .plt.sec, and the code is at
// most 32 bytes behind that section.
func (c *comparison) overlapped(d *Difference) bool {
	const entry = 16
	return !strings.HasPrefix(c.Section(d.Lo), ".plt") && (c.Section(d.Lo-entry) == ".plt.sec" || c.Section(d.Lo-2*entry) == ".plt.sec") &&
		d.SFrame != nil && d.SFrame.CFA == arch.RegOffset(c.Arch.SP, 8)
}

// raRestored reports whether the return address is where calls push it, but SFrame has
// another place that only rows of version 3 can have.
func (c *comparison) raRestored(d *Difference) bool {
	fixed := int64(c.Arch.SFrame.FixedRA)
	return c.version == sframe.V3 && fixed != 0 && d.CFI.RA == arch.AtCFA(fixed)
}

// Explain compares a row of SFrame with the row that call frame information has for
// the same pc. It returns how they differ, the rule that does ("cfa", "ra", "fp", or ""
// if it is a mark), and the ID of the [Habit] that explains it, "" if none does. The
// cause is "" if the rows agree. version is that of the table, and section is the name
// of the section that the pc is in.
func Explain(a *arch.Arch, version sframe.Version, section string, s, want *arch.Row) (cause Cause, field, habit string) {
	c := comparison{Module: Module{Arch: a, Section: func(uint64) string { return section }}, version: version}
	if cause, field = c.differ(s, want); cause == "" {
		return "", "", ""
	}
	return cause, field, c.habit(&Difference{Cause: cause, Field: field, SFrame: s, CFI: want})
}

// truncated reports whether short is long cut off to 8 or 16 bits.
func truncated(short, long int64) bool {
	return short == int64(int8(long)) || long != int64(int16(long)) && short == int64(int16(long))
}

// whyMissing returns the habit that explains why SFrame has no function for an
// FDE.
func (c *comparison) whyMissing(g *gaps) string {
	for i := range g.list {
		switch s := &g.list[i]; {
		case s.kind == found && expressible(c.version, c.Arch, &s.row):
		case s.kind == found && s.row.Outermost():
			return "outermost-before-v3"
		default:
			return "inexpressible"
		}
	}
	if strings.HasPrefix(c.Section(g.fn), ".plt") {
		return "plt-missing"
	}
	return ""
}

// expressible reports whether rows of a version can say what a row of CFI says.
// For aarch64 that is what gas does: flexible rows exist, but it does not write
// them.
func expressible(version sframe.Version, a *arch.Arch, r *arch.Row) bool {
	if r.Outermost() {
		return version >= sframe.V3
	}
	flex := version == sframe.V3 && !a.PAC
	inRegister := flex || version == sframe.V2 && a.LR != arch.NoReg && !a.PAC // s390x
	for _, rule := range []arch.Rule{r.CFA, r.RA, r.FP} {
		if rule == expression || rule.Off != int64(int32(rule.Off)) {
			return false
		}
	}
	ra := arch.AtCFA(-8)
	if a.LR != arch.NoReg {
		ra = arch.SameValue(a.LR)
	}
	switch {
	case r.CFA.Base != arch.Register,
		r.CFA.Deref && !flex, // in memory
		r.CFA.Reg != a.SP && r.CFA.Reg != a.FP && !flex:
		return false
	case r.RA == ra:
	case a.LR == arch.NoReg && !flex,
		r.RA.Base == arch.Register && !inRegister:
		return false
	}
	switch {
	case r.FP == arch.SameValue(a.FP), r.FP.Base == arch.Undefined:
	case r.FP.Base == arch.Register && !inRegister,
		a.PAC && r.RA == ra,                  // gas saves FP with RA only
		r.FP.Base == arch.CFA && !r.FP.Deref: // a value, not what is stored
		return false
	}
	return !r.Signal || version >= sframe.V3
}
