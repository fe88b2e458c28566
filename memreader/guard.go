package memreader

import (
	"runtime/debug"
)

// Guard runs f and returns the fault of a mapped file that shrank or could not
// be read meanwhile, which the system reports as a signal: as a [*FaultError]
// at the address in this process's memory. Other panics pass through. f must
// not hand work on mapped memory to other goroutines.
func Guard(f func()) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			err = &FaultError{Addr: uint64(r.Addr()), Why: Gone}
		default:
			panic(r)
		}
	}()
	f()
	return nil
}
