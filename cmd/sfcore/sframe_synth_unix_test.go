//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A pipe or a device is written to; no file takes its place.
func TestSynthSpecialFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	r, err := os.OpenFile(pipe, os.O_RDWR, 0) // which waits for nobody
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	exe := filepath.Join(coresDir, "amd64-v3-threads", "exe", "threads")
	if stdout, stderr, code := sfcore("sframe", "synth", exe, "-o", pipe); code != exitComplete {
		t.Fatalf("got exit status %d, %s, %s", code, stdout, stderr)
	}
	magic := make([]byte, 4)
	if n, err := r.Read(magic); err != nil || !strings.HasPrefix("\x7fELF", string(magic[:n])) {
		t.Errorf("got %q, %v, want an ELF file", magic, err)
	}
	if st, err := os.Stat(pipe); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("got %v, %v, want a pipe", st.Mode(), err)
	}
}
