package cfi

import (
	"iter"

	"github.com/sfcore/sfcore/arch"
)

// FDE is a frame description entry.
type FDE struct {
	Off    uint64 // of the entry, in bytes from the start of the section
	CIE    uint64 // offset of its CIE
	Start  uint64 // run-time address of the first byte that it covers
	Size   uint64 // bytes of code that it covers
	Signal bool   // the code is a signal trampoline
	KeyB   bool   // return addresses are signed with key B of aarch64, not A
}

func (f *fde) public() FDE {
	return FDE{Off: uint64(f.off), CIE: uint64(f.cie), Start: f.start, Size: f.size, Signal: f.signal, KeyB: f.keyB}
}

// FDEs yields the FDEs in the order of the section. A damaged one yields a
// [*FormatError], as does a length that ends the sequence early.
func (s *Section) FDEs() iter.Seq2[FDE, error] {
	return func(yield func(FDE, error) bool) {
		for f, err := range s.entries() {
			if !yield(f.public(), err) {
				return
			}
		}
	}
}

// Lookup returns the FDE that [Machine.Find] uses for pc. Its outcomes are those of
// Find, except the errors of programs.
func (m *Machine) Lookup(s *Section, pc uint64) (f FDE, found bool, err error) {
	var p program
	if found, err = m.enter(s, pc, &p); !found {
		return FDE{}, false, err
	}
	e, err := m.begin(s, uint64(p.fde), &p)
	if err != nil {
		return FDE{}, false, err
	}
	return e.public(), true, nil
}

// Row is the row of a program for a range of addresses.
type Row struct {
	// Lo and Hi bound the run-time addresses: Lo <= pc < Hi.
	Lo, Hi uint64
	// Row has the rules that need no evaluation. The others are Undefined in Row,
	// and listed in Exprs.
	arch.Row
	Exprs []Expr
}

// Expr is a rule that a DWARF expression gives.
type Expr struct {
	// Reg is the register that the rule recovers. Arch.PC stands for the return
	// address, and arch.NoReg for the CFA.
	Reg arch.Reg
	// Value is set if the expression computes the value, not the address where
	// the value is stored.
	Value bool
	// Code is the expression, a part of the section.
	Code []byte
}

// Rows yields the rows of an FDE from [Section.FDEs], in ascending order, without
// empty ones. A row, and the data it refers to, is valid until the next one; the
// Machine must not be used for anything else until then. A row without a rule for
// the CFA or the return address comes with an error. A damaged program yields an
// error after the rows before the damage.
func (m *Machine) Rows(s *Section, f FDE) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var p program
		e, err := m.begin(s, f.Off, &p)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for end, ok := e.start+e.size, true; ok && e.covers(p.loc); {
			lo, next := p.loc, uint64(0)
			if next, ok, err = m.step(&p); err != nil {
				yield(Row{}, err)
				return
			}
			p.loc = next
			if next == lo && ok {
				continue
			}
			row := Row{Lo: lo, Hi: end}
			if ok && e.covers(next) {
				row.Hi = next
			}
			x := context{m: m, s: s, symbolic: true, exprs: m.exprs[:0]}
			err := x.row(&p, lo, &row.Row)
			m.exprs, row.Exprs = x.exprs, x.exprs
			if !yield(row, err) {
				return
			}
		}
	}
}
