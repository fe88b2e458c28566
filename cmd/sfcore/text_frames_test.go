package main

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/diff"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"
)

// framesOf are frames whose pcs are letters.
func framesOf(pcs string) []report.Frame {
	var frames []report.Frame
	for i, c := range pcs {
		frames = append(frames, report.Frame{Index: i, PC: report.Addr(c)})
	}
	return frames
}

// What a recursion repeats is told in a line, unless all frames or only some are asked for.
func TestTextFrames(t *testing.T) {
	index := regexp.MustCompile(`(?m)^  #(\d+) .*\n`)
	for _, tt := range []struct {
		pcs, frames string
		verbose     bool
		want        string
	}{
		{"abc", "", false, "0 1 2 "},
		{"abbbbbbbb", "", false, "0 1 2 3 4 5 6 7 8 "},
		{"abbbbbbbbb", "", false, "0 1 [last frame 8 times]"},
		{"abbbbbbbbbc", "", false, "0 1 [last frame 8 times]10 "},
		{"xababababab", "", false, "0 1 2 [last 2 frames 4 times]"},
		{"xabababababay", "", false, "0 1 2 [last 2 frames 4 times]11 12 "},
		{"abcabcabc", "", false, "0 1 2 3 4 5 6 7 8 "},
		{"abcdabcdabcd", "", false, "0 1 2 3 4 5 6 7 8 9 10 11 "},
		{"abcdabcdabcdabcd", "", false, "0 1 2 3 [last 4 frames 3 times]"},
		{strings.Repeat("abcdefghijklmnop", 5) + "z", "", false, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 [last 16 frames 4 times]80 "},
		{strings.Repeat("a", 10) + strings.Repeat("b", 10), "", false, "0 [last frame 9 times]10 [last frame 9 times]"},
		{"abbbbbbbbb", "", true, "0 1 [last frame 8 times]"},
		{"abbbbbbbbb", "all", true, "0 1 2 3 4 5 6 7 8 9 "},
		{"abbbbbbbbb", "all", false, "0 1 2 3 4 5 6 7 8 9 "},
		{"abcdef", "2", false, "0 1 [4 frames are out]"},
		{"abcdef", "-2", false, "[4 frames are out]4 5 "},
		{"abc", "2", false, "0 1 [1 frame is out]"},
		{"abc", "3", false, "0 1 2 "},
		{"abc", "-3", false, "0 1 2 "},
		{strings.Repeat("a", 30), "20", false, "0 [last frame 19 times][10 frames are out]"},
		{strings.Repeat("a", 30), "-20", false, "[10 frames are out]10 [last frame 19 times]"},
		{"", "5", false, ""},
	} {
		w := textFormat{verbose: tt.verbose}
		if tt.frames != "" {
			if err := w.part.Set(tt.frames); err != nil {
				t.Fatal(err)
			}
		}
		got := index.ReplaceAllString(string(w.frames(nil, framesOf(tt.pcs))), "$1 ")
		got = strings.NewReplacer("  ... the last ", "[last ", " times more\n", " times]", "  ... ", "[", " left out (--frames)\n", " out]").Replace(got)
		if got != tt.want {
			t.Errorf("%s, %q: got %q, want %q", tt.pcs, tt.frames, got, tt.want)
		}
	}
}

// Every text folds a recursion, and says how to see all of it where there is more to see.
func TestFoldedEverywhere(t *testing.T) {
	plainFrames, full := framesOf("abbbbbbbbbc"), framesOf("abbbbbbbbbc")
	var ofGo []report.GoroutineFrame
	for i := range full {
		full[i].Variables = []report.Variable{{Name: "n", Value: "x"}}
		full[i].Rule = "cfa=rsp+8"
		ofGo = append(ofGo, report.GoroutineFrame{Frame: plainFrames[i]})
	}
	thread := func(frames []report.Frame) *document.Thread {
		return &document.Thread{Thread: &report.Thread{Frames: frames}}
	}
	diffed := func(write func(*diffText)) string {
		var b bytes.Buffer
		out := bufio.NewWriter(&b)
		write(&diffText{out, textFormat{}})
		_ = out.Flush()
		return b.String()
	}
	const folded, hinted = "  ... the last frame 8 times more\n", "  ... the last frame 8 times more (--frames all)\n"
	all := textFormat{part: part{all: true}}
	for what, tt := range map[string]struct{ got, want string }{
		"text":          {string((&textFormat{}).thread(nil, thread(plainFrames))), folded},
		"--full":        {string((&textFormat{}).thread(nil, thread(full))), hinted},
		"-v":            {string((&textFormat{verbose: true}).thread(nil, thread(full))), hinted},
		"markdown":      {string(newMarkdown(textFormat{}).thread(nil, thread(plainFrames))), folded},
		"markdown, all": {string(newMarkdown(all).thread(nil, thread(plainFrames))), ""},
		"goroutines":    {string((&goroutineText{textFormat{}}).goroutine(&report.Goroutine{Frames: ofGo})), folded},
		"diff":          {diffed(func(w *diffText) { w.stack(&diff.Stack{Frames: plainFrames}) }), folded},
		"diff of many":  {diffed(func(w *diffText) { w.course(&diff.Course{Frames: plainFrames}, "") }), folded},
	} {
		if strings.Contains(tt.got, "#9") == (tt.want != "") || !strings.Contains(tt.got, tt.want) || !strings.Contains(tt.got, "#10") {
			t.Errorf("%s: want %q in %s", what, tt.want, tt.got)
		}
	}
}

// A ticket has the ends of a long stack, in which a recursion counts as a line.
func TestMarkdownOfDeepStacks(t *testing.T) {
	thread := func(m *markdownFormat, frames []report.Frame) string {
		return string(m.thread(nil, &document.Thread{Thread: &report.Thread{Frames: frames}}))
	}
	deep := framesOf(strings.Repeat("a", 500) + "bcd")
	if text := thread(newMarkdown(textFormat{}), deep); !strings.Contains(text, "the last frame 499 times more") || strings.Contains(text, "left out") {
		t.Errorf("got %s", text)
	}
	var different strings.Builder
	for i := range 200 {
		different.WriteRune(rune(0x100 + i))
	}
	long := framesOf(different.String())
	if text := thread(newMarkdown(textFormat{}), long); !strings.Contains(text, "... 140 frames are left out (--frames all)") || strings.Count(text, "\n#") != 60 {
		t.Errorf("got %s", text)
	}
	if text := thread(newMarkdown(textFormat{part: part{all: true}}), long); strings.Count(text, "\n#") != 200 {
		t.Errorf("got %s", text)
	}
}

func TestPart(t *testing.T) {
	for _, text := range []string{"0", "", "x", "99999999999999999999"} {
		if p := new(part); p.Set(text) == nil {
			t.Errorf("%q: no error", text)
		}
	}
	for _, text := range []string{"7", "-7", "all", "-9223372036854775808"} {
		p := new(part)
		if err := p.Set(text); err != nil || p.String() != text {
			t.Errorf("%q: got %q, %v", text, p, err)
		}
		if lo, hi := p.leftOut(3); lo != 3 || hi != 3 {
			t.Errorf("%q: of 3 frames %d to %d are left out", text, lo, hi)
		}
	}
}

// All ids of a group are printed, however many there are, in lines that fit the terminal.
func TestIDs(t *testing.T) {
	odd := make([]int, 1000)
	for i := range odd {
		odd[i] = 1000 + 2*i
	}
	every := strings.Trim(fmt.Sprint(odd), "[]")
	text := string((&textFormat{width: 80}).ids(nil, "  ids ", display.IDs(odd)))
	if got := strings.Join(strings.Fields(text), " "); got != "ids "+every {
		t.Errorf("got %.200q", text)
	}
	for line := range strings.Lines(text) {
		if n := len(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
}

// TestAllFrames prints all frames of a recursion, of which none may be compared with all
// that follow: that would take minutes.
func TestAllFrames(t *testing.T) {
	frames := make([]report.Frame, 1<<18)
	for i := range frames {
		frames[i] = report.Frame{Index: i, PC: 1, Function: "f"}
	}
	begin := time.Now()
	text := (&textFormat{part: part{all: true}}).frames(nil, frames)
	if n := bytes.Count(text, []byte("\n")); n != len(frames) {
		t.Errorf("got %d lines, want %d", n, len(frames))
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
