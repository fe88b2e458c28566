package unwind

import (
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
)

const (
	// maxTails bounds the functions that a call may pass through by jumps
	// before the one that returns. Compilers rarely chain two.
	maxTails = 16

	// maxTailSteps bounds how many places one Unwinder tries for a jump: half a
	// second. What is found is remembered, so that large programs need some
	// thousands.
	maxTailSteps = 1 << 26

	// stubSize is how far into code that no table describes an indirect jump
	// makes it a stub, in bytes: linkage table entries and long-branch veneers
	// have up to 32.
	stubSize = 32

	// nearJump is how far the short jumps of amd64 go, in bytes.
	nearJump = 130

	// maxInsn is the longest jump that is looked for, in bytes.
	maxInsn = 6
)

// call is what a call says of the function that is to return from it.
type call struct {
	known  bool   // whether it tells where it goes
	target uint64 // of a direct call
	callee uint64 // what target, an entry of a linkage table, or the call itself jumps to
	bySlot bool   // whether there is a callee

	// last is the function that it was last compared with, and wrong whether
	// the call cannot have led there.
	last  function
	wrong bool
}

// function is a range of code that a table describes.
type function struct{ lo, size uint64 }

func (f *function) contains(pc uint64) bool { return pc-f.lo < f.size }

// calls reports whether a call may have led to the function that f is in: it
// goes there, to a jump that leads there, or to one that may lead anywhere. A
// return address that was overwritten by another one passes every other check.
func (u *Unwinder) calls(c *call, f *Frame) bool {
	pc := f.LookupPC()
	if c.last.contains(pc) {
		return !c.wrong
	}
	fn, ok := u.functionAt(f.Module, pc)
	if !ok {
		return true // nothing is known
	}
	reaches := u.reaches(c, &fn)
	c.last, c.wrong = fn, !reaches
	return reaches
}

func (u *Unwinder) reaches(c *call, fn *function) bool {
	u.tails.elsewhere = c.bySlot
	if c.bySlot {
		return fn.contains(c.callee) || fn.contains(c.target) || u.leadsTo(c.callee, fn) || u.mayBind(fn)
	}
	return fn.contains(c.target) || u.leadsTo(c.target, fn)
}

// functionAt returns the function that pc is in, by the module's tables.
func (u *Unwinder) functionAt(m *Module, pc uint64) (function, bool) {
	if m == nil {
		return function{}, false
	}
	if m.SFrame != nil {
		if f, ok, _ := m.SFrame.Lookup(pc); ok {
			return function{f.Start, uint64(f.Size)}, true
		}
	}
	if m.Go != nil {
		if f, ok := m.Go.Find(pc); ok {
			return function{f.Entry, f.End - f.Entry}, true
		}
	}
	for _, s := range m.CFI {
		if f, ok, _ := u.fdes().Lookup(s, pc); ok {
			return function{f.Start, f.Size}, true
		}
	}
	return function{}, false
}

// tailSearch is the work of leadsTo.
type tailSearch struct {
	todo  []function
	steps int

	// elsewhere is set where the search begins at a function of another module. It
	// may be written in assembly, parts of it in its neighbors, as the string
	// functions of C libraries are.
	elsewhere bool
}

// leadsTo reports whether jumps may lead from the code at target to fn. They
// may if code on the way cannot be read, or jumps to an address that it computes.
func (u *Unwinder) leadsTo(target uint64, fn *function) bool {
	t := &u.tails
	t.todo = append(t.todo[:0], u.codeAt(target))
	for i := 0; i < len(t.todo); i++ {
		if u.jumpsTo(t.todo[i], fn) || t.elsewhere && u.runsOn(t.todo[i], fn) {
			return true
		}
	}
	return false
}

// codeAt returns the function at an address, or code the size of a stub.
func (u *Unwinder) codeAt(addr uint64) function {
	if f, ok := u.functionAt(u.Find(addr).Module, addr); ok {
		return f
	}
	return function{addr, stubSize}
}

