//go:build !unix

package main

// mine is for systems without processes that sfcore visits.
func mine(string) bool { return false }
