package core

import "slices"

// Begins reports whether a thread has executed no instruction yet, so that its one
// frame has no caller. The first thread of a process may continue a stack of the
// process that made it.
func (i *Image) Begins(th *Thread) bool {
	by := &i.Arch.NewThread
	if th.ID == i.PID || by.Calls == nil || len(th.PrStatus) < by.Number+8 {
		return false
	}
	result, ok := th.Regs.Get(by.Result)
	return ok && result == 0 && slices.Contains(by.Calls, byteOrder(i.Arch).Uint64(th.PrStatus[by.Number:]))
}
