package unwind

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxPath bounds the instructions that are followed from one address.
	maxPath = 1 << 10

	// maxScan bounds the stack that is searched for a return address, in bytes.
	maxScan = 16 << 10

	// maxCodeWork bounds the words of stacks that one Unwinder looks at and, each
	// counted as followCost words, the instructions that it follows: less
	// than a second. Paths are remembered, so that only forged stacks need as many.
	maxCodeWork = 1 << 23
	followCost  = 16

	// maxUndescribed bounds the distance, in bytes, from the start of a function
	// that no table describes, or of one that ends in a jump there.
	maxUndescribed = 1 << 16

	// maxBase bounds the stack, in bytes, of a function that the first one of a
	// thread calls. Those of musl have 48.
	maxBase = 256

	// stackAlign is what CFAs are multiples of, in bytes [System V psABI, 3.2.2].
	// Compilers forget that only where they know what is called.
	stackAlign = 16

	// codeRegs is how many registers are followed: the general ones of amd64.
	codeRegs = 16
)

// CodeStepper follows the instructions of a function that no table describes.
// It knows amd64 only. Where a direct call before an address on the stack may
// have been to this function, it goes from there to pc, and that address has to
// be next to the CFA. Otherwise it goes from pc to where the function returns;
// where it does not, the thread may have begun in the function before.
type CodeStepper struct {
	now, later []onPath
	seen       map[uint64]bool
	paths      map[path]*onPath // those followed; nil if they do not lead there
	extra      []arch.RegRule
	work       int
}

// path is from an instruction to another, or to a return if to is 0.
type path struct{ from, to uint64 }

// onPath is what is known when an instruction is reached, by the CFA at the
// function's start or the registers at pc: SP and FP, and of registers where
// they were pushed to or popped from, if they were.
type onPath struct {
	at     uint64
	sp, fp arch.Rule
	moved  [codeRegs]arch.Rule
}

// Method implements [Stepper].
func (*CodeStepper) Method() Method { return Code }

// Row implements [Stepper].
func (s *CodeStepper) Row(c *Cursor, row *arch.Row) (bool, error) {
	a := c.Arch
	pc, ok1 := c.Regs.Get(a.PC)
	sp, ok2 := c.Regs.Get(a.SP)
	if !ok1 || !ok2 || a.LR != arch.NoReg || atEntry(c.Module, c.PC) {
		return false, nil
	}
	for at := sp &^ 7; at-sp&^7 < maxScan; at += 8 {
		ra, err := c.Mem.Uint64(at)
		if s.work++; err != nil || s.work > maxCodeWork {
			break
		}
		start, ok := calledBefore(c, ra, pc)
		if !ok {
			continue
		}
		if p := s.fromStart(c, start, pc); p != nil && s.entered(c, p, at+8, row) {
			return true, nil
		}
	}
	return s.returns(c, pc, row) || s.atBase(c, sp, row), nil
}

// calledBefore returns where the call before ra goes to, if that is near pc.
func calledBefore(c *Cursor, ra, pc uint64) (start uint64, ok bool) {
	code, err := c.Code.Bytes(ra-callSize, callSize)
	if err != nil || !c.Arch.EndsInCall(code) {
		return 0, false
	}
	start, ok, slot, linked := calleeOf(c.Arch, c.Code, code, ra)
	if linked {
		start, err = c.Code.Uint64(slot)
		ok = err == nil
	}
	return start, ok && pc-start+maxUndescribed < 2*maxUndescribed
}

// fromStart returns what is known at pc if the function at start, or one that it
// ends in a jump to, goes there; otherwise nil.
func (s *CodeStepper) fromStart(c *Cursor, start, pc uint64) *onPath {
	from := onPath{at: start, sp: arch.Rule{Base: arch.CFA, Off: -8}, fp: arch.SameValue(c.Arch.FP)}
	return s.follow(c, from, pc, func(p *onPath, _ *disasm.Flow) verdict {
		if p.at == pc {
			return arrived
		}
		return goOn
	})
}

