//go:build unix

package debuginfod

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
)

// A fetched file that another process cuts off while it is checked is an
// error, not the end of the program.
func TestShrinkingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, program(0xff), 0o600); err != nil {
		t.Fatal(err)
	}
	data, release, err := elfx.MapFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	e := entry{id: id}
	if err := e.checkMapped(data); err != nil {
		t.Errorf("got %v for the right file", err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	defer func() {
		// qemu-aarch64 gives the address of such a fault as 0, so that it looks
		// like a nil pointer.
		if e, ok := recover().(runtime.Error); ok && runtime.GOARCH == "arm64" {
			t.Skip("this emulator does not tell where the fault was:", e)
		} else if ok {
			panic(e)
		}
	}()
	if err := e.checkMapped(data); err == nil || !strings.Contains(err.Error(), "shrank") {
		t.Errorf("got %v, want that it shrank", err)
	}
}
