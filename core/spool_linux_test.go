package core

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// Zeros must cost no space on the disk.
func TestSpoolHoles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	core := kernelCore(arch.AMD64).Done()
	s := &spool{in: &counter{}, limit: 1 << 40}
	defer s.close()
	chunk := make([]byte, chunkSize)
	copy(chunk, core)
	for range 64 {
		if err := s.write(chunk); err != nil {
			t.Fatal(err)
		}
		clear(chunk)
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(s.file.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if used := st.Blocks * 512; used > 1<<20 || s.size != 64<<20 || s.nonzero != 4096 {
		t.Errorf("%d bytes, %d of them not in zero pages, take %d on the disk", s.size, s.nonzero, used)
	}
}

// What fits on the disk, or in memory, is used.
func TestSpoolAlmostFullDisk(t *testing.T) {
	const room = 2 << 20
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("mounting needs root: ", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	t.Setenv("TMPDIR", dir)
	stream := make([]byte, 2*room)
	_, _ = rand.NewChaCha8([32]byte{}).Read(stream)
	copy(stream, kernelCore(arch.AMD64).Done())
	for _, inMemory := range []int64{0, 1 << 20, 3 << 20} {
		s := &spool{in: &counter{}, limit: 1 << 40, inMemory: inMemory}
		data, release, problem, err := s.fill(context.Background(), bytes.NewReader(stream), func() {})
		if err != nil || !errors.Is(problem, errNoSpace) {
			t.Fatalf("%d bytes in memory: got %v, %v; want what there is room for", inMemory, problem, err)
		}
		if least := int(max(inMemory, room-chunkSize)); len(data) < least || !bytes.Equal(data, stream[:len(data)]) {
			t.Errorf("%d bytes in memory: got %d bytes, at least %d fit", inMemory, len(data), least)
		}
		release()
	}
}
