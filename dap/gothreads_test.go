package dap

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/internal/delve/delvetest"
	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/memreader"
)

// goCore is the launch configuration for a core of a Go program with 29 goroutines.
func goCore(t *testing.T, name string) map[string]any {
	t.Helper()
	dir := absolute(t, filepath.Join("../testdata/goroutines", name))
	return map[string]any{"coreFile": filepath.Join(dir, "core.zst"), "paths": []string{filepath.Join(dir, "exe")}}
}

// threads returns the threads of the protocol by the beginning of their names, up to the
// first comma.
func (c *tester) threads() (names []string, ids map[string]int) {
	c.Helper()
	var body godap.ThreadsResponseBody
	c.do("threads", nil, &body)
	ids = map[string]int{}
	for _, th := range body.Threads {
		names = append(names, th.Name)
		name, _, _ := strings.Cut(th.Name, ",")
		ids[name] = th.Id
	}
	return names, ids
}

// frameNamed returns the first frame of a thread that has a name.
func (c *tester) frameNamed(thread int, name string) godap.StackFrame {
	c.Helper()
	for _, f := range c.frames(thread) {
		if f.Name == name {
			return f
		}
	}
	c.Fatalf("thread %d has no frame %s", thread, name)
	return godap.StackFrame{}
}

// TestGoThreads looks at a Go program as its author does: the panic is told as one, its
// frames and not those of the runtime are shown first, every goroutine has its stack, and
// frames have variables.
func TestGoThreads(t *testing.T) {
	delvetest.Here(t)
	c, stopped := open(t, goCore(t, "amd64"))
	names, ids := c.threads()
	if want := "goroutine 1, thread 12252 SIGABRT"; names[0] != want || ids["goroutine 1"] != stopped.ThreadId {
		t.Errorf("got first thread %q, stopped %d, want %q", names[0], stopped.ThreadId, want)
	}
	for _, want := range []string{"goroutine 20 [chan receive] from main.go:134", "goroutine 43 [sync.Mutex.Lock] main.lock", "goroutine 44, thread 12248", "goroutines (12246)"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no thread %q in %q", want, names)
		}
	}
	if got := len(names); got != 29+6 { // one goroutine of each of two threads, 27 others, and 6 other threads
		t.Errorf("got %d threads, want 35", got)
	}
	if want := "a panic of Go was not recovered: runtime error: invalid memory address"; !strings.HasPrefix(stopped.Text, want) {
		t.Errorf("got %q, want %q", stopped.Text, want)
	}
	for _, f := range c.frames(stopped.ThreadId) {
		own := strings.HasPrefix(f.Name, "main.")
		if f.Source != nil && (own != (f.PresentationHint == "") || own != (f.Source.PresentationHint == "")) {
			t.Errorf("%s: got hints %q and %q", f.Name, f.PresentationHint, f.Source.PresentationHint)
		}
	}

	locals := c.variables(c.scope(c.frameNamed(stopped.ThreadId, "main.main").Id, "Locals"))
	if bigEndian := binary.NativeEndian.Uint16([]byte{0, 1}) == 1; bigEndian {
		// delve takes the context of a signal for one of the host's byte order.
		if got := locals[""].Value; got != "<no variables: delve sees other frames here>" {
			t.Errorf("got %q", got)
		}
	} else if got := locals["j"]; !strings.HasPrefix(got.Value, `&{name: "first", size: -7`) || got.Type != "*main.job" || got.EvaluateName != "j" {
		t.Errorf("got %+v", got)
	}
	waiting := ids["goroutine 21 [chan receive] from main.go:134"]
	worker := c.frameNamed(waiting, "main.worker").Id
	arguments := c.variables(c.scope(worker, "Arguments"))
	if got := arguments["id"].Value; got != "1" {
		t.Errorf("got id = %s in %v, want 1", got, arguments)
	}
	for use, want := range map[string]string{"watch": "1", "hover": "1", "repl": "1"} {
		if got := c.evaluate(worker, use, "id"); got != want {
			t.Errorf("%s: got %s, want %s", use, got, want)
		}
	}
	if got := c.evaluate(worker, "repl", "info args"); !strings.HasPrefix(got, "id = 1\n") {
		t.Errorf("info args: got %q", got)
	}
	if got := c.evaluate(worker, "repl", "bt"); !strings.HasPrefix(got, "goroutine 21 [chan receive]\n  0  0x") || !strings.Contains(got, "main.worker+53") {
		t.Errorf("bt: got %s", got)
	}
	registers := c.variables(c.variables(c.scope(worker, "Registers"))["general"].VariablesReference)
	if registers["rip"].Value == "" || registers["rax"].Value != notRecovered {
		t.Errorf("got registers %v", registers)
	}
	c.refused("exceptionInfo", map[string]any{"threadId": waiting}, idState)
	c.refused("stackTrace", map[string]any{"threadId": firstGoroutine + 29}, idReference)
}

// Without goroutines among the threads nobody looks for them, whatever is asked of a stack.
func TestNoGoroutines(t *testing.T) {
	delvetest.Here(t)
	list, asked := wire.Lister, 0
	wire.Lister = func(ctx context.Context, find func() (string, error), setup *wire.Setup, mem memreader.Reader, sink wire.Sink) error {
		asked++
		return list(ctx, find, setup, mem, sink)
	}
	config := goCore(t, "amd64")
	config["goroutines"] = false
	c, stopped := open(t, config)
	if names, _ := c.threads(); len(names) != 8 || names[0] != "12252 SIGABRT" {
		t.Errorf("got %q", names)
	}
	c.variables(c.scope(c.frameNamed(stopped.ThreadId, "main.main").Id, "Unwind"))
	c.do("exceptionInfo", map[string]any{"threadId": stopped.ThreadId}, nil)
	if asked != 0 {
		t.Errorf("delve was asked %d times", asked)
	}
	if got := c.evaluate(0, "repl", "goroutines"); !strings.Contains(got, "goroutine 21 [chan receive]") || asked != 1 {
		t.Errorf("the command: got %s, and delve was asked %d times", got, asked)
	}
}

// TestGoWithoutVariables has programs that delve cannot read: there are goroutines, and in
// place of variables the reason why there are none.
func TestGoWithoutVariables(t *testing.T) {
	for name, why := range map[string]string{"amd64-go120": "no debug information", "s390x-go126": "does not support s390x"} {
		c, stopped := open(t, goCore(t, name))
		names, ids := c.threads()
		n := 0
		for name := range ids {
			if strings.HasPrefix(name, "goroutine ") {
				n++
				c.frames(ids[name])
			}
		}
		if n < 20 || !strings.HasPrefix(names[0], "goroutine ") {
			t.Errorf("%s: got %d goroutines, first %q", name, n, names[0])
		}
		for _, f := range c.frames(stopped.ThreadId) {
			if !strings.HasPrefix(f.Name, "main.") {
				continue
			}
			if got := fmt.Sprint(c.variables(c.scope(f.Id, "Locals"))); !strings.Contains(got, why) {
				t.Errorf("%s: %s: got %s, want %q", name, f.Name, got, why)
			}
		}
	}
}
