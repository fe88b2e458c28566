package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/core"
)

// TestSourceLines has the lines around one, of files of every shape.
func TestSourceLines(t *testing.T) {
	p := newProcess(t, &core.Image{})
	dir := p.opts.Sysroot
	files := map[string]string{
		"empty": "", "ends": "a\nb\nc\n", "open": "a\nb\nc", "dos": "a\r\nb\r\nc\r", "blank": "\n\n\n",
		"long": strings.Repeat("x", 511) + "\n" + strings.Repeat("y", 512) + "\n" + strings.Repeat("z", 513) + "\n" + strings.Repeat("w", 200_000) + "\nlast\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		file         string
		line, around int
		want         string
	}{
		{"missing", 1, 0, ""},
		{"empty", 1, 0, ""},
		{"ends", 0, 0, ""},
		{"ends", 4, 0, ""},
		{"ends", 4, 1, ""},
		{"ends", 1, 0, "1 a"},
		{"ends", 3, 0, "3 c"},
		{"ends", 2, 1, "1 a|2 b|3 c"},
		{"ends", 1, 1, "1 a|2 b"},
		{"ends", 3, 5, "1 a|2 b|3 c"},
		{"open", 3, 1, "2 b|3 c"},
		{"open", 4, 0, ""},
		{"dos", 2, 1, "1 a|2 b|3 c\r"},
		{"blank", 2, 1, "1 |2 |3 "},
		{"blank", 3, 0, "3 "},
		{"blank", 4, 0, ""},
	} {
		var got []string
		for _, l := range p.SourceLines("/"+tt.file, "", tt.line, tt.around) {
			got = append(got, fmt.Sprintf("%d %s", l.Number, l.Text))
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("%s, line %d and %d around: got %q, want %q", tt.file, tt.line, tt.around, got, tt.want)
		}
	}
	before := p.sourceRead.Load()
	lines := p.SourceLines("/long", "", 3, 2)
	if got := p.sourceRead.Load() - before; got != int64(len(files["long"])) {
		t.Errorf("got %d bytes read of %d", got, len(files["long"]))
	}
	if len(lines) != 5 || len(lines[0].Text) != 511 || len(lines[1].Text) != 512 || len(lines[2].Text) != 512 || len(lines[3].Text) != 512 || lines[4].Text != "last" || lines[4].Number != 5 {
		t.Errorf("got %d lines", len(lines))
	}
	read := p.sourceRead.Load()
	if p.SourceLines("/ends", "", 1, 0); p.sourceRead.Load() != read+6 {
		t.Errorf("got %d bytes read of six", p.sourceRead.Load()-read)
	}
	p.sourceRead.Store(1 << 30)
	if lines := p.SourceLines("/ends", "", 1, 0); len(lines) != 1 || len(p.Problems()) != 0 {
		t.Errorf("got %v, %q at the bound", lines, p.Problems())
	}
	const want = "more than 1073741824 bytes of source files were read; further lines are not shown"
	if lines := p.SourceLines("/ends", "", 1, 0); lines != nil || len(p.Problems()) != 1 || p.Problems()[0] != want {
		t.Errorf("got %v, %q beyond the bound", lines, p.Problems())
	}
}

