package dap

import (
	"fmt"
	"strings"
	"testing"

	godap "github.com/google/go-dap"
)

func TestEvaluate(t *testing.T) {
	for _, name := range archCases {
		t.Run(name, func(t *testing.T) {
			c, stopped := open(t, corpus(name))
			frames := c.frames(stopped.ThreadId)
			for i, f := range frames[:len(frames)-1] {
				if got, _, _ := strings.Cut(c.evaluate(f.Id, "hover", "$pc"), " "); got != f.InstructionPointerReference {
					t.Errorf("frame %d: got $pc %s, want %s", i, got, f.InstructionPointerReference)
				}
			}
			sp := parse(t, c.evaluate(frames[0].Id, "watch", "$sp"))
			word := c.evaluate(frames[0].Id, "watch", "*$sp")
			if got := c.evaluate(frames[0].Id, "watch", fmt.Sprintf("*(%#x + 16 - 2*8)", sp)); got != word {
				t.Errorf("got %s, want %s", got, word)
			}
			dump := c.evaluate(frames[0].Id, "repl", "x/2gx $sp")
			if value, _, _ := strings.Cut(word, " "); !strings.HasPrefix(dump, fmt.Sprintf("%#x:\t", sp)) || parse(t, strings.Fields(dump)[1]) != parse(t, value) {
				t.Errorf("got %q, want %s first", dump, word)
			}
			if got := c.evaluate(0, "watch", "$pc"); !strings.HasPrefix(got, frames[0].InstructionPointerReference) {
				t.Errorf("without a frame: got %s, want %s", got, frames[0].InstructionPointerReference)
			}
			c.refused("evaluate", map[string]any{"expression": "bt", "frameId": frames[0].Id, "context": "watch"}, idExpression)
			c.refused("evaluate", map[string]any{"expression": "*8", "context": "watch"}, idExpression)
			c.refused("evaluate", map[string]any{"expression": "1", "frameId": 99999}, idReference)
		})
	}
}

func TestNames(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-cxx"))
	var body godap.EvaluateResponseBody
	c.do("evaluate", map[string]any{"expression": "main", "context": "watch"}, &body)
	if !strings.HasSuffix(body.Result, "<main>") || body.MemoryReference == "" {
		t.Errorf("got %+v, want the address of main", body)
	}
	c.do("evaluate", map[string]any{"expression": "$xmm1", "context": "watch"}, &body)
	if body.VariablesReference == 0 || !strings.HasPrefix(body.Result, "0x") {
		t.Errorf("got %+v, want a vector register", body)
	}
	if got := c.evaluate(c.frames(stopped.ThreadId)[2].Id, "watch", "$xmm1"); got != notRecovered {
		t.Errorf("frame 2: got $xmm1 %s, want %s", got, notRecovered)
	}
}

func TestConsole(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-threads"))
	frames := c.frames(stopped.ThreadId)
	for text, want := range map[string]string{
		"help":                              "bt [all | --group | TID]",
		"bt":                                "registers",
		"bt all":                            fmt.Sprintf("thread %d", stopped.ThreadId),
		"info signal":                       "SIG",
		"info threads":                      "SIG",
		"info modules":                      "sframe v3",
		"info mappings":                     "threads",
		"info registers":                    "rip",
		"info problems":                     "",
		"info symbol $pc":                   "threads",
		"sframe":                            "cfa=",
		"sframe $pc":                        "ra=",
		"p 6*7":                             "42",
		"p/x 6*7":                           "0x2a",
		"print $pc":                         frames[0].InstructionPointerReference,
		"x/3i $pc":                          "\t",
		"x/s $sp":                           `"`,
		"x/4c $sp":                          "'",
		"x/2a $sp":                          "0x",
		"x/1wd 0":                           "not mapped",
		"1 + 1":                             "2",
		fmt.Sprint("bt ", stopped.ThreadId): "thread",
	} {
		if got := c.evaluate(frames[0].Id, "repl", text); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want something with %q", text, got, want)
		}
	}
	if n := strings.Count(c.evaluate(0, "repl", "bt all"), "thread "); n < 10 {
		t.Errorf("bt all: got %d threads, want 10", n)
	}
	for _, text := range []string{"info", "info nothing", "bt nothing", "bt 123456789", "x/8zx 0", "x/8gx", "sframe nothing", "nothing", "print nothing"} {
		id := idExpression
		if text == "bt 123456789" {
			id = idReference
		}
		c.refused("evaluate", map[string]any{"expression": text, "context": "repl"}, id)
	}
}

func TestCompletions(t *testing.T) {
	c, _ := open(t, corpus("amd64-v3-threads"))
	for text, want := range map[string]string{
		"b": "bt", "info m": "modules,mappings", "print $ri": "$rip", "x/8gx $sp + $r": "$r10,$r11,$r12,$r13,$r14,$r15,$r8,$r9,$rax,$rbp,$rbx,$rcx,$rdi,$rdx,$rip,$rsi,$rsp",
		"zz": "", "bt a": "all",
	} {
		var body godap.CompletionsResponseBody
		c.do("completions", map[string]any{"text": text, "column": len(text) + 1}, &body)
		var labels []string
		for _, target := range body.Targets {
			labels = append(labels, target.Label)
			if completed := text[:target.Start] + target.Label; !strings.HasPrefix(completed, text) || target.Start+target.Length != len(text) {
				t.Errorf("%q: got %+v", text, target)
			}
		}
		if got := strings.Join(labels, ","); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	c.do("completions", map[string]any{"text": "é", "column": 100}, nil)
	c.do("completions", map[string]any{"text": "b", "column": -5}, nil)
}

// TestPath checks that a directory named in the console brings names, and that
// the client is told.
func TestPath(t *testing.T) {
	config := corpus("amd64-v3-threads")
	paths := config["paths"].([]string)
	delete(config, "paths")
	c, stopped := open(t, config)
	before := c.frames(stopped.ThreadId)
	if strings.Contains(before[0].Name, "boom") {
		t.Fatalf("got %+v without the program's file", before[0])
	}
	if got := c.evaluate(0, "repl", "path "+paths[0]); !strings.Contains(got, paths[0]) {
		t.Errorf("got %q", got)
	}
	var e struct{ Areas []string }
	c.event("invalidated", &e)
	if len(e.Areas) != 1 || e.Areas[0] != "all" {
		t.Errorf("got %+v, want all areas", e)
	}
	c.refused("scopes", map[string]any{"frameId": before[0].Id}, idReference)
	if after := c.frames(stopped.ThreadId); after[0].Name != "boom" {
		t.Errorf("got %+v, want boom", after[0])
	}
	for reason := ""; reason != "changed"; {
		var m struct{ Reason string }
		c.event("module", &m)
		reason = m.Reason
	}
	c.refused("evaluate", map[string]any{"expression": "path /no/such", "context": "repl"}, idExpression)
	c.refused("evaluate", map[string]any{"expression": "path " + cores + "README.md", "context": "repl"}, idExpression)
}