// jumpsTo is leadsTo for the jumps of one function. Those to other functions
// are added to what is to be done. On amd64, where instructions can begin
// anywhere, some that it sees are none.
func (u *Unwinder) jumpsTo(code function, fn *function) bool {
	t := &u.tails
	for at := code.lo; code.contains(at); at += u.Arch.InsnAlign {
		if t.steps++; t.steps > maxTailSteps {
			return false
		}
		size := min(maxInsn, code.size-(at-code.lo))
		insn, err := u.code.Bytes(at, int(size))
		if err != nil {
			return true
		}
		kind, target := u.Arch.Jump(insn, at)
		switch {
		case kind == arch.NoJump, kind == arch.DirectJump && code.contains(target):
			continue
		case kind == arch.IndirectJump:
			if u.endsFunction(at) {
				return true
			}
		case fn.contains(target):
			// Parts of one function are far apart.
			near := target-at+nearJump < 2*nearJump
			if (target == fn.lo || !near || t.elsewhere) && u.sameFrame(at, target) {
				return true
			}
		case len(t.todo) >= maxTails:
			if t.elsewhere {
				return true // for all that is known
			}
		default:
			next, ok := u.tailAt(target)
			if !ok && t.elsewhere {
				next, ok = u.functionAt(u.Find(target).Module, target)
			}
			if ok && !slices.Contains(t.todo, next) && u.sameFrame(at, target) {
				t.todo = append(t.todo, next)
			}
		}
	}
	return false
}

// endsFunction reports whether a jump at an address may be the last instruction of its
// function: the CFA is where it was at the first. What jumps to the cases of a
// switch does so with the frame in place.
func (u *Unwinder) endsFunction(at uint64) bool {
	cfa, ok := u.cfaAt(at)
	return !ok || cfa == u.Arch.Entry.CFA
}

// sameFrame reports whether the CFA is the same before and after a jump, as it
// has to be.
func (u *Unwinder) sameFrame(at, target uint64) bool {
	before, ok := u.cfaAt(at)
	if !ok {
		return true
	}
	after, ok := u.cfaAt(target)
	return !ok || before == after
}

// cfaAt returns the rule for the CFA at an address.
func (u *Unwinder) cfaAt(pc uint64) (arch.Rule, bool) {
	m := u.Find(pc).Module
	if m == nil {
		return arch.Rule{}, false
	}
	var row arch.Row
	if m.SFrame != nil {
		if ok, _ := m.SFrame.Find(pc, &row); ok {
			return row.CFA, true
		}
	}
	if m.Go != nil {
		if f, ok := m.Go.Find(pc); ok {
			delta, ok := f.SPDelta(pc)
			return arch.RegOffset(u.Arch.SP, u.Arch.Entry.CFA.Off+int64(delta)), ok
		}
	}
	for _, s := range m.CFI {
		if ok, _ := u.fdes().Find(s, pc, new(arch.Regs), nil, &row); ok {
			return row.CFA, true
		}
	}
	return arch.Rule{}, false
}

// fdes returns a machine that is not used for the walk.
func (u *Unwinder) fdes() *cfi.Machine {
	if u.machine == nil {
		u.machine = new(cfi.Machine)
	}
	return u.machine
}

// tailAt returns the code that a jump to target leads to: a function that
// begins there, or the stub of a linkage table, which is in the middle of what
// tables take for a function.
func (u *Unwinder) tailAt(target uint64) (function, bool) {
	place := u.Find(target)
	if !place.Executable {
		return function{}, false
	}
	f, ok := u.functionAt(place.Module, target)
	if ok && f.lo == target {
		return f, true
	}
	stub := function{target, stubSize}
	for at := target; stub.contains(at); at += u.Arch.InsnAlign {
		insn, err := u.code.Bytes(at, maxInsn)
		if err != nil {
			break
		}
		if kind, _ := u.Arch.Jump(insn, at); kind == arch.IndirectJump {
			return stub, true
		}
	}
	return function{}, false
}
