package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/plugin"
)

// The goroutines of a running process are on no thread's stack. They are listed if memory
// was asked for.
func TestLiveGoroutines(t *testing.T) {
	testkit.NeedRestart(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), parkEnv+"=1")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = child.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	c, err := plugin.Start(t.Context(), exec.Command(os.Args[0]), plugin.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for memory, want := range map[uint64]int{0: 0, 64 << 20: 5} {
		s, err := c.Open(t.Context(), plugin.Spec{PID: child.Process.Pid, Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for g, err := range s.Goroutines(t.Context(), plugin.GoroutineOptions{}) {
			if err != nil {
				t.Logf("memory %d: %v", memory, err)
				break
			}
			for i := range g.Frames {
				if strings.HasSuffix(g.Frames[i].Function, "waitForEver") {
					got++
				}
			}
		}
		if got != want {
			t.Errorf("memory %d: got %d goroutines, want %d", memory, got, want)
		}
	}
}
