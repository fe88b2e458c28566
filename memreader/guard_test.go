//go:build unix

package memreader_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// A mapped file that shrinks must give an error, not end the process.
func TestGuard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 1<<16)), 0o600); err != nil {
		t.Fatal(err)
	}
	data, release, err := elfx.MapFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	sum := 0
	err = memreader.Guard(func() {
		for _, b := range data {
			sum += int(b)
		}
	})
	if fault, ok := errors.AsType[*memreader.FaultError](err); !ok || fault.Why != memreader.Gone {
		t.Errorf("got %v after %d, want a fault", err, sum)
	}
	if err := memreader.Guard(func() {}); err != nil {
		t.Errorf("got %v from a function that does nothing", err)
	}
	defer func() {
		if r := recover(); r != "other" {
			t.Errorf("got panic %v, want the function's own", r)
		}
	}()
	_ = memreader.Guard(func() { panic("other") })
}
