package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/plugin"
)

// mainEnv makes this test's program sfcore-plugin, as does a host.
const mainEnv = "SFCORE_TEST_MAIN"

// parkEnv makes this test's program one with goroutines that wait.
const parkEnv = "SFCORE_TEST_PARK"

// waitForEver is the last function of a goroutine that waits.
func waitForEver(c chan int) { <-c }

// park has goroutines wait until its standard input ends.
func park() {
	c := make(chan int)
	for range 5 {
		go waitForEver(c)
	}
	_, _ = os.Stdout.WriteString("parked\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
	close(c)
}

func TestMain(m *testing.M) {
	if plugin.Started() || os.Getenv(mainEnv) != "" {
		main()
		return
	}
	if os.Getenv(parkEnv) != "" {
		park()
		return
	}
	m.Run()
}

func TestByHand(t *testing.T) {
	testkit.NeedRestart(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mainEnv+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || string(out) != byHand {
		t.Errorf("got %v, %q, want exit status 1, %q", err, out, byHand)
	}
}

func TestPlugin(t *testing.T) {
	testkit.NeedRestart(t)
	c, err := plugin.Start(t.Context(), exec.Command(os.Args[0], "-linger=10s"), plugin.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.Open(t.Context(), plugin.Spec{Core: "../../testdata/cores/amd64-v3-threads/core.zst"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Process(t.Context())
	if err != nil || r.Process.Signal == nil || r.Process.Signal.Name != "SIGSEGV" {
		t.Errorf("got %+v, %v, want SIGSEGV", r, err)
	}
	_, err = c.Open(t.Context(), plugin.Spec{PID: 1 << 30})
	if err == nil || !strings.Contains(err.Error(), "no such process") {
		t.Errorf("got %v, want no such process", err)
	}
}
