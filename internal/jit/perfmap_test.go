package jit

import (
	"strings"
	"testing"
)

func TestPerfMap(t *testing.T) {
	funcs, err := PerfMap("7f00 10 LazyCompile:*f /a b.js:1:2\r\n0x7f20 0x8 g\n\n7f30 zz h\n7f40 8\nffffffffffffffff 2 i\n7f50 0 empty\n0 ffffffffffffffff all\nfffffffffffffffe 1 top")
	if err == nil || err.Error() != "4 lines are not a start, a size and a name; the first is line 3" {
		t.Errorf("got %v", err)
	}
	want := []Run[Func]{
		{Lo: ^uint64(1), Hi: ^uint64(0), Of: Func{Name: "top"}},
		{Lo: 0, Hi: ^uint64(0), Of: Func{Name: "all"}},
		{Lo: 0x7f50, Hi: 0x7f50, Of: Func{Name: "empty"}},
		{Lo: 0x7f20, Hi: 0x7f28, Of: Func{Name: "g"}},
		{Lo: 0x7f00, Hi: 0x7f10, Of: Func{Name: "LazyCompile:*f /a b.js:1:2"}},
	}
	checkFuncs(t, funcs, want)
}

// The first functions of a map that is too long are read, and the first bytes of a name.
func TestPerfMapBounds(t *testing.T) {
	const most = 1 << 20
	text := "10 1 first\n" + strings.Repeat("1 1 a\n", most-1)
	funcs, err := PerfMap(text)
	if len(funcs) != most || err != nil || funcs[most-1].Of.Name != "first" {
		t.Errorf("got %d functions, %v, want %d", len(funcs), err, most)
	}
	funcs, err = PerfMap(text + "2 1 b\n")
	if len(funcs) != most || err == nil || err.Error() != "only the first 1048576 functions are read" || funcs[most-1].Of.Name != "first" {
		t.Errorf("got %d functions, %v, want %d, the newest first", len(funcs), err, most)
	}
	for length, want := range map[int]int{1023: 1023, 1024: 1024, 1025: 1024} {
		funcs, _ = PerfMap("1 1 " + strings.Repeat("a", length))
		if n := len(funcs[0].Of.Name); n != want {
			t.Errorf("got %d bytes of a name of %d, want %d", n, length, want)
		}
	}
}

// checkFuncs compares functions and their lines.
func checkFuncs(t *testing.T, got, want []Run[Func]) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d functions %+v, want %d", len(got), got, len(want))
	}
	for i := range want {
		g, w := &got[i], &want[i]
		if g.Lo != w.Lo || g.Hi != w.Hi || g.Of.Name != w.Of.Name || len(g.Of.Lines) != len(w.Of.Lines) {
			t.Errorf("function %d: got %+v, want %+v", i, *g, *w)
			continue
		}
		for j := range w.Of.Lines {
			if g.Of.Lines[j] != w.Of.Lines[j] {
				t.Errorf("function %d, line %d: got %+v, want %+v", i, j, g.Of.Lines[j], w.Of.Lines[j])
			}
		}
	}
}

func FuzzPerfMap(f *testing.F) {
	f.Add("7f00 10 f\n0x7f20 8 g h\n")
	f.Fuzz(func(t *testing.T, text string) {
		funcs, _ := PerfMap(text)
		checkRuns(t, funcs, len(text))
	})
}

// checkRuns checks what any input of a size in bytes must give: no range that ends
// before it begins, no more functions and no longer names than there are bytes.
func checkRuns(t *testing.T, funcs []Run[Func], size int) {
	t.Helper()
	for i := range funcs {
		if f := &funcs[i]; f.Hi < f.Lo || len(f.Of.Name) > size || len(f.Of.Lines) > size {
			t.Errorf("got %+v", *f)
		}
	}
	if len(funcs) > size {
		t.Errorf("got %d functions from %d bytes", len(funcs), size)
	}
}

// A map without damage gives no error, and a single line that is damaged does.
func TestPerfMapErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":              "",
		"10 1 a\n":      "",
		"10 1 a\nx\n":   "1 lines are not a start, a size and a name; the first is line 2",
		"x\n10 1 a\n\n": "2 lines are not a start, a size and a name; the first is line 1",
	} {
		funcs, err := PerfMap(text)
		if (err == nil) != (want == "") || err != nil && err.Error() != want || len(funcs) != strings.Count(text, "a") {
			t.Errorf("%q: got %d functions, %v, want %q", text, len(funcs), err, want)
		}
	}
}
