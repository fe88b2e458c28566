package process

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/display"
)

// TestShown has what names count: a byte for each that JSON writes as it is, and six for
// others.
func TestShown(t *testing.T) {
	for name, want := range map[string]int{
		"": 0, "f": 1, "a b~": 4, "\x1f": 6, "\x7f": 6, "<": 6, ">": 6, "&": 6, "\"": 6, "\\": 6, "é": 12, "f<int>": 16,
	} {
		if got := shown(name); got != want {
			t.Errorf("%q: got %d, want %d", name, got, want)
		}
	}
}

// TestBrief has names that are cut off: to as many bytes as are shown of a name, or to
// fewer that JSON may all escape.
func TestBrief(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, want := range map[string]string{
		"f": "f", x(256): x(256), x(257): x(256) + "...", strings.Repeat("<", 43): strings.Repeat("<", 43), strings.Repeat("<", 44): strings.Repeat("<", 42) + "...",
		strings.Repeat("é", 30): strings.Repeat("é", 21) + "...", x(41) + strings.Repeat("é", 30): x(41) + "...",
	} {
		if got := brief(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// What a Walker remembers of names is counted, and dropped when it becomes too much.
func TestNamesHeld(t *testing.T) {
	p := tailProcess(t)
	w := p.NewWalker()
	const twoNames, oneName, noName = 3*256 + 2*len("in") + 2*len("f"), 2*256 + 2*len("h"), 256
	const at = tailF + 0x18
	if n := w.name(at); len(n.names) != 2 || n.module == nil || n.names[0].demangled != "in" || n.names[1].demangled != "f" || w.held != twoNames {
		t.Errorf("got %+v, %d bytes held, want %d", n, w.held, twoNames)
	}
	if w.name(at); w.held != twoNames {
		t.Errorf("got %d bytes held of what was known", w.held)
	}
	if n := w.name(8); len(n.names) != 0 || n.module != nil || w.held != twoNames+noName {
		t.Errorf("got %+v, %d bytes held, want %d", n, w.held, twoNames+noName)
	}
	w.held = 64<<20 - oneName
	if w.name(tailH); w.held != 64<<20 || len(w.names) != 3 {
		t.Errorf("got %d names, %d bytes held at the bound", len(w.names), w.held)
	}
	if w.name(9); w.held != noName || len(w.names) != 1 {
		t.Errorf("got %d names, %d bytes held beyond the bound", len(w.names), w.held)
	}
	w.names[8] = naming{source: "x"}
	if n := w.name(8); n.source != "x" {
		t.Errorf("got %+v, want what is remembered", n)
	}
}

// What names take is counted as JSON writes them, and what is cut off takes no more
// than the usual name.
func TestShownNames(t *testing.T) {
	for _, name := range []string{"", "f", "a::b(int)", "<&>\"\\", "\x00\x1b\x7f", "é\u202e\U000e0041", "\xff\xfe", strings.Repeat("\x1b", 1000), strings.Repeat("x", 1000), strings.Repeat("é<", 1000)} {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, least := shown(name), len(display.JSON(text))-2; got < least || got > maxEscape*len(name) {
			t.Errorf("%.20q: got %d bytes, want at least %d", name, got, least)
		}
		if got := brief(name); shown(got) > maxVarName+3 || len(name) < 42 && got != name || !strings.HasPrefix(name, strings.TrimSuffix(got, "...")) {
			t.Errorf("%.20q: cut off to %q", name, got)
		}
	}
}
