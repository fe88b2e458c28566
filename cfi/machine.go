package cfi

import (
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/expr"
	"github.com/sfcore/sfcore/memreader"
)

// Machine finds rows. The zero Machine is ready for use with any sections. It holds
// about 40 KiB of state, so that finding a row allocates nothing. It is not safe for
// concurrent use.
type Machine struct {
	// Work counts the bytes of call frame programs that were run and, twice, the
	// operations of expressions.
	Work int

	arch    *arch.Arch
	state   state
	initial *state // by the CIE; nil while that is being run
	depth   int    // of saved
	saved   [maxRemember]state
	expr    expr.Machine
	context expr.Context // of the expression being evaluated
	extra   [arch.NumRegs]arch.RegRule
	exprs   []Expr
	cies    [cieSlots]cachedCIE
}

// cieSlots is the size of the cache of CIEs. A library has about five, of
// which one or two are in constant use.
const (
	cieBits  = 5
	cieSlots = 1 << cieBits
)

// cachedCIE is a CIE and the row that its initial instructions make.
type cachedCIE struct {
	s     *Section
	cie   cie
	state state
}

// Find gives the row that s has for pc. It evaluates expressions, with regs, the
// registers at pc, and mem, which may be nil; their results are Absolute rules in
// the row. The row's Extra is valid until the Machine is used again. A rule that is
// a register and an offset is returned unchanged, whether regs has the register or
// not.
//
// Found is false with no error if no FDE covers pc. The error is a [*FormatError] if
// the information is damaged. If the CFA or the return address needs an unknown
// register or missing memory, the error wraps a [*RegisterError] or a
// [*memreader.FaultError]. A rule of another register that needs these is
// Undefined.
//
// Of several FDEs that cover pc, the one that begins last is used.
func (m *Machine) Find(s *Section, pc uint64, regs *arch.Regs, mem *memreader.Words, row *arch.Row) (found bool, err error) {
	var p program
	if found, err = m.enter(s, pc, &p); !found {
		return false, err
	}
	begin := p.c.pos
	for {
		next, ok, err := m.step(&p)
		if err != nil {
			m.Work += p.c.pos - begin
			return false, err
		}
		if !ok || next > pc {
			break
		}
		p.loc = next
	}
	m.Work += p.c.pos - begin
	x := context{m: m, s: s, regs: regs, mem: mem}
	if err := x.row(&p, p.loc, row); err != nil {
		return false, err
	}
	return true, nil
}

// enter finds the FDE that covers pc and prepares to run its program.
func (m *Machine) enter(s *Section, pc uint64, p *program) (found bool, err error) {
	ix := s.lookup()
	if ix == nil {
		found, err := m.search(s, pc, p)
		if err == nil {
			return found, nil
		}
		ix = s.doWithoutTable(err)
	}
	e, ok := ix.search(pc)
	if !ok {
		return false, ix.damage
	}
	f, err := m.begin(s, uint64(e.off), p)
	if err != nil {
		return false, err
	}
	if !f.covers(pc) {
		return false, ix.damage
	}
	return true, nil
}

// search looks pc up in the table, and trusts the table as far as FDEs confirm it.
// If no FDE covers pc, the FDEs on both sides must begin where the table says;
// otherwise the error says which one does not.
func (m *Machine) search(s *Section, pc uint64, p *program) (found bool, err error) {
	i := s.table.search(pc)
	for _, i := range [...]int{i, i + 1} {
		if i < 0 || i == s.table.n {
			continue
		}
		f, err := m.begin(s, s.table.fde(i)-s.origin.self, p)
		if err != nil {
			return false, err
		}
		if f.start != s.table.pc(i) {
			return false, s.table.entryError(i, fmt.Sprintf("%#x, but the FDE begins at %#x", s.table.pc(i), f.start))
		}
		if f.covers(pc) {
			return true, nil
		}
	}
	return false, nil
}

// begin reads the FDE at off and makes p its program, at the first row.
func (m *Machine) begin(s *Section, off uint64, p *program) (f fde, err error) {
	if off >= uint64(len(s.data)) {
		return f, s.formatError(0, "fde_address", "a table points out of the section")
	}
	var e entry
	if err := s.readEntry(int(off), &e); err != nil {
		return f, err
	}
	if e.empty || e.isCIE {
		return f, s.formatError(e.off, "CIE_pointer", "not an FDE")
	}
	k, err := m.common(s, e.cie)
	if err != nil {
		return f, err
	}
	if err := s.readFDE(&e, &k.cie, &f); err != nil {
		return f, err
	}
	m.state.assign(&k.state)
	m.arch, m.initial, m.depth = s.arch, &k.state, 0
	p.s, p.k, p.c = s, &k.cie, e.c
	p.fde, p.fn, p.loc = e.off, f.start, f.start
	return f, nil
}

// common returns the CIE at off, and the row that it makes.
func (m *Machine) common(s *Section, off int) (*cachedCIE, error) {
	// The length stands for the section, whose address Go does not give away;
	// the factor is 2^64 divided by the golden ratio [Knuth, 6.4].
	slot := &m.cies[uint64(off+len(s.data))*0x9e3779b97f4a7c15>>(64-cieBits)]
	if slot.s == s && slot.cie.off == off {
		return slot, nil
	}
	slot.s = nil
	var err error
	if slot.cie, err = s.cieAt(off); err != nil {
		return nil, err
	}
	k := &slot.cie
	m.state.assign(&state{})
	m.arch, m.initial, m.depth = s.arch, nil, 0
	p := program{s: s, k: k, fde: off, c: cursor{data: s.data[:k.end], pos: k.prog, big: s.arch.BigEndian}}
	_, more, err := m.step(&p)
	m.Work += p.c.pos - k.prog
	if err != nil {
		return nil, err
	}
	if more {
		return nil, s.formatError(k.prog, "initial_instructions", "they change the location")
	}
	slot.state.assign(&m.state)
	slot.s = s
	return slot, nil
}