// A file is read up to 64 MiB.
func TestSourceFileBounded(t *testing.T) {
	p := newProcess(t, &core.Image{})
	const size = 64 << 20
	f, err := os.Create(filepath.Join(p.opts.Sysroot, "a.c"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for at, text := range map[int64]string{0: "one\n", size - 2: "\nxy\nmore\n"} {
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.SourceLines("/a.c", "", 3, 0); len(got) != 1 || got[0] != (SourceLine{3, "x"}) {
		t.Errorf("got %v of the line at the end", got)
	}
	if got := p.SourceLines("/a.c", "", 4, 0); got != nil {
		t.Errorf("got %v beyond it", got)
	}
}

// A file is looked for where the source map says.
func TestSourceMapped(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.c"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := New(newProcess(t, &core.Image{}).Image(), Options{Sysroot: t.TempDir(), SourceMap: []Substitution{{"/none", "/else"}, {"/build", dir}}})
	if got := p.SourceLines("/build/a.c", "", 1, 0); len(got) != 1 || got[0].Text != "one" {
		t.Errorf("got %v", got)
	}
	if got := p.SourceLines("/builds/a.c", "", 1, 0); got != nil {
		t.Errorf("got %v of another directory", got)
	}
}

// Lines far into a file are found from places that are remembered, and a file that has
// changed is read again.
func TestSourceMarks(t *testing.T) {
	p := newProcess(t, &core.Image{})
	name := filepath.Join(p.opts.Sysroot, "a.c")
	write := func(n int, prefix string) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s%09d\n", prefix, i+1)
		}
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	line := func(n int) string {
		lines := p.SourceLines("/a.c", "", n, 0)
		if len(lines) != 1 || lines[0].Number != n {
			return ""
		}
		return lines[0].Text
	}
	const count = 60_000
	write(count, "a")
	for _, n := range []int{count, 1, 5957, 5958, 5959, 11916, count / 2, count - 1} {
		if got, want := line(n), fmt.Sprintf("a%09d", n); got != want {
			t.Errorf("line %d: got %q, want %q", n, got, want)
		}
	}
	marks := p.sourceMarks.files[name]
	if marks == nil || len(marks.places) != count*11/65536 {
		t.Fatalf("got marks %+v, want one for each %d bytes", marks, block)
	}
	for i, at := range marks.places {
		if int64(at.line) != at.off/11+1 || i > 0 && at.off < marks.places[i-1].off+block {
			t.Errorf("got a mark at line %d, offset %d", at.line, at.off)
		}
	}
	before := p.sourceRead.Load()
	if line(count); p.sourceRead.Load()-before > 2*block {
		t.Errorf("got %d bytes read again", p.sourceRead.Load()-before)
	}
	write(count+1, "b")
	if got := line(count); got != fmt.Sprintf("b%09d", count) || p.sourceMarks.files[name] == marks {
		t.Errorf("got %q of a file that is longer", got)
	}
	marks = p.sourceMarks.files[name]
	write(count+1, "c")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(name, later, later); err != nil {
		t.Fatal(err)
	}
	if got := line(2); got != fmt.Sprintf("c%09d", 2) || p.sourceMarks.files[name] == marks {
		t.Errorf("got %q of a file that is newer", got)
	}
	marks = p.sourceMarks.files[name]
	write(count, "d")
	if err := os.Chtimes(name, later, later); err != nil {
		t.Fatal(err)
	}
	if got := line(2); got != fmt.Sprintf("d%09d", 2) || p.sourceMarks.files[name] == marks {
		t.Errorf("got %q of a file that is shorter", got)
	}
	for i := range 256 {
		p.sourceMarks.files[fmt.Sprint(i)] = &fileMarks{}
	}
	if got := line(3); got == "" || len(p.sourceMarks.files) < 256 {
		t.Errorf("got %q, and marks of %d files: one that is known drops none", got, len(p.sourceMarks.files))
	}
	if err := os.WriteFile(filepath.Join(p.opts.Sysroot, "b.c"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p.SourceLines("/b.c", "", 1, 0); len(p.sourceMarks.files) != 1 {
		t.Errorf("got marks of %d files, want one", len(p.sourceMarks.files))
	}
}

// Places in a file are a block apart, and the last one in lines before is used.
func TestFileMarks(t *testing.T) {
	m := &fileMarks{all: &sourceMarks{}}
	for _, at := range []place{{9, 65535}, {10, 65536}, {11, 65537}, {15, 131071}, {20, 131072}, {21, 131073}, {30, 300000}} {
		m.add(at)
	}
	if want := []place{{10, 65536}, {20, 131072}, {30, 300000}}; !slices.Equal(m.places, want) {
		t.Errorf("got %v, want %v", m.places, want)
	}
	for line, want := range map[int]place{1: {1, 0}, 10: {1, 0}, 11: {10, 65536}, 20: {10, 65536}, 21: {20, 131072}, 31: {30, 300000}} {
		if got := m.before(line); got != want {
			t.Errorf("before line %d: got %v, want %v", line, got, want)
		}
	}
}
