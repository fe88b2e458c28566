package unwind

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
)

// A call of another module goes through a slot, a word that the dynamic linker
// filled: by an entry of the procedure linkage table, or itself. What the slot
// holds is the function that was called, unless the slot was bound while the
// call was in progress.

// Range is a range of addresses, Hi the one after the last.
type Range struct{ Lo, Hi uint64 }

const (
	// slotSize is the bytes of a slot.
	slotSize = 8

	// maxRunOn is the size in bytes of a function written in assembly that may
	// run on into the next, and maxPadding how far that is: the C library's
	// __memcpy_chk is a comparison before memcpy, on the next cache line.
	maxRunOn   = 16
	maxPadding = 64
)

// slotTarget returns the function that a slot of a linkage table holds. It returns
// false if the slot is not known to be one, or holds anything else, like the
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

// callAt returns what the call at the end of code says, which returns to ra.
func (u *Unwinder) callAt(code []byte, ra uint64) call {
	callee := disasm.CalleeOf(u.Arch, &u.code, code, ra)
	c := call{known: callee.Direct, target: callee.Target}
	if callee.BySlot {
		c.callee, c.bySlot = u.slotTarget(callee.Slot)
		c.known = c.bySlot
	}
	return c
}

// mayBind reports whether a function may be the one of the dynamic linker that binds
// slots, to which calls go whose slot is not bound yet: it is entered with words of
// its own on the stack, or ends in a jump to an address that it computed.
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

// runsOn reports whether code without a jump may go on into fn, which follows.
// Other functions that follow are added to what is to be done.
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
		if next != *fn && len(u.tails.todo) < maxTails {
			u.tails.todo = append(u.tails.todo, next)
		}
		return next == *fn
	}
	return false
}
