package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestKeptStacks has several snapshots print a thread that sleeps as one does. Only its
// stack is walked once.
func TestKeptStacks(t *testing.T) {
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	}()
	time.Sleep(50 * time.Millisecond) // until it sleeps
	pid := fmt.Sprint(sleep.Process.Pid)
	first, stderr, code := sfcore("bt", "-p", pid, "--format", "folded")
	if code == exitFailed {
		t.Skip(stderr)
	}
	for _, format := range []string{"folded", "jsonl", "text"} {
		const slept = "1 slept since the last snapshot and were not stopped"
		out := ""
		for range 100 { // until the machine lets it fall asleep between two snapshots
			out, _, _ = sfcore("bt", "-p", pid, "--format", format, "--interval", "10ms", "--count", "4")
			if format != "text" || strings.Contains(out, slept) {
				break
			}
		}
		if format == "text" && !strings.Contains(out, slept) {
			t.Errorf("text does not say that the thread was not stopped: %.1000q", out)
		}
		// A thread that was stopped runs for a moment, until it sleeps again.
		out = regexp.MustCompile(`("state":"|"sleep" )(running|sleeping)`).ReplaceAllString(out, "${1}asleep")
		stacks := map[string][]string{
			"folded": strings.SplitAfter(out, "\n"),
			"jsonl":  regexp.MustCompile(`(?m)^\{"thread".*$`).FindAllString(out, -1),
			"text":   regexp.MustCompile(`(?ms)^Thread .*?^  -- .*?$`).FindAllString(out, -1),
		}[format]
		if len(stacks) < 4 {
			t.Fatalf("%s: got %d stacks: %.1000q", format, len(stacks), out)
		}
		for _, s := range stacks[1:4] {
			if s != stacks[0] || format == "folded" && s != first {
				t.Errorf("%s: got %q, at first %q", format, s, stacks[0])
			}
		}
	}
}

// TestMaxKept forgets stacks that take too much memory.
func TestMaxKept(t *testing.T) {
	k := &keptStacks{}
	k.next()
	large := &rendered{tid: 1, text: make([]byte, maxKept-10)}
	if !k.keep(large) || k.keep(&rendered{tid: 2, text: make([]byte, 20)}) || !k.keep(&rendered{tid: 3, text: make([]byte, 10)}) {
		t.Errorf("kept %d stacks of %d bytes", len(k.now), k.bytes)
	}
	if k.next(); len(k.old) != 2 || k.bytes != 0 || !k.keep(&rendered{tid: 2, text: make([]byte, 20)}) {
		t.Errorf("got %d stacks from before, %d bytes", len(k.old), k.bytes)
	}
	var none *keptStacks
	if none.next(); none.keep(large) || none.find(nil, nil) != nil {
		t.Error("a single snapshot keeps stacks")
	}
}
