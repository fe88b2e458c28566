package core

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// All pages of mapped files are brought into memory, and of nothing else.
func TestReadIn(t *testing.T) {
	needPtrace(t) // an emulator has other addresses than /proc/self/pagemap
	const pages = 64
	page := unix.Getpagesize()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, pages*page), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []procMapping
	for _, m := range []procMapping{{inode: 1, read: true}, {read: true}, {inode: 1}, {inode: 2, read: true}} {
		data, err := unix.Mmap(int(f.Fd()), 0, pages*page, unix.PROT_READ, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Munmap(data) }()
		m.Lo = addressOf(data)
		m.Hi = m.Lo + uint64(pages*page)
		list = append(list, m)
	}
	probe, _ := mapNew(t, page)
	if err := unix.Madvise(probe, unix.MADV_POPULATE_READ); err != nil {
		t.Skip("before Linux 5.14: ", err)
	}
	c := new(carefulMemory)
	if c.pagemap, err = os.Open("/proc/self/pagemap"); err != nil {
		t.Skip(err)
	}
	defer c.pagemap.Close()
	readIn(list)
	for i, m := range list {
		present := 0
		for at := m.Lo; at < m.Hi; at += uint64(page) {
			if c.present(at) {
				present++
			}
		}
		want := 0
		if m.inode != 0 && m.read {
			want = pages
		}
		if present != want {
			t.Errorf("mapping %d: got %d pages in memory, want %d", i, present, want)
		}
	}
}
