package sframe

import "github.com/sfcore/sfcore/arch"

// value is the CFA, the return address or the frame pointer as a row gives it.
type value struct {
	from  from
	deref bool
	reg   uint32 // DWARF number of the base register where from is fromReg
	off   int64  // bytes
}

type from uint8

const (
	untracked from = iota // the row does not say; the header may
	padded                // RA only: as untracked, but a zero word stands for it
	fromCFA
	fromReg
)

// values reads the data words of a row that has some.
func (f *Func) values(e *FRE) (cfa, ra, fp value, err *FormatError) {
	if f.Flexible() {
		cfa, ra, fp, err = f.flexible(e)
	} else {
		cfa, ra, fp = f.regular(e)
	}
	a := &f.table.Arch.SFrame
	cfa.off = cfa.off*a.CFAFactor + a.CFABase
	return cfa, ra, fp, err
}

// regular reads a row of the default FDE type: the offset of the CFA from the base
// register, and then the offsets of RA and FP from the CFA, unless the header fixes
// them. Further words have no meaning [SFrame 3, 3].
func (f *Func) regular(e *FRE) (cfa, ra, fp value) {
	t := f.table
	base := t.Arch.FP
	if e.Info&freBaseSP != 0 {
		base = t.Arch.SP
	}
	cfa = value{from: fromReg, reg: uint32(base), off: int64(e.Word(0))}

	first, second := &ra, &fp
	if t.ver.fpBeforeRA {
		first, second = &fp, &ra
	}
	n := 1
	for _, v := range [...]*value{first, second} {
		if v == &ra && t.FixedRA != 0 || v == &fp && t.FixedFP != 0 || n >= e.Count() {
			continue
		}
		*v = t.stored(e.Word(n))
		if v == &ra && v.off == 0 && v.from == fromCFA {
			*v = value{from: padded}
		}
		n++
	}
	return cfa, ra, fp
}

// stored decodes the word for the location of a register: its offset from the CFA or,
// for some ABIs, the register that holds it [SFrame 2 errata 1, 3.3].
func (t *Table) stored(w int32) value {
	if w&1 != 0 && t.ver.regWords && t.Arch.SFrame.RegWords {
		return value{from: fromReg, reg: uint32(w >> 1)}
	}
	return value{from: fromCFA, deref: true, off: int64(w)}
}

// Bits of a control word [SFrame 3, 2.4].
const (
	controlReg      = 1 << 0
	controlDeref    = 1 << 1
	controlUnused   = 1 << 2
	controlRegShift = 3
)

// flexible reads a row of FDE type FLEX: pairs of control word and offset for
// CFA, RA and FP. One zero word stands for RA if only FP follows. The pseudocode
// in the text has the index of FP the wrong way round; this is how gas writes,
// and how libsframe reads it.
func (f *Func) flexible(e *FRE) (cfa, ra, fp value, err *FormatError) {
	n := e.Count()
	padding := n == 5 && e.Control(2) == 0
	if !padding && n != 2 && n != 4 && n != 6 {
		return cfa, ra, fp, f.rowDamage(e, "flex-word-count", "%d data words do not form pairs for CFA, RA and FP", n)
	}
	if cfa, err = f.controlled(e, 0); err != nil {
		return cfa, ra, fp, err
	}
	if cfa.from != fromReg {
		return cfa, ra, fp, f.rowDamage(e, "flex-cfa-base", "the control word %#x of the CFA names no register", e.Control(0))
	}
	switch {
	case padding:
		ra = value{from: padded}
		fp, err = f.flexibleFP(e, 3)
	case n >= 4:
		if e.Control(2) == 0 {
			return cfa, ra, fp, f.rowDamage(e, "flex-ra-control-zero", "a zero control word of RA is padding, which a row of %d data words cannot have", n)
		}
		ra, err = f.controlled(e, 2)
		if n == 6 && err == nil {
			fp, err = f.flexibleFP(e, 4)
		}
	}
	return cfa, ra, fp, err
}

// flexibleFP reads the pair of words for FP at i. CFA + offset, which is no
// place to keep a register, stands for "not tracked", as it does for RA.
func (f *Func) flexibleFP(e *FRE, i int) (value, *FormatError) {
	if e.Control(i) == 0 {
		return value{}, nil
	}
	return f.controlled(e, i)
}

// controlled reads the pair of words at i.
func (f *Func) controlled(e *FRE, i int) (v value, err *FormatError) {
	c := e.Control(i)
	if c&controlUnused != 0 {
		return v, f.rowDamage(e, "flex-control-reserved", "the control word %#x has an undefined bit", c)
	}
	v = value{from: fromCFA, deref: c&controlDeref != 0, off: int64(e.Word(i + 1))}
	if c&controlReg != 0 {
		v.from, v.reg = fromReg, c>>controlRegShift
	}
	return v, nil
}

// Row translates a row of the function. The result shares nothing with the
// section. A row that marks the outermost frame gives an undefined RA; an
// error is a [*FormatError].
func (f *Func) Row(e *FRE, row *arch.Row) error {
	if err := f.row(e, row); err != nil {
		return err
	}
	return nil
}

func (f *Func) row(e *FRE, row *arch.Row) *FormatError {
	*row = arch.Row{Signal: f.Signal()}
	if e.Count() == 0 {
		if !f.table.ver.outermost {
			return f.rowDamage(e, "fre-without-words", "a row of version %s has no offsets", f.table.Version)
		}
		return nil
	}
	cfa, ra, fp, err := f.values(e)
	if err != nil {
		return err
	}
	t := f.table
	row.SignedRA = t.Arch.PAC && e.MangledRA(f)
	if err := f.rule(e, &row.CFA, &cfa, 0, arch.NoReg); err != nil {
		return err
	}
	if err := f.rule(e, &row.RA, &ra, t.FixedRA, t.Arch.LR); err != nil {
		return err
	}
	return f.rule(e, &row.FP, &fp, t.FixedFP, t.Arch.FP)
}

// rule translates one value into r. If the row does not give it, it is stored
// at the header's fixed offset from the CFA or, without one, still in register
// same.
func (f *Func) rule(e *FRE, r *arch.Rule, v *value, fixed int8, same arch.Reg) *FormatError {
	a := f.table.Arch
	switch {
	case v.from == fromCFA:
		r.Base = arch.CFA
	case v.from == fromReg:
		reg, ok := a.FromDWARF(uint64(v.reg))
		if !ok {
			return f.rowDamage(e, "register-unknown", "%d is not a register that can be tracked on %s", v.reg, a.Name)
		}
		r.Base, r.Reg = arch.Register, reg
	case fixed != 0:
		r.Base, r.Off, r.Deref = arch.CFA, int64(fixed), true
		return nil
	case same != arch.NoReg:
		r.Base, r.Reg = arch.Register, same
		return nil
	default:
		return f.rowDamage(e, "ra-missing", "neither the row nor the header says where the return address is, and %s has no link register", a.Name)
	}
	r.Off, r.Deref = v.off, v.deref
	return nil
}

// MangledRA reports whether the return address is signed in this row of f
// (mangled_ra_p; AArch64 only).
func (e *FRE) MangledRA(f *Func) bool { return e.Info&^f.table.ver.freUnused&freMangledRA != 0 }

// rowDamage is damage in the info byte or in the words after it.
func (f *Func) rowDamage(e *FRE, id, format string, args ...any) *FormatError {
	return damage(id, e.infoAt(f.startWidth()), f.table.ver.fre.info, format, args...)
}
