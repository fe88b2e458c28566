package memreader

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func addrOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

// openSelf opens the memory of this process.
func openSelf(t *testing.T) *Live {
	t.Helper()
	p, err := OpenLive(os.Getpid())
	if err != nil {
		t.Skipf("the memory of this process cannot be opened: %v", err)
	}
	t.Cleanup(func() { p.Close() })
	if n, _ := p.ReadMem(make([]byte, 1), addrOf([]byte{1})); n != 1 {
		t.Skip("this emulator does not show the memory of the process that it runs")
	}
	return p
}

// mapped maps size bytes that count up, and then nothing.
func mapped(t *testing.T, size int) []byte {
	t.Helper()
	page := os.Getpagesize()
	m, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.MunmapPtr(unsafe.Pointer(&m[0]), uintptr(size)) })
	for i := range m[:size] {
		m[i] = byte(i / 7)
	}
	if err := unix.MunmapPtr(unsafe.Pointer(&m[size]), uintptr(page)); err != nil {
		t.Fatal(err)
	}
	return m[:size:size]
}

func TestLiveReadMem(t *testing.T) {
	p := openSelf(t)
	page := os.Getpagesize()
	m := mapped(t, page)
	got := make([]byte, 64)
	n, err := p.ReadMem(got, addrOf(m)+uint64(page)-40)
	var fault *FaultError
	if n != 40 || !errors.As(err, &fault) || fault.Why != Unmapped || fault.Addr != addrOf(m)+uint64(page) {
		t.Errorf("got %d, %v, want 40 bytes and a fault at the end of the mapping", n, err)
	}
	if !bytes.Equal(got[:40], m[page-40:]) {
		t.Error("the bytes differ")
	}
	if n, err := p.ReadMem(got, ^uint64(0)-7); n != 0 || err == nil {
		t.Errorf("got %d, %v at the end of the address space, want an error", n, err)
	}
}

func TestLiveReadAll(t *testing.T) {
	for _, slow := range []bool{false, true} {
		p := openSelf(t)
		p.slow.Store(slow)
		page := os.Getpagesize()
		m := mapped(t, 3*page)
		base := addrOf(m)
		var copies []Copy
		for i := range 2*maxBatch + 3 {
			copies = append(copies, Copy{Addr: base + uint64(i), Data: make([]byte, 1+i%5)})
		}
		// One that ends at the end of the mapping, in the middle of a batch,
		// and one of nothing.
		copies[700] = Copy{Addr: base + uint64(3*page) - 100, Data: make([]byte, 2*page)}
		copies[5] = Copy{Addr: 1}
		last := 0
		p.ReadAll(copies, func(done int) bool {
			if done <= last || done > len(copies) {
				t.Fatalf("slow %v: progress went from %d to %d", slow, last, done)
			}
			last = done
			return true
		})
		if last != len(copies) {
			t.Errorf("slow %v: progress ended at %d of %d", slow, last, len(copies))
		}
		for i, c := range copies {
			want, fails := len(c.Data), i == 700
			if fails {
				want = 100
			}
			if c.N != want || (c.Err != nil) != fails {
				t.Fatalf("slow %v: copy %d: got %d bytes, %v, want %d", slow, i, c.N, c.Err, want)
			}
			if off := c.Addr - base; c.N > 0 && !bytes.Equal(c.Data[:c.N], m[off:off+uint64(c.N)]) {
				t.Fatalf("slow %v: copy %d: the bytes differ", slow, i)
			}
		}
		batches := 0
		p.ReadAll(copies, func(int) bool { batches++; return false })
		if batches != 1 {
			t.Errorf("slow %v: it went on for %d batches after it was to end", slow, batches)
		}
	}
}
