package core

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
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

// The stack pointers outside of the spans, and those at their ends, are in no stack.
func TestPlanOutside(t *testing.T) {
	spans := []span{{0x10000, 0x20000, 0x20000}, {0x30000, 0x40000, 0x40000}}
	describe := func(p *plan) string {
		var b strings.Builder
		for _, c := range p.pieces {
			fmt.Fprintf(&b, " %#x+%#x %d %v", c.Addr, len(c.Data), c.span, c.top)
		}
		return strings.TrimSpace(b.String())
	}
	for _, tt := range []struct {
		name string
		sps  []uint64
		want string
	}{
		{"none", nil, "0x10000+0x10000 0 false 0x30000+0x10000 1 false"},
		{"outside", []uint64{0x40000, 8, 0xffff, 0x20000, 0x2ffff, 0x50000}, "0x10000+0x10000 0 false 0x30000+0x10000 1 false"},
		{"one below", []uint64{0xffff}, "0x10000+0x10000 0 false 0x30000+0x10000 1 false"},
		{"one inside", []uint64{8, 16, 0x20000, 0x38000, 0x50000}, "0x10000+0x10000 0 false 0x30000+0x7f80 1 false 0x37f80+0x4080 1 true 0x3c000+0x4000 1 false"},
		{"the ends", []uint64{0x10000, 0x3ffff}, "0x10000+0x4000 0 true 0x14000+0xc000 0 false 0x30000+0xff7f 1 false 0x3ff7f+0x81 1 true"},
	} {
		if got := describe(new(visit).plan(spans, tt.sps)); got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.name, got, tt.want)
		}
	}
	if p := new(visit).plan(nil, []uint64{8}); len(p.pieces) != 0 {
		t.Errorf("got %v of no spans", p.pieces)
	}
}

// Room that was prepared is used up, and then what all other spans need is made at
// once. No span can grow into the room of the next.
func TestRoom(t *testing.T) {
	const a, b, c = 0x1000, 0x2000, 0x500
	spans := []span{{0x10000, 0x10000 + a, 1 << 20}, {0x20000, 0x20000 + b, 1 << 20}, {0x30000, 0x30000 + c, 1 << 20}}
	for _, prepared := range []int{0, a - 1, a, a + 1, a + b, a + b + c} {
		v := &visit{room: make([]byte, prepared)}
		first := unsafe.SliceData(v.room)
		p := v.plan(spans, nil)
		if len(v.room) != 0 {
			t.Errorf("%d bytes of room: %d are left", prepared, len(v.room))
		}
		if used := unsafe.SliceData(p.pieces[0].Data) == first; used != (prepared >= a) {
			t.Errorf("%d bytes of room: used for the first span: %v", prepared, used)
		}
		for i, want := range []int{a, b, c} {
			if data := p.pieces[i].Data; len(data) != want || cap(data) != want {
				t.Errorf("%d bytes of room: span %d has %d of %d bytes, want %d", prepared, i, len(data), cap(data), want)
			}
		}
	}
	v := &visit{room: make([]byte, a+b+c+7)}
	if v.plan(spans, nil); len(v.room) != 7 {
		t.Errorf("got %d bytes left, want 7", len(v.room))
	}
}

// Bytes that were copied elsewhere are not taken from the room of the span.
func TestCopiedElsewhere(t *testing.T) {
	v := new(visit)
	p := v.plan([]span{{0x10000, 0x10000 + 2*topSize, 1 << 20}, {0x10000 + 2*topSize, 0x10000 + 3*topSize, 1 << 20}}, []uint64{0x10000})
	for i := range p.pieces {
		c := &p.pieces[i]
		c.N, c.done = len(c.Data), true
	}
	describe := func() string {
		var list []string
		for _, c := range p.copied() {
			list = append(list, fmt.Sprintf("%#x-%#x of %#x: %d bytes %v", c.lo, c.hi, c.end, len(c.data), c.err))
		}
		return strings.Join(list, ", ")
	}
	// Each span is one part: the array of another one may lie behind it.
	if got, want := describe(), "0x10000-0x18000 of 0x100000: 32768 bytes <nil>, 0x18000-0x1c000 of 0x100000: 16384 bytes <nil>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.pieces[1].Data = bytes.Repeat([]byte{7}, topSize)
	if got, want := describe(), "0x10000-0x14000 of 0x100000: 16384 bytes <nil>, 0x14000-0x18000 of 0x100000: 16384 bytes <nil>, 0x18000-0x1c000 of 0x100000: 16384 bytes <nil>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if parts := p.copied(); parts[1].data[0] != 7 {
		t.Errorf("got byte %d, want 7", parts[1].data[0])
	}
	// One byte, and none.
	p.pieces[1].Data, p.pieces[1].N = p.pieces[0].Data[:topSize+1][topSize:], 1
	if got, want := describe(), "0x10000-0x14001 of 0x100000: 16385 bytes <nil>, 0x18000-0x1c000 of 0x100000: 16384 bytes <nil>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.pieces[0].N, p.pieces[0].Err = 0, &memreader.FaultError{Addr: 0x10000, Why: memreader.Unmapped}
	if got := p.copied(); len(got) != 3 || len(got[0].data) != 0 || got[0].err == nil || len(got[1].data) != 1 {
		t.Errorf("got %+v", got)
	}
}

