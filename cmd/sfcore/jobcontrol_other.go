//go:build !unix

package main

// withoutJobControl runs f: there is no job control here.
func withoutJobControl(f func()) { f() }
