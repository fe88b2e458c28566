package core

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// TestCopy copies memory from each segment of a core, from no segment, and where the file
// has become shorter.
func TestCopy(t *testing.T) {
	eachArch(t, func(t *testing.T, a *arch.Arch) {
		path := filepath.Join(t.TempDir(), "core")
		if err := os.WriteFile(path, kernelCore(a).Done(), 0o600); err != nil {
			t.Fatal(err)
		}
		img, err := Open(context.Background(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer closeImage(t, img)
		for _, tt := range []struct {
			addr uint64
			size int
			want string
		}{
			{codeAddr, 100, "first page"},
			{codeAddr + 6, 3, "pag"},
			{dataAddr + 1, 100, "ata"},
			{stackAddr, 5, "stack"},
			{codeAddr + 10, 100, ""},
			{stackAddr - 1, 10, ""},
			{0, 10, ""},
			{stackAddr, 0, ""},
		} {
			p := make([]byte, tt.size)
			if got := string(p[:img.Copy(p, tt.addr)]); got != tt.want {
				t.Errorf("from %#x: got %q, want %q", tt.addr, got, tt.want)
			}
		}
		img.Unload()
		if got, err := memreader.ReadFull(img.Mem, stackAddr, 5); string(got) != "stack" {
			t.Errorf("got %q, %v after Unload", got, err)
		}
		var p [5]byte
		space := img.Mem
		img.Mem = struct{ memreader.Reader }{space} // as whoever records what is read
		if n := img.Copy(p[:], stackAddr); n != 0 {
			t.Errorf("got %d bytes past the reader that the image has", n)
		}
		img.Mem = space
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		if n := img.Copy(p[:], stackAddr); n != 0 {
			t.Errorf("got %d bytes of an empty file", n)
		}
	})
	if n := new(Image).Copy(make([]byte, 1), 0); n != 0 {
		t.Errorf("got %d bytes of no image", n)
	}
}

// TestCloseFile opens and closes cores, and looks whether their files stay open.
func TestCloseFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "core")
	if err := os.WriteFile(path, kernelCore(arch.AMD64).Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for range 20 {
		img, err := Open(context.Background(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		closeImage(t, img)
		if _, err := Open(context.Background(), dir, Options{}); err == nil {
			t.Fatal("a directory was opened")
		}
	}
	if after, _ := os.ReadDir("/proc/self/fd"); len(after) > len(before)+10 {
		t.Errorf("%d files are open, %d were", len(after), len(before))
	}
}
