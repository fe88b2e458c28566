package core

import (
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
