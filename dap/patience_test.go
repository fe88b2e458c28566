//go:build !race && amd64

package dap

// patience multiplies limits of time.
const patience = 1
