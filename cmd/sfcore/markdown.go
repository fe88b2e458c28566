package main

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/funcname"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/internal/version"
	"github.com/sfcore/sfcore/report"
)

// markdownFormat renders the report for tickets, in the Markdown that forges share
// [GFM 0.29]: the stack of the crashed thread, the others folded away, and the build-ids
// of what they ran. Whatever comes from the process is in code, where nothing of it is
// markup, a link or a mention.
type markdownFormat struct {
	text   textFormat
	shown  sync.Map // IDs of modules that have frames
	marked atomic.Bool
}

func newMarkdown(text textFormat) *markdownFormat {
	text.paint, text.width = false, 0
	return &markdownFormat{text: text}
}

const (
	// firstFrames and lastFrames are how many frames of a long stack a ticket shows.
	firstFrames = 40
	lastFrames  = 20
)

func (m *markdownFormat) head(r *report.Document) []byte {
	title := "Stacks"
	if r.Process.Signal != nil {
		title = "Crash"
	}
	b := fmt.Appendf(nil, "## %s of %s\n\n", title, codeSpan(baseName(&r.Process)))
	return fenced(b, m.text.head(r))
}

// baseName is the last element of the program's path.
func baseName(p *report.Process) string {
	program, _, _ := strings.Cut(orUnknown(p.Executable, p.Command), " ")
	return program[strings.LastIndexByte(program, '/')+1:]
}

func (*markdownFormat) separator() string { return "" }

func (m *markdownFormat) thread(b []byte, r *document.Thread) []byte {
	what := fmt.Sprintf("Thread %d", r.TID)
	if len(r.TIDs) > 1 {
		what = fmt.Sprintf("%d threads", len(r.TIDs))
	}
	text := m.frames(r)
	if r.Crashed {
		b = fmt.Appendf(b, "\n### %s", what)
		if r.Name != "" {
			b = append(append(b, ' '), codeSpan(r.Name)...)
		}
		return fenced(append(b, ", crashed\n\n"...), text)
	}
	b = append(append(b, "\n<details><summary>"...), what...)
	if r.Name != "" {
		b = append(append(append(b, " <code>"...), html.EscapeString(plain(r.Name))...), "</code>"...)
	}
	if len(r.Frames) > 0 {
		if name := r.Frames[0].Function; name != "" {
			b = append(append(append(b, " in <code>"...), html.EscapeString(plain(funcname.Short(name)))...), "</code>"...)
		}
	}
	b = fenced(append(b, "</summary>\n\n"...), text)
	return append(b, "\n</details>\n"...)
}

// frames returns the stack as text, without what only a debugger needs.
func (m *markdownFormat) frames(r *document.Thread) (b []byte) {
	if len(r.TIDs) > 1 {
		b = m.text.ids(b, "  ids ", display.IDs(r.TIDs))
	}
	pieces := slices.Collect(m.text.part.pieces(len(r.Frames), func(i int) *report.Frame { return &r.Frames[i] }))
	if left := len(pieces) - firstFrames - lastFrames; left > 1 && m.text.part == (part{}) {
		middle := piece{index: -1}
		for _, p := range pieces[firstFrames : firstFrames+left] {
			middle.frames += p.frames
		}
		middle.note = fmt.Sprintf("%d frames are left out (--frames all)", middle.frames)
		pieces = slices.Replace(pieces, firstFrames, firstFrames+left, middle)
	}
	for _, p := range pieces {
		if p.index < 0 {
			b = m.text.note(b, p)
			continue
		}
		b = m.frame(b, &r.Frames[p.index])
	}
	return m.text.stop(b, &r.Stop)
}

func (m *markdownFormat) frame(b []byte, f *report.Frame) []byte {
	if f.Module != "" {
		m.shown.Store(f.Module, nil)
	}
	mark := marks[f.Trust]
	if mark != " " {
		m.marked.Store(true)
	}
	b = append(b, '#')
	start := len(b)
	b = append(pad(strconv.AppendInt(b, int64(f.Index), 10), start, 3), mark...)
	b = append(b, ' ')
	text := describe(f, &m.text.columns, m.text.verbose)
	b = text.append(b, false)
	return m.text.variables(appendSource(append(b, '\n'), f, false), f)
}

func (m *markdownFormat) tail(r *report.Document) []byte {
	var b []byte
	if waits := bytes.TrimSpace(m.text.tail(r)); len(waits) > 0 {
		b = fenced(append(b, '\n'), waits)
	}
	if m.marked.Load() {
		b = append(b, "\n`~` marks frames that a convention found and every check confirmed, `?` those that may not exist.\n"...)
	}
	first := true
	for i := range r.Modules {
		mod := &r.Modules[i]
		if _, ok := m.shown.Load(orUnknown(mod.BuildID, mod.Path)); !ok {
			continue
		}
		if first {
			b, first = append(b, '\n'), false
		}
		b = append(append(b, "- "...), codeSpan(mod.Path)...)
		if mod.BuildID != "" {
			b = append(append(b, ", build-id "...), codeSpan(mod.BuildID)...)
		}
		b = append(append(b, ", "...), symbolsOf(mod)...)
		b = append(b, '\n')
	}
	return fmt.Appendf(b, "\nMade by sfcore %s.\n", codeSpan(version.Get().String()))
}

// symbolsOf says what the names of a module's frames come from.
func symbolsOf(m *report.Module) string {
	switch {
	case m.Match == report.MatchMissing || m.Match == report.MatchMismatch:
		return "file not found"
	case m.Lines:
		return "with debug information"
	case m.Symbols == "" || m.Symbols == symbol.FromNone:
		return "without symbols"
	}
	return "with symbols"
}

// codeSpan returns text as code: between more backticks than it has side by side [GFM
// 6.3].
func codeSpan(text string) string {
	text = plain(text)
	if text == "" {
		return "` `"
	}
	ticks := strings.Repeat("`", backticks([]byte(text))+1)
	if text[0] == '`' || text[len(text)-1] == '`' || text[0] == ' ' {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// fenced appends a code block [GFM 4.5].
func fenced(b, text []byte) []byte {
	fence := strings.Repeat("`", max(3, backticks(text)+1))
	b = append(append(b, fence...), "text\n"...)
	b = append(b, bytes.TrimSuffix(text, []byte("\n"))...)
	return append(append(append(b, '\n'), fence...), '\n')
}

// backticks returns how many backticks are side by side at most.
func backticks(text []byte) (most int) {
	run := 0
	for _, c := range text {
		if c != '`' {
			run = 0
			continue
		}
		run++
		most = max(most, run)
	}
	return most
}
