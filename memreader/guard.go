package memreader

import (
	"runtime/debug"
)

// Guard runs f. If a mapped file shrinks or cannot be read while f runs, which the
// system reports as a signal, Guard returns a [*FaultError] with the address in
// this process's memory. Other panics pass through. f must not let other
// goroutines work on mapped memory.
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