// entered makes the row of a function that was followed from its start, and
// reports whether the CFA is as expected.
func (s *CodeStepper) entered(c *Cursor, p *onPath, cfa uint64, row *arch.Row) bool {
	a := c.Arch
	*row = arch.Row{RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP), CalleeSaved: true}
	switch {
	case p.sp.Base == arch.CFA:
		row.CFA = arch.RegOffset(a.SP, -p.sp.Off)
	case p.fp.Base == arch.CFA && !p.fp.Deref:
		row.CFA = arch.RegOffset(a.FP, -p.fp.Off)
	default:
		return false
	}
	if from, ok := c.Regs.Get(row.CFA.Reg); !ok || from+uint64(row.CFA.Off) != cfa {
		return false
	}
	s.restore(a, p, row)
	if row.FP.Base == arch.Register && p.fp != arch.SameValue(a.FP) {
		row.FP = arch.Rule{}
	}
	return true
}

// returns makes the row of a function by the code from pc on. It finds nothing
// if that makes room on the stack, which functions do only at their start:
// behind a call that does not return, it may be another's. Of one that does not
// make room, the CFA is then none by the ABI.
func (s *CodeStepper) returns(c *Cursor, pc uint64, row *arch.Row) bool {
	a := c.Arch
	from := onPath{at: pc, sp: arch.SameValue(a.SP), fp: arch.SameValue(a.FP)}
	p := s.follow(c, from, 0, func(p *onPath, f *disasm.Flow) verdict {
		switch {
		case f.Entry, f.Push != arch.NoReg, f.SP.Base == arch.Register && f.SP.Reg == a.SP && f.SP.Off < 0:
			return leave
		case f.Next == disasm.Return && p.sp.Base == arch.Register:
			return arrived
		}
		return goOn
	})
	if p == nil {
		return false
	}
	*row = arch.Row{CFA: p.sp, RA: arch.AtCFA(-8), FP: p.fp, CalleeSaved: true}
	row.CFA.Off += 8
	s.restore(a, p, row)
	cfa, ok := c.Regs.Get(row.CFA.Reg)
	if cfa += uint64(row.CFA.Off); !ok || cfa%stackAlign != 0 {
		return false
	}
	ra, err := c.Mem.Uint64(cfa - 8)
	if err != nil {
		return false
	}
	start, ok := calledBefore(c, ra, pc)
	return !ok || start <= pc || s.fromStart(c, start, pc) != nil
}

// atBase makes the row of a function that the first one of a thread called, by a
// call that does not tell where it goes: the first return address on the stack
// is in code that has no caller.
func (s *CodeStepper) atBase(c *Cursor, sp uint64, row *arch.Row) bool {
	if c.Module == nil {
		return false
	}
	for at := sp &^ 7; at-sp&^7 < maxBase; at += 8 {
		ra, err := c.Mem.Uint64(at)
		if s.work++; err != nil || s.work > maxCodeWork {
			return false
		}
		code, err := c.Code.Bytes(ra-callSize, callSize)
		if err != nil || !c.Arch.EndsInCall(code) {
			continue
		}
		place := c.Find(ra - 1)
		if !place.Executable {
			continue
		}
		*row = arch.Row{CFA: arch.RegOffset(c.Arch.SP, int64(at+8-sp)), RA: arch.AtCFA(-8)}
		return (at+8)%stackAlign == 0 && (atEntry(place.Module, ra-1) || deadEnd(c.Arch, c.Code, ra, true))
	}
	return false
}

// restore adds the rules of the registers that were pushed or popped.
func (s *CodeStepper) restore(a *arch.Arch, p *onPath, row *arch.Row) {
	s.extra = s.extra[:0]
	for reg, rule := range p.moved {
		switch reg := arch.Reg(reg); {
		case rule.Base == arch.Undefined:
		case reg == a.FP:
			row.FP = rule
		case a.CalleeSaved.Has(reg):
			s.extra = append(s.extra, arch.RegRule{Reg: reg, Rule: rule})
		}
	}
	row.Extra = s.extra
}

// verdict is what becomes of a path.
type verdict uint8

const (
	goOn verdict = iota
	leave
	arrived
)

// follow follows the paths from an instruction until one arrives, or remembers
// where that led.
func (s *CodeStepper) follow(c *Cursor, from onPath, to uint64, judge func(*onPath, *disasm.Flow) verdict) *onPath {
	way := path{from.at, to}
	p, known := s.paths[way]
	if !known {
		if s.paths == nil {
			s.paths = make(map[path]*onPath)
		}
		if p = s.arrive(c, from, judge); s.work <= maxCodeWork {
			s.paths[way] = p
		}
	}
	return p
}

