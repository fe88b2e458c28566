package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/plugin"
	"github.com/sfcore/sfcore/process"
)

// good is a core that takes little.
const good = "../../testdata/cores/amd64-v3-threads/core.zst"

// crowd is a core of so many threads that to open it takes 100 MiB.
func crowd(t *testing.T) string {
	t.Helper()
	c := testkit.NewCore(arch.AMD64).Process(1, "crowd", "crowd")
	for i := range 80_000 {
		c.Thread(i+1, 0, &arch.Regs{})
	}
	name := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(name, c.Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func startLimited(t *testing.T, flag string) *plugin.Client {
	t.Helper()
	testkit.NeedRestart(t)
	c, err := plugin.Start(t.Context(), exec.Command(os.Args[0], flag), plugin.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A process that takes too much memory ends its session. The plugin and its other
// sessions go on, those with processes of the host too.
func TestMemoryIsLimited(t *testing.T) {
	c := startLimited(t, "-max-memory=64M")
	before, err := c.Open(t.Context(), plugin.Spec{Core: good})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Open(t.Context(), plugin.Spec{Core: crowd(t)})
	const want = "the session takes 64.0 MiB of memory, which is what --max-memory allows"
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	after, err := c.Open(t.Context(), plugin.Spec{Core: good})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*plugin.Session{before, after} {
		if r, err := s.Report(t.Context()); err != nil || len(r.Threads) == 0 {
			t.Errorf("got %+v, %v", r, err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A process that is open already takes too much later. Its calls say why they fail
// until the session is closed.
func TestProcessorTimeIsLimited(t *testing.T) {
	c := startLimited(t, "-max-total-time=1s")
	img, err := core.Open(t.Context(), good, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	s, err := c.OpenImage(t.Context(), img, process.Options{})
	for i := 0; err == nil && i < 1000; i++ {
		_, err = s.Report(t.Context())
	}
	const want = "the session takes 1s of processor time, which is what --max-total-time allows"
	for range 2 {
		if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		_, err = s.Threads(t.Context())
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if s, err = c.OpenImage(context.Background(), img, process.Options{}); err != nil {
		t.Fatal(err)
	}
	if threads, err := s.Threads(t.Context()); err != nil || len(threads) == 0 {
		t.Errorf("got %v, %v", threads, err)
	}
}
