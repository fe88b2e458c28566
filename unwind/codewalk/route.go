package codewalk

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// maxPath bounds the instructions that are followed from one address.
	maxPath = 1 << 13

	// codeRegs is how many registers are followed: the general ones.
	codeRegs = 31

	// maxRoutes is how many routes are remembered. Each takes some 600 bytes. The
	// code of one program that no table describes has fewer.
	maxRoutes = 1 << 13
)

// toLeave is no address of an instruction.
const toLeave = 1

// route is a question: what is known about the registers when the code that begins
// at from has reached the instruction at to? If to is 0, the code must reach a
// return. inLR tells whether the link register may hold the return address at the
// start, and exact whether the instruction at from was being executed. If to is
// toLeave, the code must leave its frame by the frame pointer.
type route struct {
	from, to    uint64
	inLR, exact bool
}

// state is what is known when an instruction is reached. Rules are relative to
// the CFA if the path begins at the function's start, or to the registers at pc if
// it begins there. sp, fp and ra are the rules for SP, FP and the return address
// in the link register. moved says where registers were stored, or from where they
// were loaded.
type state struct {
	at         uint64
	sp, fp, ra arch.Rule
	moved      [codeRegs]arch.Rule
	// late are registers that the code after pc stores. At pc, the memory does not
	// hold them yet. lost are registers whose value is unknown because such memory
	// was loaded, or memory at an unknown address.
	late, lost arch.RegSet
	// kept are those of late whose value at pc was stored, at the place that moved
	// has.
	kept arch.RegSet
	// called is set if the path has a call, which may not return.
	called bool
}

// verdict says what to do with a path at an instruction.
type verdict uint8

const (
	goOn    verdict = iota
	giveUp          // the path leads elsewhere
	reached         // the path has reached its goal
)

// follow answers a route, from memory if it was asked before. It returns nil if
// no path leads there.
func (s *Stepper) follow(c *unwind.Cursor, from state, way route, judge func(*state, *disasm.Flow) verdict) *state {
	p, known := s.routes[way]
	if !known {
		if s.routes == nil {
			s.routes = make(map[route]*state)
		}
		if len(s.routes) >= maxRoutes {
			clear(s.routes)
		}
		if p = s.search(c, from, judge); s.work <= maxCodeWork {
			s.routes[way] = p
		}
	}
	return p
}

// search follows the paths from an instruction until judge says that one has
// reached its goal. It follows paths with fewer calls first, because a call may
// not return.
func (s *Stepper) search(c *unwind.Cursor, from state, judge func(*state, *disasm.Flow) verdict) *state {
	if s.seen == nil {
		s.seen = make(map[uint64]bool)
	}
	clear(s.seen)
	p, f := &s.at, &s.flow
	s.now, s.later = append(s.now[:0], from), s.later[:0]
	for n := 0; n < maxPath; n++ {
		if len(s.now) == 0 {
			s.now, s.later = s.later, s.now
		}
		if s.work += followCost; len(s.now) == 0 || s.work > maxCodeWork {
			return nil
		}
		*p = s.now[len(s.now)-1]
		s.now = s.now[:len(s.now)-1]
		if s.seen[p.at] {
			continue
		}
		s.seen[p.at] = true
		*f = disasm.FlowOf(c.Arch, disasm.CodeAt(c.Code, p.at), p.at)
		switch judge(p, f) {
		case reached:
			there := *p
			return &there
		case giveUp:
			continue
		case goOn:
		}
		p.execute(c.Arch, f)
		next := *p
		next.at += uint64(f.Size)
		switch f.Next {
		case disasm.Nowhere, disasm.Halt, disasm.Exit, disasm.Return:
		case disasm.Through, disasm.System:
			s.now = append(s.now, next)
		case disasm.Call:
			next.called = true
			s.later = append(s.later, next)
		case disasm.Jump:
			p.at = f.Target
			s.now = append(s.now, *p)
		case disasm.Branch:
			p.at = f.Target
			s.now = append(s.now, *p, next)
		}
	}
	return nil
}

// execute applies an instruction.
func (p *state) execute(a *arch.Arch, f *disasm.Flow) {
	next := *p
	next.sp, next.fp, next.ra = p.value(a, f.SP), p.value(a, f.FP), p.value(a, f.LR)
	for _, m := range f.Moves {
		at := p.value(a, m.At)
		unknown := at.Base == arch.Undefined || at.Deref
		at.Deref = true
		for i := range m.Num {
			switch reg := m.First + arch.Reg(i); {
			case reg >= codeRegs:
			case unknown && m.Load:
				next.lost |= 1 << reg
			case unknown:
			case m.Load:
				next.load(a, reg, at)
			default:
				next.store(a, p, reg, at)
			}
			at.Off += 8
		}
	}
	*p = next
}

// store notes where a register was saved. Only the first store counts, and only
// if the register still had the caller's value.
func (p *state) store(a *arch.Arch, before *state, reg arch.Reg, at arch.Rule) {
	switch {
	case at.Base != arch.CFA:
		if !p.late.Has(reg) && p.moved[reg].Base == arch.Undefined && before.value(a, arch.SameValue(reg)) == arch.SameValue(reg) {
			p.moved[reg] = at
			p.kept |= 1 << reg
		}
		p.late |= 1 << reg
	case p.moved[reg].Base != arch.Undefined:
	case before.value(a, arch.SameValue(reg)) != startValue(a, reg):
	default:
		p.moved[reg] = at
	}
}

// load notes that a register has its value from the function's start again. On a
// path from pc, it notes where the value was loaded from.
func (p *state) load(a *arch.Arch, reg arch.Reg, at arch.Rule) {
	value := startValue(a, reg)
	switch {
	case at.Base == arch.CFA && p.moved[reg] == at:
		p.moved[reg] = arch.Rule{}
		p.lost &^= 1 << reg
	case at.Base == arch.CFA:
		return
	case p.kept.Has(reg) && p.moved[reg] == at:
		value = arch.SameValue(reg)
		p.moved[reg] = arch.Rule{}
		p.late &^= 1 << reg
		p.kept &^= 1 << reg
	case p.late.Has(reg):
		p.kept &^= 1 << reg
		value = arch.Rule{}
		p.moved[reg] = value
		p.lost |= 1 << reg
	default:
		value = at
		p.moved[reg] = value
	}
	switch reg {
	case a.SP:
		p.sp = value
	case a.FP:
		p.fp = value
	case a.LR:
		p.ra = value
	default:
	}
}

// startValue returns what is known about a register at the start of a function.
func startValue(a *arch.Arch, reg arch.Reg) arch.Rule {
	switch reg {
	case a.SP:
		return arch.Rule{Base: arch.CFA, Off: -a.Entry.CFA.Off}
	case a.FP:
		return a.Entry.FP
	case a.LR:
		return a.Entry.RA
	default:
		return arch.SameValue(reg)
	}
}

// value returns the value of a rule that refers to SP, FP or the link register.
func (p *state) value(a *arch.Arch, r arch.Rule) arch.Rule {
	from := arch.SameValue(r.Reg)
	switch r.Reg {
	case a.SP:
		from = p.sp
	case a.FP:
		from = p.fp
	case a.LR:
		from = p.ra
	default:
	}
	if r.Base == arch.Undefined || from.Base == arch.Undefined || from.Deref && r != arch.SameValue(r.Reg) {
		return arch.Rule{}
	}
	from.Off += r.Off
	from.Deref = from.Deref || r.Deref
	return from
}