// arrive follows the paths from an instruction until one arrives. Those through
// fewer calls come first: a call may not return.
func (s *CodeStepper) arrive(c *Cursor, from onPath, judge func(*onPath, *disasm.Flow) verdict) *onPath {
	s.seen = map[uint64]bool{}
	s.now, s.later = append(s.now[:0], from), s.later[:0]
	for n := 0; n < maxPath; n++ {
		if len(s.now) == 0 {
			s.now, s.later = s.later, s.now
		}
		if s.work += followCost; len(s.now) == 0 || s.work > maxCodeWork {
			return nil
		}
		p := s.now[len(s.now)-1]
		s.now = s.now[:len(s.now)-1]
		if s.seen[p.at] {
			continue
		}
		s.seen[p.at] = true
		f := disasm.FlowOf(c.Arch, codeAfter(c.Code, p.at), p.at)
		switch judge(&p, &f) {
		case arrived:
			return &p
		case leave:
			continue
		case goOn:
		}
		p.pass(c.Arch, &f)
		next := p
		next.at += uint64(f.Size)
		switch f.Next {
		case disasm.Nowhere, disasm.Halt, disasm.Return:
		case disasm.Through, disasm.System:
			s.now = append(s.now, next)
		case disasm.Call:
			s.later = append(s.later, next)
		case disasm.Jump:
			p.at = f.Target
			s.now = append(s.now, p)
		case disasm.Branch:
			p.at = f.Target
			s.now = append(s.now, p, next)
		}
	}
	return nil
}

// pass applies an instruction.
func (p *onPath) pass(a *arch.Arch, f *disasm.Flow) {
	sp, fp := p.value(a, f.SP), p.value(a, f.FP)
	if f.Push < codeRegs && p.moved[f.Push].Base == arch.Undefined && (f.Push != a.FP || p.fp == arch.SameValue(a.FP)) && sp.Base != arch.Undefined {
		p.moved[f.Push] = sp
		p.moved[f.Push].Deref = true
	}
	if f.Pop < codeRegs {
		from := p.sp
		if f.Pop == a.FP {
			from = fp
		}
		from.Deref = true
		switch {
		case from.Base == arch.CFA && p.moved[f.Pop] == from: // as it was at the function's start
			p.moved[f.Pop] = arch.Rule{}
			if f.Pop == a.FP {
				fp = arch.SameValue(a.FP)
			}
		case from.Base == arch.Register:
			p.moved[f.Pop] = from
		}
	}
	p.sp, p.fp = sp, fp
}

// value returns what a rule in terms of SP and FP gives.
func (p *onPath) value(a *arch.Arch, r arch.Rule) arch.Rule {
	from := p.sp
	if r.Reg == a.FP {
		from = p.fp
	}
	if r.Base == arch.Undefined || from.Base == arch.Undefined || from.Deref && r != arch.SameValue(a.FP) {
		return arch.Rule{}
	}
	from.Off += r.Off
	from.Deref = from.Deref || r.Deref
	return from
}

// codeAfter returns code at pc, as much as the longest instruction takes or
// there is.
func codeAfter(code *memreader.Words, pc uint64) []byte {
	for size := disasm.MaxSize; size > 0; size-- {
		if b, err := code.Bytes(pc, size); err == nil {
			return b
		}
	}
	return nil
}

// atEntry reports whether pc is in the program's first function, which does not
// return.
func atEntry(m *Module, pc uint64) bool {
	return m != nil && m.Entry != 0 && pc-m.Entry < entrySize
}

// mayCall reports whether a call may have led to pc, where nothing tells in
// which function that is: it goes to code nearby, which no table describes
// either, or by jumps.
func (u *Unwinder) mayCall(c *call, pc uint64) bool {
	if !c.known {
		return true
	}
	near, place := function{pc - maxUndescribed, 2 * maxUndescribed}, u.Find(c.target)
	if near.contains(c.target) {
		if _, described := u.functionAt(place.Module, c.target); !described {
			return true
		}
	}
	return place.Executable && u.leadsTo(c.target, &near)
}
