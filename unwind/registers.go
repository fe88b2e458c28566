package unwind

import "github.com/sfcore/sfcore/arch"

// AddRegisters adds registers to frames that Unwind found. SFrame rows only have
// rules for SP, FP and the return address. If call frame information agrees with
// the walk about these three, AddRegisters takes the callee-saved registers from it.
// It also computes the CFA of the last frame if Unwind did not.
func (u *Unwinder) AddRegisters(frames []Frame) {
	u.start()
	defer func() { _ = u.charge() }()
	for i := range frames {
		f := &frames[i]
		if u.spend(0) != nil {
			break // the registers of the others stay unknown
		}
		if f.Signal || f.Module == nil {
			continue
		}
		var row arch.Row
		if !u.describe(f, &row) {
			continue
		}
		cfa, err := row.CFA.Eval(&f.Regs, 0, &u.words)
		if err != nil {
			continue
		}
		if i+1 == len(frames) {
			if f.CFA == 0 && cfa%8 == 0 {
				f.CFA = cfa
			}
			return
		}
		if caller := &frames[i+1]; f.CFA == cfa && caller.Method.traits().called {
			u.addRegisters(&row, f, caller)
		}
	}
}

// describe finds the row for f in call frame information.
func (u *Unwinder) describe(f *Frame, row *arch.Row) bool {
	before := u.fdes().Work
	defer func() { u.spent.steps += int64(u.machine.Work - before) }()
	for _, s := range f.Module.CFI {
		found, err := u.fdes().Find(s, f.LookupPC(), &f.Regs, &u.words, row)
		if found || err != nil {
			return found && !row.Signal
		}
	}
	return false
}

// addRegisters adds the caller's registers that a row has rules for, if the row
// leads to the same caller.
func (u *Unwinder) addRegisters(row *arch.Row, f, caller *Frame) {
	ra, err := row.RA.Eval(&f.Regs, f.CFA, &u.words)
	if u.Arch.PAC && row.SignedRA {
		ra &^= u.PACMask
	}
	if err != nil || ra != caller.PC {
		return
	}
	fp, err := row.FP.Eval(&f.Regs, f.CFA, &u.words)
	if old, ok := caller.Regs.Get(u.Arch.FP); ok && err == nil && old != fp {
		return
	}
	full := *caller
	u.recover(row, f, &full, f.CFA, ra)
	for reg, v := range full.Regs.All() {
		if _, ok := caller.Regs.Get(reg); !ok {
			caller.Regs.Set(reg, v)
		}
	}
}
