//go:build unix

package memreader_test

import (
	"errors"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

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
	defer func() {
		// qemu-aarch64 gives the address of such a fault as 0, so that it looks
		// like a nil pointer.
		if e, ok := recover().(runtime.Error); ok && runtime.GOARCH == "arm64" {
			t.Skip("this emulator does not tell where the fault was:", e)
		} else if ok {
			panic(e)
		}
	}()
	sum := 0
	err = memreader.Guard(func() {
		for _, b := range data {
			sum += int(b)
		}
	})
	fault, ok := errors.AsType[*memreader.FaultError](err)
	if !ok || fault.Why != memreader.Gone {
		t.Fatalf("got %v after %d, want a fault", err, sum)
	}
	lo := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
	if runtime.GOARCH == "s390x" && bits.RotateLeft64(fault.Addr, 32)-lo < uint64(len(data)) {
		t.Skip("this emulator swaps the halves of the address")
	}
	if fault.Addr-lo >= uint64(len(data)) {
		t.Errorf("got a fault at %#x, want one in %d bytes at %#x", fault.Addr, len(data), lo)
	}
}

// Guard leaves the goroutine as it was: a fault elsewhere is a crash again, unless a
// caller guards too.
func TestGuardRestores(t *testing.T) {
	for _, before := range []bool{false, true} {
		old := debug.SetPanicOnFault(before)
		inside := false
		err := memreader.Guard(func() {
			inside = debug.SetPanicOnFault(true)
		})
		if after := debug.SetPanicOnFault(old); after != before || !inside || err != nil {
			t.Errorf("panics on faults: got %v, inside %v, then %v; %v", before, inside, after, err)
		}
	}
}

func TestGuardOther(t *testing.T) {
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
