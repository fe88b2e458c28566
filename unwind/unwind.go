// Package unwind walks stacks: from the registers of a thread to its frames,
// each with the method that found it and how far it may be trusted.
//
// It reads memory and tables, and nothing else: it knows no files, no names
// and no threads. Methods make rows, one function applies them, and every
// check that guards against damage is made there.
package unwind

import (
	"errors"
	"slices"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/memreader"
)

// Unwinder walks stacks of one process, which must not change meanwhile. Fill
// in the fields and call Unwind as often as wanted; Arch, Mem and Find are
// remembered from the first call on. It is not safe for concurrent use: every
// worker has its own, around the same memory and modules.
type Unwinder struct {
	Arch *arch.Arch
	// Mem is the memory of the process.
	Mem memreader.Reader
	// Find tells what is at an address; a zero Place if nothing is mapped. It is
	// called for most frames, so it should be fast.
	Find func(addr uint64) Place
	// Steppers are asked in order, those that may be trusted most first: Go's
	// (package gostack), SFrame, frame pointers where the module promises them,
	// call frame information, and where no table has a row the code itself
	// (package codewalk), then frame pointers. Steppers have scratch: every
	// Unwinder has its own.
	Steppers []Stepper
	// PACMask are the bits of a return address that a pointer authentication
	// code may occupy; 0 for the architecture's default.
	PACMask uint64
	// Trapped says of the registers that their pc is behind the instruction that
	// was being executed, and trapped.
	Trapped bool
	// MaxFrames bounds the frames of one stack; 0 for [DefaultMaxFrames].
	MaxFrames int
	// MaxTime bounds the time of one walk; 0 for no bound.
	MaxTime time.Duration

	words memreader.Words // stack and data
	code  memreader.Words // instructions, which are elsewhere
	sites [maxSites]site
	spare site // of an address whose place another one needs

	walks  uint64  // how many there were, this one included
	frames []Frame // dst of the walk in progress, with all its room
	found  int     // how many of these there are
	low    uint64  // no further SP of this walk may be below this
	misses misses  // of the step that is made

	// What steppers fill in and look at is kept here, for it not to be allocated.
	row    arch.Row
	cursor Cursor

	tails   tailSearch
	machine *cfi.Machine // finds FDEs; made when one is needed
}

const (
	// DefaultMaxFrames is more than an 8 MiB stack has room for in frames of
	// 32 bytes, so that a runaway recursion is followed to its start.
	DefaultMaxFrames = 1 << 18

	// maxDescents bounds how often a stack goes on at a lower address, behind a
	// signal frame: each is to another stack, and only a forged chain has more.
	maxDescents = 256

	// maxSites is how many return addresses are remembered. Threads of one
	// process return to few places.
	maxSites = 1 << 9
)

// Unwind appends the frames of the stack that belongs to regs to dst, the
// innermost first, and says why it stopped. A short stack is a result, not an
// error. When dst has room and no method fails, it does not allocate.
func (u *Unwinder) Unwind(dst []Frame, regs *arch.Regs) ([]Frame, Stop) {
	frames, stop := u.walk(dst, regs)
	u.frames = nil
	return frames, stop
}

// Interrupted returns dst and the frames that were found by a call of Unwind which
// did not return because Mem or Find panicked. Reading a mapped file does if the
// file has shrunk; see [memreader.Guard]. It returns nil if Unwind has returned.
func (u *Unwinder) Interrupted() []Frame {
	if u.frames == nil {
		return nil
	}
	frames := u.frames[:u.found]
	frames[u.found-1].Row = arch.Row{} // its caller was not found
	return frames
}

func (u *Unwinder) walk(dst []Frame, regs *arch.Regs) ([]Frame, Stop) {
	pc, ok := regs.Get(u.Arch.PC)
	if !ok {
		return dst, Stop{NoUnwindInfo, errors.New("the registers of this thread are not known")}
	}
	u.start()
	var deadline time.Time
	if u.MaxTime > 0 {
		deadline = time.Now().Add(u.MaxTime)
	}
	most := u.MaxFrames
	if most <= 0 {
		most = DefaultMaxFrames
	}
	first := len(dst)
	dst = append(dst, Frame{PC: pc, Regs: *regs, Exact: !u.Trapped, Trust: Full})
	u.frames, u.found = dst[:cap(dst)], first+1
	u.locate(&dst[first])
	s := step{Unwinder: u, below: Full}
	for descents := 0; ; {
		n := len(dst)
		if n-first >= most {
			return limited(dst, limitError{frames: n - first})
		}
		if u.MaxTime > 0 && n%1024 == 0 && time.Now().After(deadline) {
			return limited(dst, limitError{time: u.MaxTime})
		}
		if n == cap(dst) {
			dst = slices.Grow(dst, 1)
			u.frames = dst[:cap(dst)]
		}
		u.found = n
		dst = dst[:n+1] // a step overwrites what was there
		f, caller := &dst[n-1], &dst[n]
		s.frame, s.caller = f, caller
		switch next, stop := s.take(); next {
		case refused:
			f.Row = arch.Row{}
			return dst[:n], stop
		case ended:
			return dst[:n], stop
		case led:
			s.below = f.Trust
		}
		if f.Signal && u.descends(f, caller) {
			if descents++; descents > maxDescents || revisited(dst[first:n], f) {
				return dst[:n], Stop{Loop, errSignalLoop}
			}
		}
	}
}

// limited stops a walk at its last frame, whose caller is not sought.
func limited(frames []Frame, why limitError) ([]Frame, Stop) {
	frames[len(frames)-1].Row = arch.Row{}
	return frames, Stop{Limit, why}
}

// start prepares for a walk.
func (u *Unwinder) start() {
	u.walks++
	if u.words.R == nil {
		u.words = memreader.Words{R: u.Mem, BigEndian: u.Arch.BigEndian}
		u.code = memreader.Words{R: u.Mem, BigEndian: u.Arch.BigEndian}
	}
	if u.PACMask == 0 {
		u.PACMask = u.Arch.PACMask
	}
	u.low = 0
}

// descends reports whether the caller of f is not further up the same stack. A
// handler that is interrupted by its own signal makes thousands of signal frames, but
// each above the other.
func (u *Unwinder) descends(f, caller *Frame) bool {
	from, ok1 := f.Regs.Get(u.Arch.SP)
	to, ok2 := caller.Regs.Get(u.Arch.SP)
	return !ok1 || !ok2 || to <= from
}

// revisited reports whether an earlier frame is the same signal frame as f. A
// loop has to pass through one that leads down: SP grows everywhere else.
func revisited(frames []Frame, f *Frame) bool {
	for i := range frames {
		if g := &frames[i]; g.Signal && g != f && g.CFA == f.CFA && g.PC == f.PC {
			return true
		}
	}
	return false
}
