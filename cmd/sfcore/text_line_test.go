package main

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

const longName = "outer::(anonymous namespace)::Table<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, int>::insert(int)"

// Lines fit the terminal: what is missed least is left out first.
func TestLinesFit(t *testing.T) {
	f := report.Frame{
		Index: 3, PC: 0x7ffff7dd1234, Method: unwind.CFI, Trust: unwind.Full, Function: longName, LinkageName: "_ZN5outer", FunctionOffset: report.Known(0x41),
		File: "/build/server/storage/table.cc", Line: 1234, ModuleName: "server",
	}
	for _, tt := range []struct {
		width int
		want  string
	}{
		{0, "  #3     outer::(anonymous namespace)::Table<std::string, int>::insert+0x41 at /build/server/storage/table.cc:1234 in server  cfi            0x7ffff7dd1234\n"},
		{160, "  #3     outer::(anonymous namespace)::Table<std::string, int>::insert+0x41 at /build/server/storage/table.cc:1234 in server  cfi            0x7ffff7dd1234\n"},
		{145, "  #3     outer::(anonymous namespace)::Table<std::string, int>::insert+0x41 at /build/server/storage/table.cc:1234 in server  cfi\n"},
		{125, "  #3     outer::(anonymous namespace)::Table<std::string, int>::insert+0x41 at /build/server/storage/table.cc:1234 in server\n"},
		{115, "  #3     outer::(anonymous namespace)::Table<std::string, int>::insert+0x41 at …/storage/table.cc:1234 in server\n"},
		{100, "  #3     outer::(anonymous namespace)::Table<…>::insert+0x41 at table.cc:1234 in server\n"},
		{80, "  #3     outer::(anony…espace)::Table<…>::insert+0x41 at table.cc:1234 in server\n"},
	} {
		w := textFormat{width: tt.width}
		got := string(w.frame(nil, &f))
		if got != tt.want {
			t.Errorf("width %d:\n got %s\nwant %s", tt.width, got, tt.want)
		}
		if n := columnsOf(strings.TrimSpace(got)); tt.width > 0 && n > tt.width {
			t.Errorf("width %d: the line has %d columns", tt.width, n)
		}
	}
}

// Columns stand in the order in which they were asked for, and are never left out.
func TestColumns(t *testing.T) {
	f := report.Frame{PC: 0x401234, Method: unwind.SFrame, Trust: unwind.Checked, Function: "f(int)", LinkageName: "_Z1fi", FunctionOffset: report.Known(4), File: "/src/a.cc", Line: 7, ModuleName: "prog"}
	for _, tt := range []struct{ columns, want string }{
		{"name", "  #0   ~ f+0x4\n"},
		{"signature,place", "  #0   ~ f(int)+0x4 at /src/a.cc:7\n"},
		{"place", "  #0   ~ /src/a.cc:7\n"},
		{"pc,method,name", "  #0   ~ 0x401234        sframe         f+0x4\n"},
		{"module,pc", "  #0   ~ prog" + strings.Repeat(" ", 57) + "0x401234\n"},
		{"short", "  #0   ~ f at a.cc:7\n"},
	} {
		w := textFormat{width: 60}
		if tt.columns == "short" {
			w.columns.short = true
		} else if err := w.columns.Set(tt.columns); err != nil {
			t.Fatal(err)
		}
		if got := string(w.frame(nil, &f)); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.columns, got, tt.want)
		}
	}
	w := textFormat{columns: columns{short: true}}
	f.File, f.Function, f.LinkageName = "", "", ""
	if got, want := string(w.frame(nil, &f)), "  #0   ~ ?? in prog+unknown\n"; !strings.HasPrefix(got, want[:16]) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A frame of nothing has its address, whichever columns there are.
func TestNowhere(t *testing.T) {
	w := textFormat{columns: columns{short: true}}
	if got, want := string(w.frame(nil, &report.Frame{PC: 0x1234, Trust: unwind.Full})), "  #0     ?? (0x1234)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWithoutArguments(t *testing.T) {
	for in, want := range map[string]string{
		"a<b<c>, d>::e<f>": "a<…>::e<…>", "operator<": "operator<", "a<b>::operator<<": "a<…>::operator<<", "a::operator->": "a::operator->",
		"<T as U>::f": "<T as U>::f", "a<b": "a<b", "a": "a", "": "",
	} {
		if got := withoutArguments(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestWrapped(t *testing.T) {
	w := textFormat{width: 40}
	got := string(w.wrapped(nil, "  -- ", strings.Repeat("word ", 20), colorDim))
	for line := range strings.Lines(got) {
		if len(strings.TrimRight(line, "\n")) > 40 {
			t.Errorf("the line %q is too long", line)
		}
	}
	if strings.Count(got, "word") != 20 || !strings.Contains(got, "\n     word") {
		t.Errorf("got %q", got)
	}
}

// Whatever is of words fits the terminal: the signal, its evidence, variables and waits.
func TestSentencesFit(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 30))
	doc := &report.Document{
		Process: report.Process{Command: "p", Arch: "amd64", Signal: &report.Signal{Name: "SIGABRT", Meaning: words, Evidence: words}},
		Waiting: report.Waiting{Waits: []report.Wait{{Kind: report.WaitMutex, Threads: []int{1, 2, 3}, Owner: 4, Evidence: words}}},
	}
	f := &report.Frame{Variables: []report.Variable{{Name: "v", Type: "int *", Value: words}}}
	for _, width := range []int{0, 40, 80} {
		w := &textFormat{width: width}
		text := string(w.head(doc)) + string(w.variables(nil, f)) + string(w.tail(doc))
		for line := range strings.Lines(text) {
			if n := columnsOf(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("width %d: %q has %d columns", width, line, n)
			}
		}
		if strings.Count(text, "word") != 4*30 || strings.Contains(text, "\n    word") != (width > 0) || strings.Contains(text, "\n             word") != (width > 0) {
			t.Errorf("width %d: got\n%s", width, text)
		}
	}
}
