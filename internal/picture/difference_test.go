package picture

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/diff"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

func written(t testing.TB, d *diff.Difference) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteDifference(&b, d, "v1", false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// No name of a report is markup, or changes the direction of text.
func TestDifferenceIsEscaped(t *testing.T) {
	const evil = "</style><script>alert(1)</script>\u202e\x1b"
	frame := report.Frame{Function: evil, File: evil, Line: 7, ModuleName: evil, Doubt: evil}
	d := diff.Compare(
		&report.Document{Process: report.Process{Command: evil, Executable: evil}, Source: report.Source{Path: evil, Time: evil}},
		&report.Document{Threads: []report.Thread{{TID: 1, Frames: []report.Frame{frame}, Stop: report.Stop{Detail: evil, Reason: unwind.Limit}}}},
	)
	page := written(t, d)
	if strings.Contains(page, "<script") || strings.ContainsAny(page, "\u202e\x1b") {
		t.Error("a name is not escaped")
	}
	if n := strings.Count(page, "&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\u001b"); n < 9 {
		t.Errorf("got %d names, want 9 or more:\n%s", n, page)
	}
	policy := fmt.Sprintf("default-src &#39;none&#39;; style-src &#39;%s&#39;;", digest(pageCSS+differenceCSS))
	if !strings.Contains(page, strings.ReplaceAll(policy, "+", "&#43;")) || !strings.Contains(page, pageCSS+differenceCSS) {
		t.Errorf("the page does not have the policy %s", policy)
	}
}

// A page has what it can show, and says how much it leaves out.
func TestDifferenceIsBounded(t *testing.T) {
	after := report.Document{}
	long := report.Thread{Frames: make([]report.Frame, maxCrashFrames+5)}
	for id := range 1003 {
		th := long
		th.TID = 1 + 2*id
		after.Threads = append(after.Threads, th)
	}
	for id := range maxPageStacks + 7 {
		after.Threads = append(after.Threads, report.Thread{TID: 10000 + id, Frames: []report.Frame{{PC: report.Addr(id)}}})
	}
	page := written(t, diff.Compare(&report.Document{}, &after))
	for _, want := range []string{"5 more frames are left out", "8 more stacks are left out", " 1999 2001 2003 2005", "0 → 1003", "?? at 0x3e5"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(page, "<details class=\"changed\" open>"); n != openStacks {
		t.Errorf("%d stacks are unfolded, want %d", n, openStacks)
	}
}

// The innermost functions name a stack, since many end in the same one.
func TestDifferenceNamesStacks(t *testing.T) {
	stack := func(names ...string) (th report.Thread) {
		for _, name := range names {
			th.Frames = append(th.Frames, report.Frame{Function: name})
		}
		return th
	}
	page := written(t, diff.Compare(&report.Document{}, &report.Document{Threads: []report.Thread{stack("pause", "idle"), stack("pause", "b", "c", "d", "e")}}))
	for _, want := range []string{"<b>pause ← idle</b>", "<b>pause ← b ← c ← d ← …</b>"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// FuzzDifference renders and parses differences with any name: none leaves its place.
func FuzzDifference(f *testing.F) {
	for _, name := range hostileNames {
		f.Add(name)
	}
	of := func(t testing.TB, name string) parsed {
		frames := []report.Frame{{Function: name, File: name, Line: 1, ModuleName: name, Doubt: name}, {ModuleName: name}}
		head := report.Document{Source: report.Source{Kind: "core", Path: name, Time: name}, Process: report.Process{Command: name, Executable: name}}
		after := head
		after.Threads = []report.Thread{{TID: 1, Frames: frames, Stop: report.Stop{Reason: unwind.Loop, Detail: name}}}
		return parsePage(t, []byte(written(t, diff.Compare(&head, &after))))
	}
	want := of(f, "harmless")
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" {
			name = "x" // what is empty has no place
		}
		got := of(t, name)
		if !slices.Equal(got.elements, want.elements) {
			t.Errorf("%q: got %q, want %q", name, got.elements, want.elements)
		}
		for _, text := range got.texts {
			for _, r := range text {
				if display.Unsafe(r) && r != '\t' && r != '\n' {
					t.Errorf("%q: got %q", name, text)
				}
			}
		}
	})
}

// A page that is to leave the house says where nothing was.
func TestDifferenceIsRedacted(t *testing.T) {
	frame := report.Frame{
		Function: "f", File: "/home/kim/src/a.c", Line: 7, Module: "/home/kim/secret project/bin/prog", ModuleName: "prog",
		Doubt: "see https://kim.example/x and /home/kim/secret project/bin/prog",
	}
	d := diff.Compare(
		&report.Document{Process: report.Process{Executable: "/home/kim/secret project/bin/prog"}, Source: report.Source{Path: "/home/kim/cores/core.1"}},
		&report.Document{
			Process: report.Process{Executable: "/home/kim/secret project/bin/prog"},
			Threads: []report.Thread{{TID: 1, Frames: []report.Frame{frame}, Stop: report.Stop{Detail: "/mnt/kim/lib.so has no table", Reason: unwind.NoUnwindInfo}}},
		},
	)
	var b bytes.Buffer
	if err := WriteDifference(&b, d, "v1", true); err != nil {
		t.Fatal(err)
	}
	for _, private := range []string{"kim", "secret", "paths of files"} {
		if strings.Contains(b.String(), private) {
			t.Errorf("the page has %q:\n%s", private, b.String())
		}
	}
	for _, want := range []string{"core.1", "a.c:7", "lib.so has no table", "[address]", "directories, addresses of servers"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if page := written(t, d); !strings.Contains(page, "/home/kim/src/a.c:7") {
		t.Error("without redact, paths are left out")
	}
}
