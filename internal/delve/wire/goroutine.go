// Package wire lists the goroutines of a stopped process, as delve sees them.
// On damaged input delve panics in goroutines of its own and may exhaust memory,
// so it runs in another program, sfcore-delve. [List] starts that program, and
// answers its requests for the memory of the process. Package
// internal/delve/backend is its other end.
package wire

// Goroutine is a goroutine of the process.
type Goroutine struct {
	ID int64 `json:"id"`
	// Status is as Go's tracebacks have it: idle, runnable, running, syscall,
	// waiting, dead, copystack or preempted.
	Status string `json:"status"`
	// WaitReason is what a waiting goroutine waits for, as "chan receive"; "" if
	// unknown.
	WaitReason string `json:"waitReason,omitempty"`
	// TID is the thread that runs it, 0 if none does.
	TID int `json:"tid,omitempty"`
	// Runtime is set for goroutines of Go's runtime, which Go's tracebacks leave
	// out.
	Runtime bool `json:"runtime,omitempty"`
	// Start is its first function, Created the go statement that made it.
	Start   Place `json:"start"`
	Created Place `json:"created"`
	// Saved are the registers with which it continues when no thread runs it: PC,
	// SP and FP.
	Saved Saved `json:"saved"`
	// StackHi is where the stack of a goroutine that no thread runs ends.
	StackHi uint64 `json:"stackHi,omitempty"`
	// Frames are its stack, the innermost first, inlined calls before the frame
	// that they belong to.
	Frames []Frame `json:"frames"`
	// Err says why the goroutine, or the rest of its stack, is unknown; "" if it
	// is known.
	Err string `json:"err,omitempty"`
}

// Saved are the registers that Go's scheduler saves.
type Saved struct{ PC, SP, FP uint64 }

// lastFrame is more than the size of the first function's caller on a stack, in
// bytes [src/runtime/proc.go: newproc1].
const lastFrame = 128

// Ends reports whether a stack whose outermost frame has this SP ends where the
// goroutine's stack ends.
func (g *Goroutine) Ends(sp uint64) bool { return sp <= g.StackHi && g.StackHi-sp < lastFrame }

// GoFrames returns the physical frames of Go code, each with those inlined into
// it, which precede it.
func (g *Goroutine) GoFrames(isGo func(pc uint64) bool) [][]Frame {
	var list [][]Frame
	lo := 0
	for i := range g.Frames {
		if g.Frames[i].Inlined {
			continue
		}
		if isGo(g.Frames[i].PC) {
			list = append(list, g.Frames[lo:i+1])
		}
		lo = i + 1
	}
	return list
}

// Place is a place in the program. What is unknown is zero.
type Place struct {
	PC       uint64 `json:"pc"`
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// Frame is a frame of a goroutine's stack.
type Frame struct {
	Place
	// Inlined is set if the function was inlined into that of the next frame,
	// which has the same PC.
	Inlined bool `json:"inlined,omitempty"`
	// Variables are its arguments and local variables, if they were asked for.
	Variables []Variable `json:"variables,omitempty"`
}

// Variable is an argument or a local variable.
type Variable struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Argument bool   `json:"argument,omitempty"`
	// Value is as in Go source, on one line; "" if Err says why it is unknown.
	Value string `json:"value,omitempty"`
	Err   string `json:"err,omitempty"`
}
