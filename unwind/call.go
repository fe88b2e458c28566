package unwind

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/internal/disasm"
)

const (
	// maxTails bounds the functions to which jumps may lead from the target of a
	// call. A visitor of clang jumps to 115.
	maxTails = 512

	// maxTailSteps bounds the addresses at which one Unwinder looks for a jump.
	// The bound amounts to half a second. Results are remembered, so large
	// programs need only some thousands.
	maxTailSteps = 1 << 26

	// maxPath bounds the instructions that are followed from the target of a call in
	// code that no table describes. Each counts as pathStep addresses.
	maxPath  = 1 << 10
	pathStep = 16

	// stubSize is the size of a stub in bytes. Code that no table describes is
	// a stub if it has an indirect jump within that distance. Linkage table
	// entries and long-branch veneers have up to 32 bytes.
	stubSize = 32

	// nearJump is the reach of amd64's short jumps, in bytes.
	nearJump = 130

	// maxInsn is the size of the longest jump instruction to look for, in bytes.
	maxInsn = 6
)

// call is what a call instruction tells about the function that it called.
type call struct {
	known  bool   // whether the instruction tells where it goes
	target uint64 // the target of a direct call
	callee uint64 // the function in the slot that the call, or the linkage table entry at target, uses
	bySlot bool   // whether callee is set

	// last is the function that the call was last compared with, and led says
	// whether the call may have led there.
	// jumped is set if jumps led there.
	last   function
	led    answer
	jumped bool
}

// answer is the result of a search that has a bound.
type answer uint8

