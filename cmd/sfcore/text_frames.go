package main

import (
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/sfcore/sfcore/report"
)

// part is which frames of each stack are printed: all but what a recursion repeats, if n
// is 0; the n innermost; or the -n outermost.
type part struct {
	n   int
	all bool // also what a recursion repeats
}

// Set implements pflag.Value.
func (p *part) Set(text string) error {
	if text == "all" {
		*p = part{all: true}
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n == 0 {
		return errors.New(`a number other than 0, or "all", is needed`)
	}
	*p = part{n: n}
	return nil
}

// String implements pflag.Value.
func (p *part) String() string {
	switch {
	case p.all:
		return "all"
	case p.n != 0:
		return strconv.Itoa(p.n)
	}
	return ""
}

// Type implements pflag.Value.
func (*part) Type() string { return "N" }

// leftOut returns the frames of a stack that are not printed, from lo up to hi.
func (p part) leftOut(frames int) (lo, hi int) {
	switch {
	case p.n > 0 && p.n < frames:
		return p.n, frames
	case p.n < 0 && -p.n < frames && -p.n > 0:
		return 0, frames + p.n
	}
	return frames, frames
}

const (
	// maxPeriod is of how many functions a recursion may be that is told in a line.
	maxPeriod = 16
	// minFolded is how many frames such a line stands for at least, and minTimes how
	// often what is repeated.
	minFolded = 8
	minTimes  = 3
)

// piece is what one line of a stack stands for: a frame, or frames that are not printed.
type piece struct {
	index  int    // of the frame; -1 for frames that are not printed
	frames int    // how many
	note   string // what is said of those that are not printed
}

// pieces are those of a stack of n frames. A recursion has the frames of its first round.
func (p part) pieces(n int, at func(int) *report.Frame) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		lo, hi := p.leftOut(n)
		printed := 0 // of the frames before i, without a gap
		for i := 0; i < n; {
			next := piece{i, 1, ""}
			if i == lo {
				next = piece{-1, hi - lo, countOf(hi-lo, "frame is", "frames are") + " left out (--frames)"}
			} else {
				end := n
				if i < lo {
					end = lo
				}
				if !p.all { // counting to the end for each frame would take the square of the time
					next = repetition(next, at, i, printed, end)
				}
			}
			if !yield(next) {
				return
			}
			i, printed = i+next.frames, printed+1
			if next.index < 0 {
				printed = 0
			}
		}
	}
}

// repetition returns what is said of the frames from i to end that repeat those before,
// or one if that is not worth a line.
func repetition(one piece, at func(int) *report.Frame, i, printed, end int) piece {
	period, times := repeated(at, i, printed, end)
	if times == 0 {
		return one
	}
	what := "frame"
	if period > 1 {
		what = fmt.Sprintf("%d frames", period)
	}
	note := fmt.Sprintf("the last %s %d times more", what, times)
	for j := i; j < i+period*times; j++ {
		if f := at(j); f.Variables != nil || f.Rule != "" { // there is more to see than that it is repeated
			note += " (--frames all)"
			break
		}
	}
	return piece{-1, period * times, note}
}

// frames appends the frames of a stack.
func (w *textFormat) frames(b []byte, frames []report.Frame) []byte {
	at := func(i int) *report.Frame { return &frames[i] }
	for p := range w.part.pieces(len(frames), at) {
		if p.index < 0 {
			b = w.note(b, p)
			continue
		}
		b = w.frame(b, at(p.index))
	}
	return b
}

// note appends what is said of frames that are not printed.
func (w *textFormat) note(b []byte, p piece) []byte {
	const dots = "  ... "
	return append(w.wrap(append(b, dots...), len(dots), len(dots), p.note), '\n')
}

// countOf is a number with what is counted.
func countOf(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// repeated returns how often the frames from i to end repeat those before, of which so
// many are printed, and of how many frames it is that they repeat; times is 0 if that is
// not worth a line.
func repeated(at func(int) *report.Frame, i, printed, end int) (period, times int) {
	for p := 1; p <= min(maxPeriod, printed); p++ {
		n := 0
		for j := i; j+p <= end && sameLines(at, j-p, j, p); j += p {
			n++
		}
		if n >= minTimes && n*p >= minFolded && n*p > period*times {
			period, times = p, n
		}
	}
	return period, times
}

// sameLines reports whether n frames from one on and from another on are at the same
// places, found in the same ways. Their variables and what is in the stack may differ.
func sameLines(at func(int) *report.Frame, before, after, n int) bool {
	for i := range n {
		a, b := at(before+i), at(after+i)
		if a.PC != b.PC || a.Exact != b.Exact || a.Method != b.Method || a.Trust != b.Trust || a.Inlined != b.Inlined ||
			a.SignalFrame != b.SignalFrame || a.Function != b.Function {
			return false
		}
	}
	return true
}
