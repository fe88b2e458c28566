package unwind

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
)

// A call to another module goes through a slot, a word that the dynamic linker
// fills in. Either the call reads the slot itself, or it goes to an entry of the
// procedure linkage table that reads it. The slot holds the function that was
// called, unless the slot was bound while the call was in progress.

// Range is a range of addresses: Lo <= addr < Hi.
type Range struct{ Lo, Hi uint64 }

const (
	// slotSize is the size of a slot in bytes.
	slotSize = 8

	// A function written in assembly may run on into the next one. maxRunOn is
	// the largest size of such a function, and maxPadding the largest distance to
	// the next one, both in bytes. The C library's __memcpy_chk, for example, is
	// only a comparison; memcpy follows it on the next cache line.
	maxRunOn   = 16
	maxPadding = 64
)

// slotTarget returns the address of the function that a slot of a linkage table
// holds. It returns false if the address is not a known slot, or if the slot
// does not hold the start of a function. A slot that is not bound yet holds the
// code that binds it.
func (u *Unwinder) slotTarget(slot uint64) (addr uint64, ok bool) {
	m := u.Find(slot).Module
	if m == nil || !m.hasSlot(slot) {
		return 0, false
	}
	addr, err := u.code.Uint64(slot)
	if err != nil || !u.Find(addr).Executable {
		return 0, false
	}
	f, ok := u.functionAt(u.Find(addr).Module, addr)
	return addr, ok && f.lo == addr
}

func (m *Module) hasSlot(addr uint64) bool {
	for _, r := range m.Slots {
		if size := r.Hi - r.Lo; size >= slotSize && addr-r.Lo <= size-slotSize {
			return true
		}
	}
	return false
}

// callAt returns what the call at the end of code tells. The call returns to ra.
func (u *Unwinder) callAt(code []byte, ra uint64) call {
	callee := disasm.CalleeOf(u.Arch, &u.code, code, ra)
	c := call{known: callee.Direct, target: callee.Target}
	if callee.BySlot {
		c.callee, c.bySlot = u.slotTarget(callee.Slot)
		c.known = c.bySlot
	}
	return c
}

// mayBind reports whether a function may be the dynamic linker's function that
// binds slots. A call goes there if its slot is not bound yet. That function is
// entered with words of its own on the stack, or ends in a jump to an address
// that it computed.
func (u *Unwinder) mayBind(fn *function) bool {
	if cfa, ok := u.cfaAt(fn.lo); !ok || cfa != u.Arch.Entry.CFA {
		return true
	}
	for at := fn.lo; fn.contains(at); at += u.Arch.InsnAlign {
		if u.tails.steps++; u.tails.steps > maxTailSteps {
			return true
		}
		insn, err := u.code.Bytes(at, int(min(maxInsn, fn.size-(at-fn.lo))))
		if err != nil {
			return true
		}
		if kind, _ := u.Arch.Jump(insn, at); kind == arch.IndirectJump && u.endsFunction(at) {
			return true
		}
	}
	return false
}

// runsOn reports whether execution may run from the end of code into fn. If
// another function follows, runsOn adds it to todo.
func (u *Unwinder) runsOn(code function, fn *function) bool {
	if code.size > maxRunOn {
		return false
	}
	end := code.lo + code.size
	m := u.Find(end).Module
	for at := end; at-end < maxPadding; at++ {
		next, ok := u.functionAt(m, at)
		if !ok || next.lo != at {
			continue
		}
		if next != *fn {
			u.tails.follow(next)
		}
		return next == *fn
	}
	return false
}
