package main

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sfcore/sfcore/internal/funcname"
	"github.com/sfcore/sfcore/report"
)

const (
	// textWidth is where method and pc begin if there is room.
	textWidth = 72
	// leastText is how many columns of a terminal name and place have beside method
	// and pc.
	leastText = 48
)

// what is what the line of a frame says in words: the function, where it is, and its
// module. Everything in it is safe for a terminal.
type what struct {
	name   string // "??" for none
	offset string // "+0x8", "" for none
	note   string
	file   string // "" for none
	line   string // ":61"
	module string // "" for none
	link   string // to the file; "" for none
}

func describe(f *report.Frame, c *columns, verbose bool) (t what) {
	if c.has(columnName, verbose) || c.has(columnSignature, verbose) {
		t.function(f, c, verbose)
	}
	if c.has(columnPlace, verbose) && f.File != "" {
		t.file, t.line = plain(f.File), ":"+strconv.Itoa(f.Line)
		if c.short {
			t.file = t.file[strings.LastIndexByte(t.file, '/')+1:]
		}
	}
	if f.ModuleName != "" && (c.has(columnModule, verbose) || c.short && t.file == "") {
		t.module = plain(f.ModuleName)
		if f.Function == "" {
			offset, _ := f.ModuleOffset.AppendText([]byte{'+'})
			t.module += string(offset)
		}
	}
	return t
}

func (t *what) function(f *report.Frame, c *columns, verbose bool) {
	switch {
	case f.Function == "" && f.ModuleName == "":
		pc, _ := f.PC.AppendText(nil)
		t.name = "?? (" + string(pc) + ")"
	case f.Function == "":
		t.name = "??"
	case f.LinkageName != "" && !c.has(columnSignature, verbose):
		t.name = plain(funcname.Short(f.Function))
	default:
		t.name = plain(f.Function)
	}
	if off := f.FunctionOffset.Addr; off != 0 && !f.Inlined && f.Function != "" && (!c.short || f.File == "") {
		offset, _ := off.AppendText([]byte{'+'})
		t.offset = string(offset)
	}
	if f.SignalFrame {
		t.note = " <signal handler called>"
	}
	if f.Inlined {
		t.note += " (inlined)"
	}
}

// width returns how many columns of a terminal the text takes. Wide characters count as
// one: no terminal breaks more than a line by that.
func (t *what) width() int {
	n := columnsOf(t.name) + len(t.offset) + len(t.note)
	if t.file != "" {
		n += len(" at ") + columnsOf(t.file) + len(t.line)
	}
	if t.module != "" {
		n += len(" in ") + columnsOf(t.module)
	}
	return n
}

func columnsOf(s string) int { return utf8.RuneCountInString(s) }

// fit shortens the text to a width, by what is missed least: first the directories of the
// file, then the template arguments of the function, then the middle of its name.
func (t *what) fit(width int) {
	if over := t.width() - width; over > 0 && t.file != "" {
		t.file = withoutDirs(t.file, columnsOf(t.file)-over)
	}
	if over := t.width() - width; over > 0 && strings.Contains(t.name, "<") {
		t.name = withoutArguments(t.name)
	}
	if over := t.width() - width; over > 0 {
		t.name = withoutMiddle(t.name, max(columnsOf(t.name)-over, leastName))
	}
}

// leastName is to how many characters a name is cut at least.
const leastName = 16

// withoutDirs leaves out the first directories of a file, until it has a width or no
// directory.
func withoutDirs(file string, width int) string {
	rest := file
	for columnsOf(rest)+len("./") > width {
		_, after, ok := strings.Cut(rest, "/")
		if !ok || after == "" {
			break
		}
		rest = after
	}
	if rest == file || !strings.Contains(rest, "/") {
		return rest
	}
	return "…/" + rest
}

