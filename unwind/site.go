package unwind

import (
	"bytes"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
)

// site is what is known about a return address.
type site struct {
	ra         uint64
	evidence   Evidence
	module     *Module           // the module of the call
	trampoline *arch.SignalFrame // the trampoline that begins at ra, or nil
	base       bool              // no call precedes ra, and the code at ra leaves the stack at once
	call       call

	// row is the row of a table for the call, and method is the kind of the table.
	// They are kept if the row depends on the return address alone; found is then
	// set. start is where the instructions were followed from to make the row.
	row    arch.Row
	method Method
	found  bool
	start  uint64
}

// remember keeps a row. It copies Extra, which belongs to the stepper.
func (s *site) remember(row *arch.Row, m Method) {
	extra := append(s.row.Extra[:0], row.Extra...)
	s.row, s.method, s.found = *row, m, true
	s.row.Extra = extra
}

// siteAt returns what is remembered about the return address that f is at, or nil.
func (u *Unwinder) siteAt(f *Frame) *site {
	if s := u.cell(f.PC); !f.Exact && s.ra == f.PC {
		return s
	}
	return nil
}

// cell returns where a return address is remembered.
func (u *Unwinder) cell(ra uint64) *site { return &u.sites[(ra^ra>>9)%maxSites] }

// site looks at the code around a return address: whether it is in an
// executable mapping, whether a call precedes it, and whether it is the
// trampoline to which signal handlers return. It does not overwrite the site of
// f's own address, because the row of that site may be the one that led to ra.
func (u *Unwinder) site(ra uint64, f *Frame) *site {
	s := u.cell(ra)
	if s.ra == ra && ra != 0 {
		return s
	}
	if s.ra == f.PC {
		s = &u.spare
	}
	*s = site{row: arch.Row{Extra: s.row.Extra[:0]}} // reuse the memory of Extra
	u.look(s, ra)
	s.ra = ra // only now, because reading code may panic
	return s
}

// look fills in everything in a site except the row.
func (u *Unwinder) look(s *site, ra uint64) {
	// A call may be the last instruction of a mapping, and a trampoline the first
	// of one. So both sides count.
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
		// not dump. A later step checks whether this is one.
		s.trampoline = &u.Arch.SignalFrames[0]
	}
}

// loadsSP reports whether the code at pc begins by loading SP from another
// register. Such code does not use what is on the stack.
func (u *Unwinder) loadsSP(pc uint64) bool {
	f := disasm.FlowOf(u.Arch, disasm.CodeAt(&u.code, pc), pc)
	if f.Entry {
		pc += uint64(f.Size)
		f = disasm.FlowOf(u.Arch, disasm.CodeAt(&u.code, pc), pc)
	}
	return f.Leaves
}

// generated reports whether a return address is in executable memory outside all
// modules. Code that a just-in-time compiler made may push a return address and
// jump, as Java's does when it interprets a call.
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

// trampolineAround returns the signal frame whose trampoline contains pc, or nil.
// A thread may have been stopped at any instruction of a trampoline.
func (u *Unwinder) trampolineAround(pc uint64) *arch.SignalFrame {
	for i := range u.Arch.SignalFrames {
		s := &u.Arch.SignalFrames[i]
		for back := range len(s.Code) {
			// What is at pc excludes most: the bytes before it may be in no memory, which
			// takes long to find out.
			if code, err := u.code.Bytes(pc, len(s.Code)-back); err != nil || !bytes.Equal(code, s.Code[back:]) {
				continue
			}
			if code, err := u.code.Bytes(pc-uint64(back), len(s.Code)); err == nil && bytes.Equal(code, s.Code) {
				return s
			}
		}
	}
	return nil
}
