package dap

import (
	"fmt"
	"strings"
	"testing"

	godap "github.com/google/go-dap"
)

// stacks returns the stacks of all threads, by as many requests as it takes.
func (c *tester) stacks(group bool) (text string, last allStacksBody, requests int) {
	c.Helper()
	var b strings.Builder
	for from := 0; ; {
		last = allStacksBody{}
		c.do("allStacks", map[string]any{"group": group, "from": from}, &last)
		requests++
		b.WriteString(last.Text)
		if last.Next == 0 {
			return b.String(), last, requests
		}
		if last.Next <= from {
			c.Fatalf("got next %d after %d", last.Next, from)
		}
		from = last.Next
	}
}

func TestAllStacks(t *testing.T) {
	c, _ := open(t, map[string]any{"coreFile": manyThreadsCore(t), "methods": []string{"fp"}})
	text, last, requests := c.stacks(false)
	if n := strings.Count(text, "\nthread ") + 1; n != manyThreads || last.Threads != n || last.Stacks != n || requests < 5 {
		t.Errorf("got %d stacks and %+v by %d requests, want %d by several", n, last, requests, manyThreads)
	}
	if n := strings.Count(text, "end of the stack"); n != manyThreads {
		t.Errorf("got %d ends", n)
	}
	grouped, last, _ := c.stacks(true)
	if last.Stacks != 2 || !strings.HasPrefix(grouped, "thread 1 many, SIGSEGV\n") || !strings.Contains(grouped, "\n9999 threads, ids 2-10000\n  0  0x0000000000400100  registers") {
		t.Errorf("got %+v, %.300s", last, grouped)
	}
	for _, from := range []int{-1, manyThreads + 1} {
		c.refused("allStacks", map[string]any{"from": from}, idArguments)
	}
	c.do("allStacks", map[string]any{"from": manyThreads}, &last)

	// The console has the same, in pieces.
	for command, want := range map[string]string{"bt all": text, "bt --group": grouped + "10000 threads, 2 different stacks\n"} {
		got := c.evaluate(0, "repl", command)
		var pieces strings.Builder
		for pieces.Len()+len(got)+1 < len(want) {
			var piece godap.OutputEventBody
			if c.event("output", &piece); piece.Category == "console" && !strings.HasPrefix(piece.Output, "sfcore: ") && !strings.HasPrefix(piece.Output, "SIGSEGV") {
				pieces.WriteString(piece.Output)
			}
		}
		if pieces.String()+got+"\n" != want {
			t.Errorf("%s: got %d bytes, want %d", command, pieces.Len()+len(got)+1, len(want))
		}
	}
}

// Equal stacks of real threads are together, and the crash is first.
func TestGroupedStacks(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-threads"))
	text, last, _ := c.stacks(true)
	if !strings.HasPrefix(text, fmt.Sprintf("thread %d", stopped.ThreadId)) || last.Stacks != 10 || strings.Count(text, "end of the stack") != 10 {
		t.Errorf("got %+v, %s", last, text)
	}
	for _, part := range []string{"crash_leaf+", "/src/threads.c:", "sframe        full"} {
		if !strings.Contains(text, part) {
			t.Errorf("got no %q in %s", part, text)
		}
	}
}

// With showMethods, the call stack says how each frame was found.
func TestShowMethods(t *testing.T) {
	config := corpus("amd64-v3-threads")
	config["showMethods"] = true
	c, stopped := open(t, config)
	frames := c.frames(stopped.ThreadId)
	if frames[0].Name != "boom [registers]" || frames[1].Name != "crash_leaf [sframe]" {
		t.Errorf("got %s, %s", frames[0].Name, frames[1].Name)
	}
	c, stopped = open(t, map[string]any{"coreFile": manyThreadsCore(t), "methods": []string{"fp"}, "showMethods": true})
	if got := c.frames(stopped.ThreadId)[1].Name; got != "0x400100 in [code made at run time at 0x400000] [frame-pointer, guess]" {
		t.Errorf("got %s", got)
	}
}
