package picture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// named is a collection in which every text that a process or its files can choose is
// made of name.
func named(name string, redact bool) *Collection {
	c := New(Threads, redact)
	frames := []report.Frame{
		{Function: name, LinkageName: name, File: name, Line: 3, Module: name, ModuleName: name, Doubt: name, Trust: unwind.Checked, Inlined: true},
		{PC: 0x1000, ModuleName: name, ModuleOffset: report.Known(16), Trust: unwind.Guess, Variables: []report.Variable{{Name: name, Value: name}}},
	}
	for id := range int64(3) {
		_ = c.Add(&Thread{
			ID: id, Name: name, State: name, Crashed: id == 0, Frames: frames, Stop: report.Stop{Reason: unwind.Loop, Detail: name},
			Lines: [][]SourceLine{{{Number: 3, Text: name, Here: true}}},
		})
	}
	c.EndSnapshot(&report.Document{
		Source:  report.Source{Kind: "core", Path: name, Time: name},
		Process: report.Process{Arch: name, Command: name, Executable: name, Signal: &report.Signal{Name: "SIGSEGV", CodeName: name, Meaning: name}},
		Waiting: report.Waiting{Waits: []report.Wait{
			{Kind: report.WaitFutex, Function: name, Threads: []int{1, 2}},
			{Kind: report.WaitMutex, Threads: []int{3}, Owner: 4, Inferred: true, Evidence: name},
		}},
	}, []report.Module{{Path: name, File: name, Debug: name, BuildID: name, Match: report.Match(name), Symbols: name, Problems: []string{name}}}, []string{name})
	return c
}

// parsed is what a browser sees of a page.
type parsed struct {
	elements []string          // with the names of their attributes
	texts    []string          // outside scripts and styles
	values   map[string]string // of attributes of interest
	contents map[string]string // of scripts and styles
}

func parse(t testing.TB, c *Collection) (p parsed) {
	t.Helper()
	var out bytes.Buffer
	if err := c.WriteHTML(&out, "1.0"); err != nil {
		t.Fatal(err)
	}
	return parsePage(t, out.Bytes())
}

func parsePage(t testing.TB, page []byte) (p parsed) {
	t.Helper()
	if !utf8.Valid(page) {
		t.Error("the page is not UTF-8")
	}
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	p.values, p.contents = map[string]string{}, map[string]string{}
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			about := n.Data
			for _, a := range n.Attr {
				about += " " + a.Key
				p.values[n.Data+" "+a.Key] += a.Val + "\n"
			}
			p.elements = append(p.elements, about)
			if (n.Data == "script" || n.Data == "style") && n.FirstChild != nil {
				p.contents[about] = n.FirstChild.Data
			}
		case html.TextNode:
			if n.Parent.Data != "script" && n.Parent.Data != "style" {
				p.texts = append(p.texts, n.Data)
			}
		case html.CommentNode:
			p.elements = append(p.elements, "comment")
		}
	}
	return p
}

// harmlessPages are what all other pages are compared with, redacted or not.
func harmlessPages(t testing.TB) map[bool]parsed {
	return map[bool]parsed{false: parse(t, named("harmless", false)), true: parse(t, named("harmless", true))}
}

// checkPage compares a page with that of a harmless name: only texts may differ.
func checkPage(t *testing.T, name string, redact bool, want parsed) {
	t.Helper()
	got := parse(t, named(name, redact))
	if name == "" { // and what is empty is left out
		want = got
	}
	if !slices.Equal(got.elements, want.elements) {
		t.Errorf("%q: got elements\n%q\nwant\n%q", name, got.elements, want.elements)
	}
	for about, text := range want.contents {
		if !strings.Contains(about, "type") && got.contents[about] != text {
			t.Errorf("%q: %s has changed", name, about)
		}
	}
	for attribute, value := range want.values {
		if got.values[attribute] != value && attribute != "option value" {
			t.Errorf("%q: %s: got %q, want %q", name, attribute, got.values[attribute], value)
		}
	}
	var data pageData
	if err := json.Unmarshal([]byte(got.contents["script type id"]), &data); err != nil {
		t.Errorf("%q: the data: %v", name, err)
	}
	if !redact && !slices.Contains(data.Texts, display.Text(name)) {
		t.Errorf("%q: got texts %q", name, data.Texts)
	}
	for _, text := range slices.Concat(got.texts, data.Texts) {
		for _, r := range text {
			if display.Unsafe(r) && r != '\t' && r != '\n' {
				t.Errorf("%q: got %q", name, text)
			}
		}
	}
}