const (
	no answer = iota
	yes
	unknown // the bound was reached
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// function is a range of code that a table describes, or the start of code that none
// describes; then the size is 0.
type function struct{ lo, size uint64 }

func (f *function) contains(pc uint64) bool { return pc-f.lo < f.size }

// calls says whether a call may have led to the function that f is in. It may if
// it goes there, to a jump that leads there, or to a jump that may lead anywhere. If
// a return address was overwritten by another return address, this is the only check
// that fails.
func (u *Unwinder) calls(c *call, f *Frame) answer {
	pc := f.LookupPC()
	if c.last.contains(pc) {
		return c.led
	}
	fn, ok := u.functionAt(f.Module, pc)
	if !ok {
		return yes // nothing rules it out
	}
	c.last, c.led = fn, u.reaches(c, &fn)
	c.jumped = c.led == yes && !fn.contains(c.target) && !(c.bySlot && fn.contains(c.callee))
	return c.led
}

func (u *Unwinder) reaches(c *call, fn *function) answer {
	u.tails.elsewhere = c.bySlot
	if fn.contains(c.target) || c.bySlot && fn.contains(c.callee) {
		return yes
	}
	if !c.bySlot {
		return u.leadsTo(c.target, fn)
	}
	led := u.leadsTo(c.callee, fn)
	if led == no {
		led = answerOf(u.mayBind(fn))
	}
	return led
}

// functionAt looks up the function that pc is in, in the module's tables.
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

// tailSearch is the working state of leadsTo.
type tailSearch struct {
	todo  []function
	seen  map[function]bool // all of todo
	steps int

	// paths are addresses in code that no table describes, and passed are those from
	// which the code was followed.
	paths  []uint64
	passed map[uint64]bool

	// exhausted is set if a bound was reached, or code could not be followed.
	exhausted bool

	// elsewhere is set if the search begins at a function of another module. The
	// function may be written in assembly, with parts of it in neighboring
	// functions, like the string functions of C libraries.
	elsewhere bool
}

// leadsTo says whether jumps may lead from the code at target to fn. The answer is
// yes, too, if code on the way cannot be read or jumps to a computed address.
func (u *Unwinder) leadsTo(target uint64, fn *function) answer {
	t := &u.tails
	t.todo, t.exhausted = t.todo[:0], false
	clear(t.seen)
	t.follow(u.codeAt(target))
	for i := 0; i < len(t.todo); i++ {
		code := t.todo[i]
		if code.size == 0 && u.runsTo(code.lo, fn) || u.jumpsTo(code, fn) || t.elsewhere && u.runsOn(code, fn) {
			return yes
		}
	}
	if t.exhausted {
		return unknown
	}
	return no
}

// follow adds a function to todo unless it is there.
func (t *tailSearch) follow(f function) {
	switch {
	case t.seen[f]:
	case len(t.todo) >= maxTails:
		t.exhausted = true
	default:
		if t.seen == nil {
			t.seen = map[function]bool{}
		}
		t.seen[f] = true
		t.todo = append(t.todo, f)
	}
}

// codeAt returns the function at an address.
func (u *Unwinder) codeAt(addr uint64) function {
	if f, ok := u.functionAt(u.Find(addr).Module, addr); ok {
		return f
	}
	return function{lo: addr}
}

// runsTo is leadsTo for code that no table describes. It follows the instructions
// from the address of the first. If they lead to functions that a table describes,
// runsTo adds these to todo.
func (u *Unwinder) runsTo(start uint64, fn *function) bool {
	t := &u.tails
	if t.passed == nil {
		t.passed = map[uint64]bool{}
	}
	clear(t.passed)
	t.paths = append(t.paths[:0], start)
	for len(t.paths) > 0 {
		at := t.paths[len(t.paths)-1]
		t.paths = t.paths[:len(t.paths)-1]
		switch {
		case t.passed[at]:
			continue
		case fn.contains(at):
			return true
		case len(t.passed) == maxPath, t.steps > maxTailSteps:
			t.exhausted = true
			return false
		}
		t.passed[at] = true
		t.steps += pathStep
		if f := u.codeAt(at); f.size != 0 {
			t.follow(f)
			continue
		}
		insn := disasm.CodeAt(&u.code, at)
		if insn == nil {
			return true
		}
		f := disasm.FlowOf(u.Arch, insn, at)
		switch f.Next {
		case disasm.Branch:
			t.paths = append(t.paths, f.Target, at+uint64(f.Size))
		case disasm.Jump:
			t.paths = append(t.paths, f.Target)
		case disasm.Through, disasm.Call, disasm.System:
			t.paths = append(t.paths, at+uint64(f.Size))
		case disasm.Nowhere:
			if kind, _ := u.Arch.Jump(insn[:min(maxInsn, len(insn))], at); kind == arch.IndirectJump {
				return true
			}
			t.exhausted = true
		case disasm.Return, disasm.Halt, disasm.Exit:
		}
	}
	return false
}

// jumpsTo is leadsTo for the jumps of one function. If a jump leads to another
// function, jumpsTo adds that function to todo. On amd64, where an instruction
// can begin at any byte, some bytes merely look like a jump.
func (u *Unwinder) jumpsTo(code function, fn *function) bool {
	t := &u.tails
	for at := code.lo; code.contains(at); at += u.Arch.InsnAlign {
		if t.steps++; t.steps > maxTailSteps {
			t.exhausted = true
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
			// The separate parts of one function are far apart.
			near := target-at+nearJump < 2*nearJump
			if (target == fn.lo || !near || t.elsewhere) && u.sameFrame(at, target) {
				return true
			}
		default:
			next, ok := u.tailAt(target)
			if !ok && t.elsewhere {
				next, ok = u.functionAt(u.Find(target).Module, target)
			}
			if ok && u.sameFrame(at, target) {
				t.follow(next)
			}
		}
	}
	return false
}

// endsFunction reports whether a jump at an address may be the last instruction
// of its function: the rule for the CFA is the same as at the first instruction.
// A jump to the cases of a switch is made while the frame is still in place.
func (u *Unwinder) endsFunction(at uint64) bool {
	cfa, ok := u.cfaAt(at)
	return !ok || cfa == u.Arch.Entry.CFA
}

// sameFrame reports whether the rule for the CFA is the same before and after a
// jump. A real jump does not change it.
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

// fdes returns a machine that the steppers do not use.
func (u *Unwinder) fdes() *cfi.Machine {
	if u.machine == nil {
		u.machine = new(cfi.Machine)
	}
	return u.machine
}

// tailAt returns the code that a jump to target leads to. That is a function
// that begins there, or a stub of a linkage table. Tables describe a whole
// linkage table as one function, so a stub is in the middle of it.
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
