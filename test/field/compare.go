package main

import (
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// A verdict is how a stack of sfcore's compares with that of another debugger.
type verdict struct {
	equal   int  // frames that are the same, from the innermost
	differs bool // the stacks part: one has another frame, or says that it ends
	// contradicted has the trust of the frame that the other debugger contradicts:
	// it has another one there, or a caller where sfcore says that there is none, or
	// none where sfcore has one. Only the first frame that differs counts, as those
	// further out follow from it.
	contradicted unwind.Trust
}

// compare compares a stack, without its inlined frames, with that of another
// debugger. A debugger that gives up before sfcore does, or after it, contradicts
// nothing.
func compare(frames []report.Frame, stop unwind.Reason, other stack) verdict {
	v := verdict{}
	for v.equal < min(len(frames), len(other.frames)) && uint64(frames[v.equal].PC) == other.frames[v.equal].pc {
		v.equal++
	}
	switch {
	case v.equal < len(frames) && (v.equal < len(other.frames) || other.outermost):
		v.differs, v.contradicted = true, frames[v.equal].Trust
	case v.equal == len(frames) && v.equal < len(other.frames) && stop == unwind.Outermost && v.equal > 0:
		v.differs, v.contradicted = true, frames[v.equal-1].Trust
	}
	return v
}

// physical returns the frames that have a stack frame of their own.
func physical(frames []report.Frame) []report.Frame {
	var own []report.Frame
	for _, f := range frames {
		if !f.Inlined && f.Method != unwind.TailCall {
			own = append(own, f)
		}
	}
	return own
}
