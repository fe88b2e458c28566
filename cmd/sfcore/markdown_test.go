package main

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

func TestCodeSpan(t *testing.T) {
	for text, want := range map[string]string{
		"":          "` `",
		"a":         "`a`",
		"@someone":  "`@someone`",
		"a`b":       "``a`b``",
		"``":        "``` `` ```",
		"a``b`c":    "```a``b`c```",
		" a":        "`  a `",
		"a\nb":      "`a\\u000ab`",
		"<b>&amp;":  "`<b>&amp;`",
		"[x](y)|~*": "`[x](y)|~*`",
	} {
		if got := codeSpan(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestMarkdownOfHostileNames has names that are markup. Outside of code and escaped tags
// nothing of them may be left.
func TestMarkdownOfHostileNames(t *testing.T) {
	const evil = "```\n</details></code><script>x</script>\n## heading @someone ![](http://x) ````"
	r := &report.Document{
		Process: report.Process{Command: evil, Executable: "/" + evil, Arch: "amd64", Signal: &report.Signal{Name: evil, Meaning: evil}},
		Modules: []report.Module{{Path: "/lib/" + evil, BuildID: evil, Base: 1, End: 2}},
	}
	frame := report.Frame{Function: evil, File: evil, Module: evil, ModuleName: evil, Trust: unwind.Guess}
	m := newMarkdown(textFormat{})
	text := m.head(r)
	for _, crashed := range []bool{true, false} {
		th := &report.Thread{Name: evil, Crashed: crashed, Frames: []report.Frame{frame}, Stop: report.Stop{Detail: evil, Reason: unwind.NoUnwindInfo}}
		text = m.thread(text, &document.Thread{Thread: th})
	}
	text = append(text, m.tail(r)...)
	fence, depth := "", 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			} else if trimmed := strings.Trim(strings.TrimSpace(line), "`"); trimmed == "" && len(line) >= len(fence) {
				t.Errorf("%q ends a block that %s began", line, fence)
			}
		case strings.HasPrefix(line, "```"):
			fence, _ = strings.CutSuffix(line, "text")
		case strings.HasPrefix(line, "<details>"):
			depth++
			if strings.Count(line, "<") != strings.Count(line, "<details>")+2*strings.Count(line, "</code>")+2 || strings.Contains(line, "script>x") && !strings.Contains(line, "&lt;script&gt;") {
				t.Errorf("a tag of the process: %s", line)
			}
		case line == "</details>":
			depth--
		default:
			if left := withoutSpans(line); strings.Contains(left, "script") || strings.Contains(left, "@") {
				t.Errorf("outside of code: %s in %s", left, line)
			}
		}
	}
	if fence != "" || depth != 0 {
		t.Errorf("%q is open, and %d details", fence, depth)
	}
}

// withoutSpans removes code spans, as a reader of Markdown finds them.
func withoutSpans(line string) string {
	var out strings.Builder
	for line != "" {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			return out.String() + line
		}
		out.WriteString(line[:i])
		line = line[i:]
		n := len(line) - len(strings.TrimLeft(line, "`"))
		ticks, rest := line[:n], line[n:]
		for at := 0; ; {
			j := strings.Index(rest[at:], ticks)
			if j < 0 {
				return out.String() + line
			}
			end := at + j
			run := len(rest[end:]) - len(strings.TrimLeft(rest[end:], "`"))
			if run == n {
				line = rest[end+n:]
				break
			}
			at = end + run
		}
	}
	return out.String()
}
