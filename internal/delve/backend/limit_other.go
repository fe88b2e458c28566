//go:build !linux

package backend

// LimitMemory does nothing: on this system there is no known limit that a Go program
// can run with.
func LimitMemory(uint64) error { return nil }
