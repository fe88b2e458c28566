package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash"
)

func TestInForce(t *testing.T) {
	self := filepath.Join(t.TempDir(), "sfcore-crash")
	if err := os.WriteFile(self, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ pattern, limit, want string }{
		{"", "0", "core_pattern is empty"},
		{"core", "0", `crashes write cores: kernel.core_pattern is "core"`},
		{"|/usr/lib/systemd/systemd-coredump %P %u %g %s %t %c %h", "16", "handled by another program"},
		{"|" + self + " top", "8", "handled by another program"},
		{"|" + self + " pipe %P %u %g %s %d", "8", "crashes are handled by " + self},
		{"|" + self + " pipe %P %u %g %s %d %F", "8", "crashes are handled by " + self},
		{"|" + self + " pipe %p %u %g %s %d", "8", "crashes are handled by " + self + "\nbut its arguments"},
		{"|" + self + " --config /c.toml pipe %P %u %g %s %d", "8", "crashes are handled by " + self},
		{"|" + self + " pipe %P %u %g %s %d", "0", "\nbut kernel.core_pipe_limit is 0"},
		{"|/nowhere/sfcore-crash pipe %P %u %g %s %d", "8", "\nbut it cannot be started: "},
		{"@@/nowhere/socket", "8", "handed over by the socket /nowhere/socket, but nobody takes them"},
		{"@@/nowhere/socket", "0", "\nbut kernel.core_pipe_limit is 0"},
	} {
		got := strings.Join(inForce(tt.pattern, tt.limit), "\n")
		if !strings.Contains(got, tt.want) || !strings.Contains(tt.want, "\nbut ") && !strings.Contains(tt.want, "nobody") && strings.Contains(got, "but ") {
			t.Errorf("%q, %s: got %q, want %q", tt.pattern, tt.limit, got, tt.want)
		}
	}
}

// A socket that is only held for a daemon is told from one with a daemon.
func TestBySocket(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(bySocket(name, 50*time.Millisecond), "; "); !strings.Contains(got, "no daemon takes them") {
		t.Errorf("held: got %s", got)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	if got := strings.Join(bySocket(name, 10*time.Second), "; "); !strings.HasSuffix(got, "where a program listens") {
		t.Errorf("served: got %s", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(bySocket(name, time.Second), "; "); !strings.Contains(got, "nobody takes them") || !strings.Contains(got, "crashes are lost") {
		t.Errorf("closed: got %s", got)
	}
}

// No crash is made where it would write a core, or go to another program.
func TestNoTestCrash(t *testing.T) {
	for _, pattern := range []string{"", "core", "|/usr/lib/systemd/systemd-coredump %P"} {
		if line, err := testCrash(t.Context(), crash.DefaultConfig(), pattern); err == nil {
			t.Errorf("%q: got %s", pattern, line)
		}
	}
}

// What there is to say before the first crash is said, and no store is made.
func TestNoStore(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "c.toml")
	if err := os.WriteFile(config, []byte("store = \""+dir+"/store\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"list"}, {"top"}, {"show", "last"}, {"rm", "last"}} {
		root, out := newRootCommand(), new(bytes.Buffer)
		root.SetArgs(append([]string{args[0], "--config", config}, args[1:]...))
		root.SetOut(out)
		root.SetErr(out)
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "no crash was kept yet") {
			t.Errorf("%v: got %v", args, err)
		}
	}
	if _, err := os.Stat(dir + "/store"); err == nil {
		t.Error("a store was made")
	}
}
