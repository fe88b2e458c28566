//go:build !linux

package backend

// LimitMemory does nothing: sfcore knows no limit of this system that a Go
// program can run with.
func LimitMemory(uint64) error { return nil }
