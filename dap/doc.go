// Package dap is a debug adapter: it shows a stopped process to editors that
// speak the Debug Adapter Protocol, version 1.68, over a pipe or a socket.
//
// It renders what package process says and adds nothing to it: a register that
// was not recovered is shown as such, a frame that may not exist is marked, the
// last line of a stack says why it ends. Nothing is executed: requests to step
// or to stop somewhere are refused in a sentence, and not offered.
//
// Messages are the structures of github.com/google/go-dap. Fields that these lack
// are added by embedding them.
package dap
