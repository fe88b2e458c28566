package unwind

import (
	"bytes"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
)

// site is what is known of a return address.
type site struct {
	ra         uint64
	evidence   Evidence
	module     *Module           // of the call
	trampoline *arch.SignalFrame // that begins at ra, or nil
	base       bool              // the code at ra was not called, and leaves the stack at once
	call       call

	// row is what a table has for the call, where that depends on nothing else,
	// and method the kind of the table.
	row    arch.Row
	method Method
	found  bool
}

// remember keeps a row, with a copy of what its maker owns.
func (s *site) remember(row *arch.Row, m Method) {
	extra := append(s.row.Extra[:0], row.Extra...)
	s.row, s.method, s.found = *row, m, true
	s.row.Extra = extra
}

// siteAt returns what is remembered of the return address that f is at, or nil.
func (u *Unwinder) siteAt(f *Frame) *site {
	if s := u.cell(f.PC); !f.Exact && s.ra == f.PC {
		return s
	}
	return nil
}

// cell returns where a return address is remembered.
func (u *Unwinder) cell(ra uint64) *site { return &u.sites[(ra^ra>>9)%maxSites] }

// site looks at the code around a return address: whether it is in an
// executable mapping, whether a call precedes it, and whether it is where the
// kernel lets signal handlers return to. It leaves what is remembered of f's own
// address in place, the row of which may be the one that led to ra.
func (u *Unwinder) site(ra uint64, f *Frame) *site {
	s := u.cell(ra)
	if s.ra == ra && ra != 0 {
		return s
	}
	if s.ra == f.PC {
		s = &u.spare
	}
	*s = site{row: arch.Row{Extra: s.row.Extra[:0]}} // its memory is used again
	u.look(s, ra)
	s.ra = ra // only now: reading code may panic
	return s
}

// look finds out all that a site says but the row.
func (u *Unwinder) look(s *site, ra uint64) {
	// A call may be the last instruction of a mapping and a trampoline the
	// first, so both sides count.
	place := u.Find(ra - 1)
	if !place.Executable && !u.Find(ra).Executable {
		return
	}
	s.module, s.evidence = place.Module, Executable
	if code, err := u.code.Bytes(ra-disasm.CallSize, disasm.CallSize); err != nil {
		s.evidence |= CodeUnread
	} else if u.Arch.EndsInCall(code) {
		s.evidence |= AfterCall
		s.call = u.callAt(code, ra)
	} else {
		s.base = u.loadsSP(ra)
	}
	if s.trampoline = u.trampolineAt(ra); s.trampoline != nil {
		s.evidence |= AtTrampoline
	} else if s.evidence&CodeUnread != 0 && s.module == nil {
		// qemu-user has its trampolines on a page of their own, which it does
		// not dump. Whether this is one shows when it is used.
		s.trampoline = &u.Arch.SignalFrames[0]
	}
}

// loadsSP reports whether the code at pc begins by loading SP from another
// register: what is on the stack does not matter to it.
func (u *Unwinder) loadsSP(pc uint64) bool {
	f := disasm.FlowOf(u.Arch, disasm.CodeAt(&u.code, pc), pc)
	if f.Entry {
		pc += uint64(f.Size)
		f = disasm.FlowOf(u.Arch, disasm.CodeAt(&u.code, pc), pc)
	}
	return f.Leaves
}

// generated reports whether a return address is in code that is in no module.
// A just-in-time compiler may push addresses to return to and jump, as that of
// Java does when it interprets a call.
func (s *site) generated() bool { return s.evidence&Executable != 0 && s.module == nil }

// trampolineAt returns the signal frame whose trampoline begins at pc, or nil.
func (u *Unwinder) trampolineAt(pc uint64) *arch.SignalFrame {
	for i := range u.Arch.SignalFrames {
		s := &u.Arch.SignalFrames[i]
		if code, err := u.code.Bytes(pc, len(s.Code)); err == nil && bytes.Equal(code, s.Code) {
			return s
		}
	}
	return nil
}

// trampolineAround returns the signal frame whose trampoline pc is in: a
// thread may have been stopped at any of its instructions.
func (u *Unwinder) trampolineAround(pc uint64) *arch.SignalFrame {
	for i := range u.Arch.SignalFrames {
		s := &u.Arch.SignalFrames[i]
		for back := range len(s.Code) {
			if code, err := u.code.Bytes(pc-uint64(back), len(s.Code)); err == nil && bytes.Equal(code, s.Code) {
				return s
			}
		}
	}
	return nil
}
