package main

import (
	"errors"
	"fmt"
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

// frames appends the frames of a stack. A recursion has those of its first round, unless
// all that is known of each frame is asked for.
func (w *textFormat) frames(b []byte, frames []report.Frame) []byte {
	lo, hi := w.part.leftOut(len(frames))
	printed := 0 // of the frames before i, without a gap
	for i := 0; i < len(frames); {
		if i == lo {
			b = fmt.Appendf(b, "  ... %s left out (--frames)\n", countOf(hi-lo, "frame is", "frames are"))
			i = hi
			continue
		}
		end := len(frames)
		if i < lo {
			end = lo
		}
		period, times := 0, 0
		if !w.verbose && !w.part.all { // counting to the end for each frame would take the square of the time
			period, times = repeated(frames[i-printed:end], printed)
		}
		if times > 0 {
			what := "frame"
			if period > 1 {
				what = fmt.Sprintf("%d frames", period)
			}
			b = fmt.Appendf(b, "  ... the last %s %d times more\n", what, times)
			i, printed = i+period*times, 0
			continue
		}
		b = w.frame(b, &frames[i])
		i, printed = i+1, printed+1
	}
	return b
}

// countOf is a number with what is counted.
func countOf(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// repeated returns how often the frames from at on repeat those before, and of how many
// frames it is that they repeat; times is 0 if that is not worth a line.
func repeated(frames []report.Frame, at int) (period, times int) {
	for p := 1; p <= min(maxPeriod, at); p++ {
		n := 0
		for i := at; i+p <= len(frames) && sameLines(frames[i-p:i], frames[i:i+p]); i += p {
			n++
		}
		if n >= minTimes && n*p >= minFolded && n*p > period*times {
			period, times = p, n
		}
	}
	return period, times
}

// sameLines reports whether frames would be printed in the same way, but for their
// numbers. Both are as many.
func sameLines(before, after []report.Frame) bool {
	for i := range before {
		a, b := &before[i], &after[i]
		if a.PC != b.PC || a.Exact != b.Exact || a.Method != b.Method || a.Trust != b.Trust || a.Inlined != b.Inlined ||
			a.SignalFrame != b.SignalFrame || a.Function != b.Function || a.Variables != nil || b.Variables != nil {
			return false
		}
	}
	return true
}