// withoutArguments leaves out template arguments: "a<b>::c" is "a<…>::c".
func withoutArguments(name string) string {
	if strings.HasPrefix(name, "<") { // Rust's <T as Trait>::f
		return name
	}
	var b strings.Builder
	depth := 0
	for i, r := range name {
		operator := strings.HasSuffix(name[:i], "operator") || strings.HasSuffix(name[:i], "operator<") || strings.HasSuffix(name[:i], "-")
		switch {
		case operator:
		case r == '<':
			if depth++; depth == 1 {
				b.WriteString("<…>")
			}
		case r == '>' && depth > 0:
			if depth--; depth == 0 {
				continue
			}
		}
		if depth == 0 {
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 || depth > 0 {
		return name
	}
	return b.String()
}

// withoutMiddle leaves out the middle of a name.
func withoutMiddle(name string, width int) string {
	runes := []rune(name)
	if len(runes) <= width {
		return name
	}
	tail := (width - 1) * 2 / 3 // a name says more at its end
	return string(runes[:width-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// append appends the text.
func (t *what) append(b []byte, paint painter) []byte {
	begin := len(b)
	if t.name != "" {
		if t.name[0] != '?' {
			b = paint.end(append(paint.begin(b, colorName), t.name...))
		} else {
			b = append(b, t.name...)
		}
		b = append(append(b, t.offset...), t.note...)
	}
	if t.file != "" {
		b = linked(joint(b, begin, " at "), t.link, t.file+t.line)
	}
	if t.module != "" {
		b = append(joint(b, begin, " in "), t.module...)
	}
	return b
}

// joint appends the word between two parts, if there is one before.
func joint(b []byte, begin int, word string) []byte {
	if len(b) == begin {
		return b
	}
	return append(b, word...)
}

// frame appends the lines of a frame. A core may have a hundred thousand frames, so it
// does not use package fmt.
func (w *textFormat) frame(b []byte, f *report.Frame) []byte {
	start := len(b)
	b = append(b, "  #"...)
	b = append(pad(strconv.AppendInt(b, int64(f.Index), 10), start, 6), ' ')
	b = w.memo.append(b, f, len(b)-start, w.line)
	b = appendSource(append(b, '\n'), f, w.paint)
	return w.variables(w.workings(b, f), f)
}

// line appends the line of a frame behind its number, which takes some columns.
func (w *textFormat) line(b []byte, f *report.Frame, used int) []byte {
	b = append(append(b, w.paint.bad(marks[f.Trust])...), ' ')
	used += 2
	for _, col := range []column{columnPC, columnMethod} {
		if w.has(col) && w.columns.first(col) {
			b = append(w.fixed(b, f, col, true), "  "...)
			used += fixedWidth(col) + 2
		}
	}
	text := describe(f, &w.columns, w.verbose)
	if text.file != "" {
		text.link = w.links.to(f.File, f.Line)
	}
	behind, right := w.behind(&text, used)
	b = text.append(b, w.paint)
	if len(behind) > 0 {
		b = pad(b, len(b), right-used-text.width())
	}
	for i, col := range behind {
		b = w.fixed(append(b, "  "...), f, col, i+1 < len(behind))
	}
	return b
}

// has reports whether lines have a column.
func (w *textFormat) has(col column) bool { return w.columns.has(col, w.verbose) }

// behind returns which columns stand behind the text of a line, and where they begin. It
// makes the text fit the terminal, unless the columns were chosen.
func (w *textFormat) behind(text *what, used int) (cols []column, right int) {
	right = textWidth
	tail := 0
	for _, col := range []column{columnMethod, columnPC} {
		if w.has(col) && !w.columns.first(col) {
			cols = append(cols, col)
			tail += fixedWidth(col) + 2
		}
	}
	if w.width == 0 || w.columns.list != nil || w.verbose {
		return cols, right
	}
	for width := text.width(); len(cols) > 0 && used+max(width, leastText)+tail > w.width; cols = cols[:len(cols)-1] {
		tail -= fixedWidth(cols[len(cols)-1]) + 2
	}
	text.fit(w.width - used)
	if full := fixedWidth(columnMethod) + fixedWidth(columnPC) + 4; right+full > w.width {
		right = w.width - tail
	}
	return cols, right
}

// fixedWidth is the width of the longest method, and of a pc in the usual part of the
// address space.
func fixedWidth(col column) int {
	if col == columnMethod {
		return len("frame-pointer")
	}
	return len("0x7ffff7dd1234")
}

// fixed appends a column that has the same width on all lines; padded, with spaces.
func (w *textFormat) fixed(b []byte, f *report.Frame, col column, padded bool) []byte {
	color := colorAddress
	if col == columnMethod {
		color = colorDim
	}
	b = w.paint.begin(b, color)
	start := len(b)
	if col == columnMethod {
		b = append(b, f.Method.String()...)
	} else {
		b, _ = f.PC.AppendText(b)
	}
	if padded {
		b = pad(b, start, fixedWidth(col))
	}
	return w.paint.end(b)
}