// What was copied is counted, and so is what there was no time for.
func TestAddCopied(t *testing.T) {
	v := new(visit)
	high := v.plan([]span{{0x90000, 0x90000 + 3*topSize, 1 << 20}}, []uint64{0x90000, 0x90000 + 2*topSize})
	for i, n := range []int{topSize, 100, 0} { // all, some, and none
		c := &high.pieces[i]
		c.N, c.done = n, i < 2
	}
	high.pieces[1].Err = &memreader.FaultError{Addr: 0x90000 + topSize + 100, Why: memreader.Unmapped}
	v.add(high)
	last := &high.pieces[len(high.pieces)-1]
	late := 3*topSize - topSize - uint64(len(high.pieces[1].Data))
	if v.snap.Copied != topSize+100 || v.snap.Late != late || last.done {
		t.Errorf("got %d bytes, %d late, want %d and %d", v.snap.Copied, v.snap.Late, topSize+100, late)
	}
	late2 := v.plan([]span{{0x50000, 0x50100, 1 << 20}}, nil)
	late2.pieces[0].N, late2.pieces[0].done, late2.pieces[0].Err = 0x10, true, &memreader.FaultError{Addr: 0x50010, Why: memreader.OutOfTime}
	w := new(visit)
	if w.add(late2); w.snap.Copied != 0x10 || w.snap.Late != 0xf0 {
		t.Errorf("in part: got %d bytes, %d late", w.snap.Copied, w.snap.Late)
	}
	low := v.plan([]span{{0x10000, 0x10010, 1 << 20}}, nil)
	low.pieces[0].N, low.pieces[0].done = 16, true
	v.add(low)
	if v.snap.Copied != topSize+116 || v.snap.Late != late || v.stacks[0].lo != 0x10000 || len(v.stacks) != 3 {
		t.Errorf("got %d bytes, %d late, %d parts from %#x on", v.snap.Copied, v.snap.Late, len(v.stacks), v.stacks[0].lo)
	}
}

// ownStacks makes a visit of this process, with mapped memory as stacks: two, and a
// large alternate signal stack on which a handler has interrupted the second. Each
// byte tells the stack and the page.
func ownStacks(t *testing.T) (v *visit, data [3][]byte, lo [3]uint64) {
	t.Helper()
	v = openOwn(t)
	v.arch = arch.AMD64
	for i := range data {
		data[i], lo[i] = mapNew(t, stackSize)
		for at := range data[i] {
			data[i][at] = byte(0x80 + 16*i + at>>16)
		}
		v.maps = append(v.maps, procMapping{Mapping: Mapping{Lo: lo[i], Hi: lo[i] + stackSize}, read: true, write: true})
	}
	slices.SortFunc(v.maps, func(a, b procMapping) int { return cmp.Compare(a.Lo, b.Lo) })
	return v, data, lo
}

const stackSize = 1 << 20

// signalFrame writes what a signal frame says: the alternate stack that it is on, and
// the SP of the interrupted code.
func signalFrame(a *arch.Arch, data []byte, lo uint64, at int, old uint64) {
	order := byteOrder(a)
	order.PutUint64(data[at:], lo)
	order.PutUint64(data[at+16:], stackSize)
	order.PutUint64(data[at+a.AltStackToSP:], old)
}

// stacksOf writes the copied parts, relative to the stacks that they are of.
func stacksOf(t *testing.T, v *visit, data [3][]byte, lo [3]uint64) string {
	t.Helper()
	var list []string
	for i := range lo {
		for _, c := range v.stacks {
			if c.lo < lo[i] || c.lo >= lo[i]+stackSize {
				continue
			}
			list = append(list, fmt.Sprintf("%d:%#x-%#x", i, c.lo-lo[i], c.hi-lo[i]))
			if c.err != nil || !bytes.Equal(c.data, data[i][c.lo-lo[i]:c.hi-lo[i]]) || c.end != lo[i]+stackSize {
				t.Errorf("stack %d at %#x: got %d bytes of %d to %#x, %v", i, c.lo-lo[i], len(c.data), c.hi-c.lo, c.end-lo[i], c.err)
			}
		}
	}
	return strings.Join(list, " ")
}

