package jit

import (
	"fmt"
	"testing"
)

func TestSettle(t *testing.T) {
	run := func(lo, hi uint64) Run[string] { return Run[string]{Lo: lo, Hi: hi, Of: fmt.Sprintf("%d-%d", lo, hi)} }
	for name, tt := range map[string]struct {
		runs           []Run[string] // the newest first
		want, replaced string
	}{
		"none":               {nil, "", ""},
		"apart":              {[]Run[string]{run(30, 40), run(10, 20)}, "10-20 30-40 ", ""},
		"next to each other": {[]Run[string]{run(20, 30), run(10, 20), run(30, 40)}, "10-20 20-30 30-40 ", ""},
		"older below":        {[]Run[string]{run(15, 25), run(10, 20)}, "15-25 ", "10-20 "},
		"newer below":        {[]Run[string]{run(10, 20), run(15, 25)}, "10-20 ", "15-25 "},
		"newer within":       {[]Run[string]{run(12, 13), run(10, 20)}, "12-13 ", "10-20 "},
		"newest of the same": {[]Run[string]{run(10, 20), run(10, 30)}, "10-20 ", "10-30 "},
		"newer over two":     {[]Run[string]{run(10, 40), run(10, 20), run(20, 30)}, "10-40 ", "10-20 20-30 "},
	} {
		replaced := ""
		settled := Settle(tt.runs, func(r *Run[string]) { replaced += r.Of + " " })
		got := ""
		for _, r := range settled {
			got += r.Of + " "
		}
		if got != tt.want || replaced != tt.replaced {
			t.Errorf("%s: got %q, replaced %q; want %q, %q", name, got, replaced, tt.want, tt.replaced)
		}
	}
}

func TestFind(t *testing.T) {
	runs := Settle([]Run[int]{{Lo: 10, Hi: 20, Of: 1}, {Lo: 20, Hi: 30, Of: 2}, {Lo: 40, Hi: 50, Of: 3}}, nil)
	for addr, want := range map[uint64]int{9: 0, 10: 1, 19: 1, 20: 2, 29: 2, 30: 0, 39: 0, 40: 3, 50: 0} {
		got := 0
		if r := Find(runs, addr); r != nil {
			got = r.Of
		}
		if got != want {
			t.Errorf("%d: got %d, want %d", addr, got, want)
		}
	}
}

func TestLineAt(t *testing.T) {
	f := Func{Lines: []Line{{Addr: 10, Line: 1}, {Addr: 20, Line: 2}}}
	for addr, want := range map[uint64]int{9: 0, 10: 1, 19: 1, 20: 2, 99: 2} {
		got := 0
		if l := f.LineAt(addr); l != nil {
			got = l.Line
		}
		if got != want {
			t.Errorf("%d: got line %d, want %d", addr, got, want)
		}
	}
}
