package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The small core is only its owner's, compressed if its name says so, and shows what the
// whole core shows.
func TestShrink(t *testing.T) {
	args := caseArgs(t, "amd64-v3-libcdyn-1")
	whole := args[len(args)-1]
	want, _, _ := sfcore(append([]string{"bt", "-v"}, args...)...)
	dir := t.TempDir()
	var plainBytes []byte
	for _, name := range []string{"small", "small.zst"} {
		out := filepath.Join(dir, name)
		stdout, stderr, code := sfcore(append([]string{"shrink", "-o", out}, args...)...)
		if code != exitComplete || stderr != "" || !strings.HasPrefix(stdout, out+": ") {
			t.Errorf("%s: exit %d, %q, %q", name, code, stdout, stderr)
		}
		st, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		if mode := st.Mode().Perm(); mode != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s: got mode %v", name, mode)
		}
		args[len(args)-1] = out
		if got, _, _ := sfcore(append([]string{"bt", "-v"}, args...)...); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		args[len(args)-1] = whole
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if name == "small" {
			plainBytes = data
		} else if len(data) >= len(plainBytes) || !bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")) {
			t.Errorf("%s is not compressed: %d bytes of %d", name, len(data), len(plainBytes))
		}
	}
	stdout, _, code := sfcore(append([]string{"shrink", "-o", "-"}, args...)...)
	if code != exitComplete || stdout != string(plainBytes) {
		t.Errorf("to standard output: exit %d, %d bytes, want %d", code, len(stdout), len(plainBytes))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestShrinkErrors(t *testing.T) {
	dir := t.TempDir()
	args := caseArgs(t, "amd64-v3-deep")
	whole := args[len(args)-1]
	damaged := filepath.Join(dir, "damaged")
	if _, _, code := sfcore(append([]string{"shrink", "-o", damaged}, args...)...); code != exitComplete {
		t.Fatalf("exit %d", code)
	}
	data, err := os.ReadFile(damaged)
	if err == nil {
		err = os.WriteFile(damaged, data[:len(data)-5000], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no output", []string{whole}, exitFailed, "--output SMALL is missing"},
		{"no core", []string{"-o", filepath.Join(dir, "x"), filepath.Join(dir, "none")}, exitFailed, "none"},
		{"no directory", []string{"-o", filepath.Join(dir, "none", "x"), whole}, exitFailed, "none"},
		{"onto itself", []string{"-o", damaged, damaged}, exitFailed, "this is CORE, which would be lost"},
		{"truncated", []string{"-o", filepath.Join(dir, "small"), damaged}, exitIncomplete, "the core file is truncated"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, stderr, code := sfcore(append([]string{"shrink"}, tt.args...)...)
			if code != tt.code || !strings.Contains(stderr, tt.want) {
				t.Errorf("got exit %d, %q; want %d, %q", code, stderr, tt.code, tt.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("a file was written though nothing could be read")
	}
}
