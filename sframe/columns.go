package sframe

import (
	"fmt"

	"github.com/sfcore/sfcore/arch"
)

// Columns are the contents of a row, in the notation of objdump and readelf:
//
//	sp+16     base register and offset
//	c-16      at that offset from the CFA
//	(fp+0)    at the address fp+0
//	r16       in the register with DWARF number 16; r16+0 in a flexible row
//	f         at the place that the header fixes
//	u, U      not tracked: unchanged; U where a zero word stands for it
//	[s]       RA only: signed
//
// In a row that marks the outermost frame CFA and FP are empty and RA is
// "undefined".
type Columns struct{ CFA, FP, RA string }

// Columns shows the contents of a row of the function. It shows registers whether
// they can be tracked or not. The error is a [*FormatError].
func (f *Func) Columns(e *FRE) (Columns, error) {
	if e.Count() == 0 {
		return Columns{RA: "undefined"}, nil
	}
	cfa, ra, fp, err := f.values(e)
	if err != nil {
		return Columns{}, err
	}
	t := f.table
	c := Columns{CFA: cfa.format(t.Arch, false), FP: fp.format(t.Arch, !f.Flexible()), RA: ra.format(t.Arch, !f.Flexible())}
	if ra.from == untracked && t.FixedRA != 0 {
		c.RA = "f"
	}
	if fp.from == untracked && t.FixedFP != 0 {
		c.FP = "f"
	}
	if e.MangledRA(f) {
		c.RA += "[s]"
	}
	return c, nil
}

// format writes the value; "+0" is left out of a plain register where short.
func (v value) format(a *arch.Arch, short bool) string {
	var base string
	switch v.from {
	case untracked:
		return "u"
	case padded:
		return "U"
	case fromCFA:
		base = "c"
	case fromReg:
		base = fmt.Sprintf("r%d", v.reg)
		switch v.reg {
		case uint32(a.SP):
			base = "sp"
		case uint32(a.FP):
			base = "fp"
		}
	}
	if v.off != 0 || v.deref || !short {
		base = fmt.Sprintf("%s%+d", base, v.off)
	}
	switch {
	case v.from == fromReg && v.deref:
		return "(" + base + ")"
	case v.from == fromCFA && !v.deref:
		return base + "(value)"
	}
	return base
}
