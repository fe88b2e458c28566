package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/unwind"
)

// printTables writes the figures of every program, what other debuggers
// contradict, and the versions of all that took part.
func printTables(w io.Writer, all []*tally) {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
	p("| program | snapshots (signals) | threads | complete | frames | full / checked / guess | full | methods |\n|---|---|---|---|---|---|---|---|\n")
	for _, t := range all {
		p("| %s | %d (%d) | %d | %d | %d | %v | %s | %s |\n", t.name(), t.snapshots, t.signals, t.threads, t.complete,
			t.trust.sum(), t.trust, percent(t.trust[unwind.Full], t.trust.sum()), t.uses())
	}
	for _, o := range []struct {
		debugger, third string
		of              func(*tally) *opinion
	}{
		{"gdb", "eu-stack", func(t *tally) *opinion { return &t.gdb }},
		{"eu-stack", "gdb", func(t *tally) *opinion { return &t.eu }},
	} {
		p("\n| program, by %s | threads | frames | equal: full / checked / guess | of these at least checked | threads that differ, at a full / checked / guess | of these backed by %s |\n|---|---|---|---|---|---|---|\n", o.debugger, o.third)
		for _, t := range all {
			v := o.of(t)
			p("| %s | %d | %d | %v | %s | %v | %v |\n", t.name(), v.threads, v.frames, v.equal,
				percent(v.equal[unwind.Full]+v.equal[unwind.Checked], v.equal.sum()), v.against, v.backed)
		}
		p("\n")
		for _, t := range all {
			for _, c := range o.of(t).cases {
				p("- %s\n", c)
			}
		}
	}
	p("\n| release | versions |\n|---|---|\n")
	of := versions(all)
	for _, release := range slices.Sorted(maps.Keys(of)) {
		p("| %s | %s |\n", release, strings.Join(of[release], ", "))
	}
}

// versions returns the versions of everything, by release.
func versions(all []*tally) map[string][]string {
	found := map[string][]string{}
	for _, t := range all {
		found[t.release] = slices.Compact(slices.Sorted(slices.Values(append(found[t.release], t.versions...))))
	}
	return found
}

// printDoubts writes why frames do not have full trust, what costs most first.
func printDoubts(w io.Writer, all []*tally) {
	for _, t := range all {
		_, _ = fmt.Fprintf(w, "| %s: frames (by eu-stack) | and further out | why |\n|---|---|---|\n", t.name())
		for _, d := range t.heaviest() {
			at := t.doubts[d]
			_, _ = fmt.Fprintf(w, "| %d (%d) | %d (%d) | %v |\n", at.frames, at.confirmed, at.outer, at.outerConfirmed, d)
		}
		_, _ = fmt.Fprintln(w)
	}
}

func (t *tally) name() string { return t.release + "/" + t.program }

// uses says how many frames each method found.
func (t *tally) uses() string {
	var words []string
	for _, m := range t.byUse() {
		words = append(words, fmt.Sprintf("%v %d", m, t.methods[m]))
	}
	return strings.Join(words, ", ")
}

func (t trusts) String() string {
	return fmt.Sprintf("%d / %d / %d", t[unwind.Full], t[unwind.Checked], t[unwind.Guess])
}

func (t trusts) sum() int { return t[unwind.Full] + t[unwind.Checked] + t[unwind.Guess] }

// percent rounds down, so that 100 % are all.
func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	tenths := part * 1000 / whole
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}
