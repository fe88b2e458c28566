package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// A doubt is why trust sinks at a frame.
type doubt struct {
	trust    unwind.Trust
	method   unwind.Method
	from, to string // the places of the frame below and of the frame
	text     string
	evidence string
	skipped  string // why better methods did not lead from the frame below
}

// A weight is what a doubt costs: the frames where trust sinks, those further out
// that do not have more trust for that reason, and how many of these eu-stack has.
type weight struct {
	frames, confirmed     int
	outer, outerConfirmed int
}

// doubt adds up why the frames of a thread are not fully trusted.
func (t *tally) doubt(modules []report.Module, frames []report.Frame, eu stack) {
	trust, at := unwind.Full, (*weight)(nil)
	for i, f := range frames {
		confirmed := 0
		if i < len(eu.frames) && eu.frames[i].pc == uint64(f.PC) {
			confirmed = 1
		}
		if f.Trust == trust {
			if at != nil {
				at.outer++
				at.outerConfirmed += confirmed
			}
			continue
		}
		trust = f.Trust
		d := doubt{trust: trust, method: f.Method, to: place(modules, f), text: f.Doubt, evidence: f.Evidence.String()}
		if i > 0 {
			d.from, d.skipped = place(modules, frames[i-1]), general(frames[i-1].Skipped)
		}
		if at = t.doubts[d]; at == nil {
			at = &weight{}
			t.doubts[d] = at
		}
		at.frames++
		at.confirmed += confirmed
	}
}

// heaviest orders the doubts by how many frames they cost.
func (t *tally) heaviest() []doubt {
	var ds []doubt
	for d := range t.doubts {
		ds = append(ds, d)
	}
	slices.SortFunc(ds, func(a, b doubt) int {
		x, y := t.doubts[a], t.doubts[b]
		return cmp.Or(cmp.Compare(a.trust, b.trust), cmp.Compare(y.frames+y.outer, x.frames+x.outer), strings.Compare(a.String(), b.String()))
	})
	return ds
}

func (d doubt) String() string {
	text := fmt.Sprintf("%v: %v, from %s to %s: %s; %s", d.trust, d.method, d.from, d.to, d.text, d.evidence)
	if d.skipped != "" {
		text += "; " + d.skipped
	}
	return text
}

// place says what kind of code a frame is in.
func place(modules []report.Module, f report.Frame) string {
	i := slices.IndexFunc(modules, func(m report.Module) bool { return m.Base <= f.PC && f.PC < m.End })
	switch {
	case i < 0:
		return "no module"
	case f.Function == "":
		return filepath.Base(modules[i].Path) + ", no name"
	default:
		return filepath.Base(modules[i].Path)
	}
}

// general replaces the addresses in a text, so that equal reasons are equal.
func general(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if digits, ok := strings.CutPrefix(w, "0x"); ok {
			words[i] = "0x…" + strings.TrimLeft(digits, "0123456789abcdef")
		}
	}
	return strings.Join(words, " ")
}
