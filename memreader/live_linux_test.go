package memreader

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
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
	t.Cleanup(func() { _ = p.Close() })
	self, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Skip(err)
	}
	defer self.Close()
	if _, err := self.ReadAt(make([]byte, 1), int64(addrOf([]byte{1}))); err != nil {
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
	if n, err := p.ReadMem(got[:1], addrOf(m)); n != 1 || err != nil || got[0] != m[0] {
		t.Errorf("got %d, %v, want one byte", n, err)
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

// Batches end at a number of pieces and a number of bytes, so that whoever waits sees
// progress. A piece that is larger than that is a batch of its own.
func TestLiveBatches(t *testing.T) {
	p := openSelf(t)
	const mib = 1 << 20
	m := mapped(t, 5*mib)
	into := make([]byte, 1)
	if _, err := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{{Base: &into[0], Len: 1}}, []unix.RemoteIovec{{Base: uintptr(addrOf(m)), Len: 1}}, 0); err != nil {
		t.Skip("process_vm_readv is not allowed here:", err)
	}
	sized := func(sizes ...int) (copies []Copy) {
		for _, size := range sizes {
			copies = append(copies, Copy{Addr: addrOf(m), Data: make([]byte, size)})
		}
		return copies
	}
	for _, tt := range []struct {
		name   string
		copies []Copy
		want   []int // how many are complete after each batch
	}{
		{"many", sized(slices.Repeat([]int{1}, 1027)...), []int{512, 1024, 1027}},
		{"large", sized(2*mib, 2*mib, 1, 5*mib, 1), []int{2, 3, 4, 5}},
		{"none", nil, nil},
	} {
		var got []int
		p.ReadAll(tt.copies, func(done int) bool { got = append(got, done); return true })
		if p.slow.Load() {
			t.Error("process_vm_readv is not used any more")
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got progress %v, want %v", tt.name, got, tt.want)
		}
		p.ReadAll(tt.copies, nil) // nobody has to look
		for i, c := range tt.copies {
			if c.N != len(c.Data) || c.Err != nil || !bytes.Equal(c.Data, m[:c.N]) {
				t.Errorf("%s: copy %d: got %d bytes of %d, %v", tt.name, i, c.N, len(c.Data), c.Err)
			}
		}
	}
}

// A system without process_vm_readv is asked once. The memory is read all the same.
func TestLiveSlow(t *testing.T) {
	p := openSelf(t)
	m := mapped(t, os.Getpagesize())
	p.slow.Store(true)
	if n := p.readv([]unix.Iovec{{Base: &make([]byte, 8)[0], Len: 8}}, []unix.RemoteIovec{{Base: uintptr(addrOf(m)), Len: 8}}); n != 0 {
		t.Errorf("got %d bytes by a call that is not available", n)
	}
}

// The memory of a process that ended is gone, and is not another process's.
func TestLiveGone(t *testing.T) {
	openSelf(t)
	if _, err := OpenLive(1 << 30); !errors.Is(err, unix.ENOENT) {
		t.Errorf("got %v for a process that does not exist, want the system's error", err)
	}
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	p, err := OpenLive(child.Process.Pid)
	if err != nil {
		t.Skip(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	var fault *FaultError
	if n, err := p.ReadMem(make([]byte, 8), 0x1000); n != 0 || !errors.As(err, &fault) || *fault != (FaultError{Addr: 0x1000, Why: Gone}) {
		t.Errorf("got %d bytes, %v, want none and that it is gone", n, err)
	}
	copies := []Copy{{Addr: 0x1000, Data: make([]byte, 8)}}
	p.ReadAll(copies, nil)
	if copies[0].N != 0 || !errors.As(copies[0].Err, &fault) || fault.Why != Gone {
		t.Errorf("got %+v", copies[0])
	}
	if flags, err := unix.FcntlInt(uintptr(p.mem), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("got flags %#x, %v: programs that are started must not get at the memory", flags, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); !errors.Is(err, unix.EBADF) {
		t.Errorf("closed twice: got %v, want the system's error", err)
	}
	if n, err := p.ReadMem(make([]byte, 8), 0x1000); n != 0 || err == nil {
		t.Errorf("after Close: got %d bytes, %v", n, err)
	}
}

// By the file alone, copies are the same.
func TestLiveByFile(t *testing.T) {
	p := openSelf(t)
	p.ByFile()
	if n := p.readv(make([]unix.Iovec, 1), make([]unix.RemoteIovec, 1)); n != 0 || !p.slow.Load() {
		t.Errorf("process_vm_readv copied %d bytes", n)
	}
	m := mapped(t, 2*os.Getpagesize())
	copies := []Copy{{Addr: addrOf(m), Data: make([]byte, 100)}, {Addr: addrOf(m) + 5000, Data: make([]byte, 200)}}
	p.ReadAll(copies, nil)
	for i, c := range copies {
		if at := c.Addr - addrOf(m); c.Err != nil || c.N != len(c.Data) || !bytes.Equal(c.Data, m[at:at+uint64(c.N)]) {
			t.Errorf("copy %d: got %d bytes, %v", i, c.N, c.Err)
		}
	}
}
