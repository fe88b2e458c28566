package crash

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// A rule may ask whether a fleet knows the kind of a crash. Whatever is wrong with the file, the
// answer is no, at once.
func TestKnownKinds(t *testing.T) {
	dir, kind := t.TempDir(), func(n int) string { return fmt.Sprintf("%032x", n*n) }
	var text bytes.Buffer
	for n := range 1000 {
		text.WriteString(kind(n) + "\n")
	}
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	good := write("good", text.String(), 0o644)
	for n := range 1000 {
		if !isKnown(good, kind(n)) {
			t.Errorf("%s is not known", kind(n))
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ file, kind string }{
		"another": {good, fmt.Sprintf("%032x", 3)}, "behind all": {good, strings.Repeat("f", 32)}, "a name": {good, "/bin/it SIGSEGV"}, "none": {good, ""},
		"no file": {filepath.Join(dir, "no"), kind(1)}, "a directory": {dir, kind(1)}, "a pipe": {pipe, kind(1)}, "empty": {write("empty", "", 0o600), kind(1)},
		"cut off": {write("cut", text.String()[:20], 0o600), kind(0)}, "others may write it": {write("open", text.String(), 0o666), kind(1)},
		"no lines": {write("long", strings.Repeat("0", 100000), 0o600), kind(0)},
	} {
		if isKnown(tt.file, tt.kind) {
			t.Errorf("%s: %s is known", name, tt.kind)
		}
	}
	yes, no := true, false
	for _, tt := range []struct {
		known *bool
		kind  string
		want  store.Keep
	}{{&yes, kind(7), store.KeepLine}, {&yes, fmt.Sprintf("%032x", 3), store.KeepReport}, {&no, kind(7), store.KeepReport}, {&no, fmt.Sprintf("%032x", 3), store.KeepLine}} {
		c := &Config{KnownKinds: good, Rules: []Rule{{Known: tt.known, Keep: store.KeepLine}}}
		if got := c.decide(&store.Record{Kind: tt.kind}); got != tt.want {
			t.Errorf("%v, %s: got %s, want %s", *tt.known, tt.kind, got, tt.want)
		}
	}
}
