// Package unwind walks stacks. It starts from the registers of a thread and
// finds the frames. For each frame it tells which method found it and how far
// the frame can be trusted.
//
// The package only reads memory and tables. It knows nothing about files, names
// or threads. Methods make rows. One function applies the rows and makes every
// check against damaged data.
package unwind

import (
	"errors"
	"slices"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/memreader"
)

// Unwinder walks the stacks of one process. The process must not change
// meanwhile. Fill in the fields, then call Unwind as often as you like. Do not
// change Arch, Mem and Find after the first call, because the Unwinder remembers
// what it learned by them; but see [Unwinder.SetMem]. An Unwinder is not safe for concurrent use: give every
// worker its own, with the same memory and modules.
type Unwinder struct {
	Arch *arch.Arch
	// Mem is the memory of the process.
	Mem memreader.Reader
	// Stack returns a copy of the memory from SP on, as much as it likes, and Mem has what
	// it returns as well. It is nil if there is nothing that is faster than Mem. The copy
	// must stay as it is until the next call.
	Stack func(sp uint64) []byte
	// Find tells what is at an address. It returns a zero Place if nothing is
	// mapped there. It is called for most frames, so it should be fast.
	Find func(addr uint64) Place
	// Steppers are asked in order, the most trustworthy first: Go's (package
	// gostack), SFrame, frame pointers if the module promises them, and call frame
	// information. If no table has a row, the code itself follows (package
	// codewalk), and then frame pointers. Steppers have scratch memory, so every
	// Unwinder needs its own.
	Steppers []Stepper
	// PACMask are the bits of a return address that a pointer authentication
	// code may occupy; 0 for the architecture's default.
	PACMask uint64
	// Trapped is set if the thread trapped and the pc in its registers is the
	// address after the instruction that trapped.
	Trapped bool
	// MaxFrames bounds the frames of one stack; 0 for [DefaultMaxFrames].
	MaxFrames int
	// MaxTime bounds the time of one walk; 0 for no bound.
	MaxTime time.Duration
	// Budget bounds all walks that share it; nil for no bound. The work of one walk is
	// always bounded.
	Budget *Budget

	words memreader.Words // stack and data
	code  memreader.Words // instructions, which are far from stack and data
	sites [maxSites]site
	spare site // used if f's own address occupies the cell of another address

	walks  uint64  // the number of walks, including this one
	frames []Frame // dst of the walk in progress, up to its capacity
	found  int     // how many frames of that are filled in
	low    uint64  // no later SP of this walk may be below this
	misses misses  // the misses of the current step
	spent  spending

	// These are arguments of steppers. They are kept here to avoid allocations.
	row       arch.Row
	second    arch.Row // of call frame information, where .sframe has a row too
	unapplied arch.Row
	cursor    Cursor

	dispute dispute
	agreed  [maxAgreed]uint64
	compare bool // there is call frame information to compare with
	tails   tailSearch
	machine *cfi.Machine // finds FDEs; made when one is needed
}

const (
	// DefaultMaxFrames is the number of 32-byte frames in an 8 MiB stack. So a
	// walk follows a runaway recursion to its start.
	DefaultMaxFrames = 1 << 18

	// usualFrames is for how many frames there is room at first. The room doubles when
	// it is full: with smaller steps, long stacks would mostly be copied.
	usualFrames = 32

	// maxDescents bounds how often a walk continues at a lower address after a
	// signal frame. Each time it goes to another stack; only a forged chain does
	// so more often.
	maxDescents = 256

	// maxSites is how many return addresses an Unwinder remembers. Threads of one
	// process return to few places.
	maxSites = 1 << 9
)

// SetMem replaces Mem by memory that holds another stack and the same code, as for copies
// of the stacks of one process. What was learned of the code stays.
func (u *Unwinder) SetMem(mem memreader.Reader) {
	u.Mem, u.words, u.code = mem, memreader.Words{}, memreader.Words{}
}

// Unwind appends the frames of the stack that belongs to regs to dst, the
// innermost first, and says why it stopped. A short stack is a result, not an
// error. When dst has room and no method fails, it does not allocate.
func (u *Unwinder) Unwind(dst []Frame, regs *arch.Regs) ([]Frame, Stop) {
	frames, stop := u.walk(dst, regs)
	_ = u.charge() // the next walk meets the limit
	u.frames = nil
	return frames, stop
}

// Interrupted returns the result of a call of Unwind that did not return because
// Mem or Find panicked: dst with the frames that were found. Reading a mapped file
// panics if the file has shrunk; see [memreader.Guard]. Interrupted returns nil if
// Unwind has returned.
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
	if sp, ok := regs.Get(u.Arch.SP); ok && u.Stack != nil {
		u.words.Use(u.Stack(sp), sp)
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
		if why := u.spend(frameWork); why != nil {
			return limited(dst, why)
		}
		if n == cap(dst) {
			dst = slices.Grow(dst, min(max(n, usualFrames), most-(n-first)))
			u.frames = dst[:cap(dst)]
		}
		u.found = n
		dst = dst[:n+1] // a step overwrites what was there
		f, caller := &dst[n-1], &dst[n]
		s.frame, s.caller, s.index = f, caller, n-1
		switch next, stop := s.take(); next {
		case refused:
			f.Row = arch.Row{}
			if s.dispute.at == n-2 && n-2 >= first && s.reopen(dst[n-2:n], &stop) {
				dst = dst[:n]
				continue
			}
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

// limited stops a walk at its last frame. It does not look for that frame's
// caller.
func limited(frames []Frame, why error) ([]Frame, Stop) {
	frames[len(frames)-1].Row = arch.Row{}
	return frames, Stop{Limit, why}
}

// start prepares for a walk.
func (u *Unwinder) start() {
	u.walks++
	u.begin()
	if u.words.R == nil {
		u.words = memreader.Words{R: u.Mem, BigEndian: u.Arch.BigEndian}
		u.code = memreader.Words{R: u.Mem, BigEndian: u.Arch.BigEndian}
		u.compare = slices.ContainsFunc(u.Steppers, func(s Stepper) bool { return s.Method() == CFI })
	}
	if u.PACMask == 0 {
		u.PACMask = u.Arch.PACMask
	}
	u.low, u.dispute.at = 0, nowhere
}

// descends reports whether SP does not grow from f to its caller, so that the
// caller is on another stack. A handler that its own signal interrupts makes
// thousands of signal frames, but each is above the one before.
func (u *Unwinder) descends(f, caller *Frame) bool {
	from, ok1 := f.Regs.Get(u.Arch.SP)
	to, ok2 := caller.Regs.Get(u.Arch.SP)
	return !ok1 || !ok2 || to <= from
}

// revisited reports whether an earlier frame is the same signal frame as f. Every
// loop passes through a signal frame that leads down, because SP grows everywhere
// else.
func revisited(frames []Frame, f *Frame) bool {
	for i := range frames {
		if g := &frames[i]; g.Signal && g != f && g.CFA == f.CFA && g.PC == f.PC {
			return true
		}
	}
	return false
}
