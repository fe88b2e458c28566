//go:build race || !amd64

package dap

// patience multiplies limits of time where the race detector or an emulator
// makes everything slower.
const patience = 20