// hostileNames want to leave their place.
var hostileNames = []string{
	"harmless", "", "</script><script>alert(1)</script>", "<!--<script>", "]]>", "-->", "\u2028\u2029", "</style></title></textarea>",
	`" onload="alert(1)`, `' onload='alert(1)`, "<img src=//host.example/x onerror=alert(1)>", "javascript:alert(1)", "a\u202eb\u2066c", "\x00\xff\x9b\ufffd",
	"{{.Data}}", "${alert(1)}", "\\u003c", "&lt;b&gt;&amp;", "/home/jane/x y/<b>", "std::map<std::string, int>::operator[](std::string const&)", "\ufeff\r\n\t",
}

// Names stay in their places.
func TestHostileNames(t *testing.T) {
	want := harmlessPages(t)
	for _, name := range hostileNames {
		checkPage(t, name, false, want[false])
		checkPage(t, name, true, want[true])
	}
}

// FuzzPage renders and parses pages of any name.
func FuzzPage(f *testing.F) {
	for _, name := range hostileNames {
		f.Add(name, false)
	}
	want := harmlessPages(f)
	f.Fuzz(func(t *testing.T, name string, redact bool) { checkPage(t, name, redact, want[redact]) })
}

// The page permits its own script and style, and nothing else.
func TestPolicy(t *testing.T) {
	p := parse(t, named("x", false))
	policy, _, _ := strings.Cut(p.values["meta content"], "\n")
	want := fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		digest(p.contents["style"]), digest(p.contents["script"]))
	if policy != want {
		t.Errorf("got %s, want %s", policy, want)
	}
	for about := range p.values {
		if name := strings.Fields(about)[1]; strings.HasPrefix(name, "on") || name == "style" || name == "href" || name == "src" {
			t.Errorf("got an attribute %s", about)
		}
	}
}

// What says where the page was made is left out everywhere.
func TestRedactedPage(t *testing.T) {
	for _, redact := range []bool{false, true} {
		var out bytes.Buffer
		c := New(Threads, redact)
		c.Hide("/home/jane/secret place/name")
		_ = c.Add(&Thread{
			Frames: []report.Frame{{Function: "f", File: "/home/jane/f.c", Module: "/home/jane/secret place/name", ModuleName: "name"}},
			Stop:   report.Stop{Detail: "the file of /home/jane/secret place/name was not found"},
		})
		c.EndSnapshot(&report.Document{
			Source:  report.Source{Kind: "core", Path: "/home/jane/core"},
			Process: report.Process{Command: "/home/jane/x --password=hunter2", Signal: &report.Signal{Name: "SIGTERM", Meaning: "sent by process 1 of user 1234"}},
		}, []report.Module{{Path: "/home/jane/secret place/name", File: "/home/jane/y", Debug: "/home/jane/z"}}, []string{"open /home/jane/q: denied", "https://jane@host/"})
		if err := c.WriteHTML(&out, "1.0"); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"jane", "secret", "1234"} {
			if strings.Contains(out.String(), word) == redact {
				t.Errorf("redact %v: %q is there: %v", redact, word, !redact)
			}
		}
		if strings.Contains(out.String(), "hunter2") {
			t.Error("the arguments of the program are there")
		}
	}
}

// A picture that is full keeps what it has.
func TestFull(t *testing.T) {
	c := New(Threads, false)
	for range maxStacks {
		if err := c.Add(&Thread{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Add(&Thread{}); !errors.Is(err, ErrTooMuch) || len(c.stacks) != maxStacks {
		t.Errorf("got %v with %d stacks, want %v", err, len(c.stacks), ErrTooMuch)
	}
	if err := New(Threads, false).Add(&Thread{Frames: make([]report.Frame, maxNodes)}); !errors.Is(err, ErrTooMuch) {
		t.Errorf("got %v, want %v", err, ErrTooMuch)
	}
	if text := ErrTooMuch.Error(); !strings.Contains(text, fmt.Sprint(maxStacks)) || !strings.Contains(text, fmt.Sprint(maxNodes)) {
		t.Errorf("got %q, want both limits in it", text)
	}
}