func TestCopyStacks(t *testing.T) {
	const budget = 64 << 10 // with a tail of 1 KiB
	opts := &AttachOptions{StackBudget: budget, StackTotal: 1 << 30}
	for _, tt := range []struct {
		name string
		at   int // where the signal frame is on stack 2; 0 for none
		want string
	}{
		{"no handler", 0, "0:0xbff80-0xd0000 0:0xffc00-0x100000 1:0xff80-0x20000 1:0xffc00-0x100000 2:0x1ff80-0x30000 2:0xffc00-0x100000"},
		{"a handler", 0x20100, "0:0x7ff80-0x90000 0:0xbff80-0xd0000 0:0xffc00-0x100000 1:0xff80-0x20000 1:0xffc00-0x100000 2:0x1ff80-0x30000 2:0xffc00-0x100000"},
		{"a handler with a large frame", 0x2a000, "0:0x7ff80-0x90000 0:0xbff80-0xd0000 0:0xffc00-0x100000 1:0xff80-0x20000 1:0xffc00-0x100000 2:0x1ff80-0x30000 2:0xffc00-0x100000"},
	} {
		v, data, lo := ownStacks(t)
		v.sps = []uint64{lo[0] + 0xc0000, lo[1] + 0x10000, lo[2] + 0x20000}
		if tt.at > 0 {
			signalFrame(v.arch, data[2], lo[2], tt.at, lo[0]+0x80000)
		}
		v.copyStacks(opts, time.Now().Add(1000*time.Hour))
		if got := stacksOf(t, v, data, lo); got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.name, got, tt.want)
		}
		copied := uint64(0)
		for _, c := range v.stacks {
			copied += c.hi - c.lo
		}
		if v.snap.Copied != copied || v.snap.Late != 0 || v.snap.StackBudget != budget {
			t.Errorf("%s: got %+v, want %d bytes", tt.name, v.snap, copied)
		}
	}
	// The total bounds what is copied of each.
	v, data, lo := ownStacks(t)
	v.sps = []uint64{lo[0] + 0x80000, lo[1] + 0x80000}
	v.copyStacks(&AttachOptions{StackBudget: budget, StackTotal: 65 * 512}, time.Now().Add(1000*time.Hour))
	if got, want := stacksOf(t, v, data, lo), "0:0x7ff80-0x84000 0:0xfff00-0x100000 1:0x7ff80-0x84000 1:0xfff00-0x100000"; got != want || v.snap.StackBudget != 32*512 {
		t.Errorf("total: got %s with budget %d, want %s", got, v.snap.StackBudget, want)
	}
}

// The stack that the process began on is copied though no thread is on it.
func TestCopyFirstStack(t *testing.T) {
	v, data, lo := ownStacks(t)
	for i := range v.maps {
		if v.maps[i].Lo == lo[1] {
			v.maps[i].Path = "[stack]"
		}
	}
	v.sps = []uint64{lo[0] + 0xff000}
	v.copyStacks(&AttachOptions{StackBudget: 0x10000, StackTotal: 1 << 30}, time.Now().Add(1000*time.Hour))
	if got, want := stacksOf(t, v, data, lo), "0:0xfef80-0x100000 1:0xeff80-0x100000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A stack is copied once, even if other code was interrupted on the same one.
func TestInterruptedOnKnownStack(t *testing.T) {
	v, data, lo := ownStacks(t)
	v.sps = []uint64{lo[0] + 0x80000, lo[2] + 0xf0000}
	signalFrame(v.arch, data[2], lo[2], 0xf0100, lo[0]+0x70000)
	v.copyStacks(&AttachOptions{StackBudget: 0x20000, StackTotal: 1 << 30}, time.Now().Add(1000*time.Hour))
	if got, want := stacksOf(t, v, data, lo), "0:0x6ff80-0x7ff80 0:0x7ff80-0xa0000 0:0xff800-0x100000 2:0xeff80-0x100000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	old := v.interrupted(v.stacks, nil)
	if !slices.Equal(old, []uint64{lo[0] + 0x70000}) {
		t.Errorf("got %#x", old)
	}
	if old := v.interrupted(v.stacks, old); len(old) != 0 {
		t.Errorf("got %#x of those that are known", old)
	}
	if old := v.interrupted(nil, nil); len(old) != 0 {
		t.Errorf("got %#x without stacks", old)
	}
}
