package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/memreader"
)

// openOwn makes a visit that can copy this process's memory.
func openOwn(t *testing.T) *visit {
	t.Helper()
	mem, err := memreader.OpenLive(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { mem.Close() })
	if n, _ := mem.ReadMem(make([]byte, 1), uint64(uintptr(unsafe.Pointer(&subjectMark)))); n != 1 {
		t.Skip("this emulator does not show the memory of the process that it runs")
	}
	return &visit{mem: &carefulMemory{Live: mem}}
}

// mapNew maps new memory.
func mapNew(t *testing.T, size int) (data []byte, addr uint64) {
	t.Helper()
	data, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(data) })
	return data, uint64(uintptr(unsafe.Pointer(&data[0])))
}

// A plan covers its spans. The tops come first, then small spans.
func TestPlan(t *testing.T) {
	v := new(visit)
	const m = maxPiece
	spans := []span{{0x1000, 0x1000 + 2*m, 1 << 40}, {0x10000000, 0x10001000, 1 << 40}, {0x20000000, 0x20100000, 1 << 40}}
	p := v.plan(spans, []uint64{0x20000080, 0x10000000, 0x20080000, 0x5000})
	type cut struct {
		addr uint64
		n    int
		top  bool
	}
	want := []cut{
		{0x1000, 0x4000 - redZone, false},
		{0x5000 - redZone, redZone + topSize, true},
		{0x5000 + topSize, m, false},
		{0x5000 + topSize + m, m - 0x4000 - topSize, false},
		{0x10000000, 0x1000, true},
		{0x20000000, 0x80 + topSize, true},
		{0x20000080 + topSize, 0x80000 - 0x80 - topSize - redZone, false},
		{0x20080000 - redZone, redZone + topSize, true},
		{0x20080000 + topSize, 0x80000 - topSize, false},
	}
	var got []cut
	for _, c := range p.pieces {
		got = append(got, cut{c.Addr, len(c.Data), c.top})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	tops, rest := p.order(true), p.order(false)
	if want := []int{4, 5, 7, 1}; !slices.Equal(tops, want) {
		t.Errorf("got tops %v, want %v", tops, want)
	}
	if want := []int{6, 8, 0, 2, 3}; !slices.Equal(rest, want) {
		t.Errorf("got the rest as %v, want %v", rest, want)
	}
}

// What was copied is kept, whatever else was not.
func TestCopiedParts(t *testing.T) {
	fault := &memreader.FaultError{Addr: 0x30, Why: memreader.Unmapped}
	v := new(visit)
	p := v.plan([]span{{0x1000, 0x1000 + 6*topSize, 1 << 20}}, []uint64{0x1000, 0x1000 + 2*topSize, 0x1000 + 4*topSize})
	for i := range p.pieces {
		c := &p.pieces[i]
		c.N, c.done = len(c.Data), true
	}
	parts := p.copied()
	if len(parts) != 1 || len(parts[0].data) != 6*topSize || parts[0].err != nil {
		t.Fatalf("all of it: got %d parts, the first with %d bytes, %v", len(parts), len(parts[0].data), parts[0].err)
	}
	missing, short := &p.pieces[1], &p.pieces[4]
	missing.done = false
	short.N, short.Err = 5, fault
	parts = p.copied()
	late := (*memreader.FaultError)(nil)
	if len(parts) != 4 || uint64(len(parts[0].data)) != missing.Addr-0x1000 || len(parts[1].data) != 0 ||
		!errors.As(parts[1].err, &late) || late.Why != memreader.OutOfTime || late.Addr != missing.Addr ||
		!errors.Is(parts[2].err, fault) || parts[2].hi != short.Addr+uint64(len(short.Data)) || parts[3].err != nil {
		t.Errorf("got %+v", parts)
	}
}

// More batches than one are copied, each to its place.
func TestCopyUntil(t *testing.T) {
	v := openOwn(t)
	const pages = 2*maxPieces + 7
	data, addr := mapNew(t, pages*4096)
	var list []memreader.Copy
	for i := range pages {
		binary.NativeEndian.PutUint64(data[i*4096:], uint64(i))
		list = append(list, memreader.Copy{Addr: addr + uint64(i)*4096, Data: make([]byte, 8)})
	}
	list = append(list, memreader.Copy{Addr: addr, Data: make([]byte, maxPiece)}, memreader.Copy{Addr: 8, Data: make([]byte, 8)})
	done := v.copyUntil(list, time.Now().Add(unhurried))
	for i := range pages {
		if got := binary.NativeEndian.Uint64(list[i].Data); !done[i] || list[i].N != 8 || got != uint64(i) {
			t.Fatalf("copy %d: got %d, %v, %d bytes", i, got, done[i], list[i].N)
		}
	}
	if big := list[pages]; !done[pages] || big.N != maxPiece || !bytes.Equal(big.Data, data[:maxPiece]) {
		t.Errorf("got %d bytes of a large copy", big.N)
	}
	if none := list[pages+1]; !done[pages+1] || none.N != 0 || none.Err == nil {
		t.Errorf("got %+v from memory that is not there", none)
	}
}

// A page that never comes costs only the copy that needs it.
func TestMissingPage(t *testing.T) {
	v := openOwn(t)
	const size = 4 * 65536 // some pages of any size
	data, addr := mapNew(t, size)
	hole := addr + size/2
	data[0], data[size-1] = 1, 2
	release := missing(t, hole, 65536)
	defer release()
	list := []memreader.Copy{
		{Addr: addr, Data: make([]byte, 8)},
		{Addr: hole, Data: make([]byte, 8)},
		{Addr: addr + size - 1, Data: make([]byte, 1)},
		{Addr: addr, Data: make([]byte, maxPiece)},
	}
	done := v.copyUntil(list, time.Now().Add(4*time.Second))
	if want := []bool{true, false, true, false}; !slices.Equal(done, want) {
		t.Fatalf("got %v, want %v", done, want)
	}
	if list[0].Data[0] != 1 || list[2].Data[0] != 2 {
		t.Errorf("got bytes %d and %d, want 1 and 2", list[0].Data[0], list[2].Data[0])
	}
}

// missing makes the kernel wait for pages until release is called [linux
// Documentation/admin-guide/mm/userfaultfd.rst].
func missing(t *testing.T, addr, size uint64) (release func()) {
	t.Helper()
	const (
		uffdioAPI      = 0xc018aa3f
		uffdioRegister = 0xc020aa00
		uffdAPI        = 0xaa
		modeMissing    = 1
	)
	fd, _, e := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)
	if e != 0 {
		t.Skipf("userfaultfd: %v", e)
	}
	api := [3]uint64{uffdAPI}
	region := [4]uint64{addr, size, modeMissing}
	for _, call := range []struct {
		request uintptr
		arg     unsafe.Pointer
	}{{uffdioAPI, unsafe.Pointer(&api)}, {uffdioRegister, unsafe.Pointer(&region)}} {
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, fd, call.request, uintptr(call.arg)); e != 0 {
			_ = unix.Close(int(fd))
			t.Skipf("userfaultfd: %v", e)
		}
	}
	return func() { _ = unix.Close(int(fd)) }
}
