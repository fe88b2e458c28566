package gate

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
)

// causes are the findings for differences that no habit explains.
var causes = map[compare.Cause]string{
	compare.RuleLost:        "rule-lost",
	compare.WrongOffset:     "wrong-offset",
	compare.WrongRule:       "wrong-rule",
	compare.RowMissing:      "row-missing",
	compare.FunctionMissing: "function-missing",
	compare.OutermostMark:   "outermost-mark",
	compare.SignalMark:      "signal-mark",
	compare.SignedMark:      "signed-mark",
}

// missing are habits that leave functions out, and change no walk: other tables or the
// next method describe these functions.
var missing = map[string]bool{"plt-missing": true}

// differences adds where .sframe and call frame information disagree.
func (e *examination) differences(r *compare.Result) {
	a := archOf(e.module)
	for i := range r.Differences {
		d := &r.Differences[i]
		id := causes[d.Cause]
		severity := kinds[id].severity
		switch {
		case d.Habit == "":
		case d.Limit || missing[d.Habit]:
			id, severity = d.Habit, sframe.Note
		default:
			id, severity = d.Habit, sframe.Error
		}
		e.add(Finding{
			ID: id, Severity: severity, Function: e.function(d.Func), Field: d.Field, Addr: d.Lo, Off: -1,
			Msg: strings.TrimSpace(fmt.Sprintf("%s at %#x: .sframe %s, .eh_frame %s", d.Cause, d.Lo, row(d.SFrame, d.Err, a), row(d.CFI, nil, a))),
		})
	}
	e.leftOut(r)
	for _, p := range r.Problems {
		e.found("not-compared", "", "%s", p)
	}
}

// leftOut tells of differences that are not listed.
func (e *examination) leftOut(r *compare.Result) {
	left, absent := -len(r.Differences), r.Counts[compare.FunctionMissing]
	for _, n := range r.Counts {
		left += n
	}
	for i := range r.Differences {
		if r.Differences[i].Cause == compare.FunctionMissing {
			absent--
		}
	}
	switch {
	case left > absent: // one that fails may be among them
		e.omitted(sframe.Error, left)
	case left > 0:
		e.omitted(sframe.Note, left)
	}
}

func row(r *arch.Row, err error, a *arch.Arch) string {
	switch {
	case err != nil:
		return err.Error()
	case r == nil:
		return "has none"
	case r.Outermost():
		return "says outermost"
	}
	return "says " + compare.Format(r, a)
}
