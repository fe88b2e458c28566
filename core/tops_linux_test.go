package core

import (
	"bytes"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// The top of each stack is copied, and each lock once. Whatever there is to copy besides is
// noticed.
func TestTops(t *testing.T) {
	const size, budget = 0x20000, 1 << 30
	data, lo := mapNew(t, size)
	for i := range data {
		data[i] = byte(i / 5)
	}
	hi := lo + size
	if err := unix.Mprotect(data[size-0x1000:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	end := hi - 0x1000 // of what can be read
	follows := func(_ *arch.Arch, regs []arch.Regs, _ []memreader.Segment, _ memreader.Reader) []memreader.Segment {
		if len(regs) > 0 && regs[0] == (arch.Regs{}) {
			return nil
		}
		return []memreader.Segment{{}}
	}
	var known arch.Regs
	known.Set(arch.AMD64.SP, 1)
	for _, tt := range []struct {
		name   string
		budget uint64
		total  uint64
		follow FollowFunc
		list   []halted
		stacks []span
		locks  []span
		more   bool
	}{
		{name: "no thread", budget: budget, total: budget},
		{"a short stack", budget, budget, nil, []halted{{sp: end - 0x300}}, []span{{end - 0x300 - redZone, end, end}}, nil, false},
		{"the red zone ends with the mapping", budget, budget, nil, []halted{{sp: lo + 0x20}}, []span{{lo, lo + 0x20 + topSize, end}}, nil, true},
		{"as long as a top", budget, budget, nil, []halted{{sp: end - topSize}}, []span{{end - topSize - redZone, end, end}}, nil, false},
		{"longer", budget, budget, nil, []halted{{sp: end - topSize - 1}}, []span{{end - topSize - 1 - redZone, end - 1, end}}, nil, true},
		{"two in one mapping", budget, budget, nil, []halted{{sp: end - 0x300}, {sp: end - 0x500}}, []span{{end - 0x500 - redZone, end, end}}, nil, false},
		{"no stack", budget, budget, nil, []halted{{sp: 8}, {sp: end + 8}}, nil, nil, false},
		{"a budget below a top", topSize - 1, budget, nil, []halted{{sp: end - 0x300}}, nil, nil, true},
		{"a total for one", budget, 0x380 * (tailShare + 1) / tailShare, nil, []halted{{sp: end - 0x300}, {sp: end - 0x280}}, []span{{end - 0x300 - redZone, end, end}}, nil, true},
		{"a lock", budget, budget, nil, []halted{{wait: lo + 0x100}}, nil, []span{{lo + 0xf0, lo + 0x120, lo + 0x120}}, false},
		{"a lock for two, at the end", budget, budget, nil, []halted{{wait: end - 4}, {wait: end - 4}}, nil, []span{{end - 20, end, end}}, false},
		{"no lock", budget, budget, nil, []halted{{wait: 8}, {wait: hi + 8}}, nil, nil, false},
		{"nothing to follow", budget, budget, follows, []halted{{sp: end - 0x300, regs: new(arch.Regs)}}, []span{{end - 0x300 - redZone, end, end}}, nil, false},
		{"something to follow", budget, budget, follows, []halted{{sp: end - 0x300, regs: &known}}, []span{{end - 0x300 - redZone, end, end}}, nil, true},
	} {
		v := openOwn(t)
		v.arch = arch.AMD64
		v.maps = []procMapping{{Mapping: Mapping{Lo: lo, Hi: end}, read: true, write: true}, {Mapping: Mapping{Lo: hi, Hi: hi + 0x1000}}}
		v.topRoom = make([]byte, 0x400) // less than most need
		tops := v.newTops(&AttachOptions{StackBudget: tt.budget, StackTotal: tt.total, Follow: tt.follow})
		did := false
		tops.begin(func() { did = true })
		if !spin(time.Now().Add(time.Hour), 0, tops.ready) || did {
			t.Errorf("%s: it did not wait", tt.name)
		}
		tops.expect(len(tt.list))
		for _, h := range tt.list {
			tops.tell(h)
		}
		tops.standing.Store(true)
		tops.all.Store(true)
		if !tops.await(time.Now().Add(time.Hour), func() bool { return true }) || !did {
			t.Errorf("%s: it did not end", tt.name)
		}
		stacks, locks := tops.end()
		check := func(what string, got []copied, want []span) {
			var spans []span
			for _, c := range got {
				spans = append(spans, c.span)
				if c.err != nil || !bytes.Equal(c.data, data[c.lo-lo:c.hi-lo]) {
					t.Errorf("%s: %s: got %d bytes of %#x to %#x, or other bytes: %v", tt.name, what, len(c.data), c.lo, c.hi, c.err)
				}
			}
			if !slices.Equal(spans, want) {
				t.Errorf("%s: %s: got %#x, want %#x", tt.name, what, spans, want)
			}
		}
		check("stacks", stacks, tt.stacks)
		check("locks", locks, tt.locks)
		if tops.more != tt.more {
			t.Errorf("%s: more: got %v", tt.name, tops.more)
		}
	}
}

// What is not there is left for those who copy later, with its reason.
func TestTopsUnreadable(t *testing.T) {
	v := openOwn(t)
	v.arch = arch.AMD64
	data, lo := mapNew(t, 0x2000)
	if err := unix.MunmapPtr(unsafe.Pointer(&data[0x1000]), 0x1000); err != nil {
		t.Fatal(err)
	}
	v.maps = []procMapping{{Mapping: Mapping{Lo: lo, Hi: lo + 0x2000}, read: true, write: true}}
	tops := v.newTops(aroundOptions())
	tops.copy([]halted{{sp: lo + 0xf00}}, new(topScratch))
	if stacks, _ := tops.end(); !tops.more || len(stacks) != 1 || len(stacks[0].data) != 0x100+redZone || stacks[0].err == nil {
		t.Errorf("got %v, more %v", stacks, tops.more)
	}
}

// A stack that a signal handler has interrupted is a stack more.
func TestTopsInterrupted(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64} {
		v := openOwn(t)
		v.arch = a
		data, lo := mapNew(t, 0x2000)
		v.maps = []procMapping{{Mapping: Mapping{Lo: lo, Hi: lo + 0x2000}, read: true, write: true}}
		order := byteOrder(a)
		order.PutUint64(data[0x1800:], lo)
		order.PutUint64(data[0x1810:], 0x2000)
		for old, want := range map[uint64]bool{lo + 0x1900: false, lo + 0x100000: true} {
			order.PutUint64(data[0x1800+a.AltStackToSP:], old)
			tops := v.newTops(aroundOptions())
			tops.copy([]halted{{sp: lo + 0x1000}}, new(topScratch))
			if tops.more != want {
				t.Errorf("%s: %#x in %#x: got more %v", a.Name, old, lo, tops.more)
			}
		}
	}
}

// Nobody copies for a process that could not be stopped, or once nobody waits.
func TestTopsLate(t *testing.T) {
	for _, standing := range []bool{false, true} {
		v := openOwn(t)
		v.arch = arch.AMD64
		tops := v.newTops(aroundOptions())
		tops.late.Store(true)
		tops.standing.Store(standing)
		tops.begin(func() { t.Error("it began") })
		if !tops.await(time.Now().Add(time.Hour), func() bool { return true }) {
			t.Error("it did not end")
		}
	}
	// One that hangs is not waited for.
	v := openOwn(t)
	tops := v.newTops(aroundOptions())
	tops.open.Store(1)
	if tops.await(time.Now().Add(20*time.Millisecond), func() bool { return true }) {
		t.Error("it ended")
	}
}

// An image is the same whether its stacks are complete with their tops or not.
func TestTopsAreEnough(t *testing.T) {
	needPtrace(t)
	cmd := exec.Command("cat") // its stack is no goroutine's
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	s := &subject{cmd: cmd, pid: cmd.Process.Pid}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.waitState(t, "S")
	image := func(follow FollowFunc) (*Image, *visit) {
		opts := aroundOptions()
		opts.Follow, opts.MaxStop = follow, unhurried
		v := begin(s.pid, opts)
		if err := v.prepare(opts); err != nil {
			t.Fatal(err)
		}
		if err := v.stop(opts); err != nil {
			t.Fatal(err)
		}
		return v.image(), v
	}
	tops, visit := image(nil)
	defer tops.Close()
	whole, other := image(func(*arch.Arch, []arch.Regs, []memreader.Segment, memreader.Reader) []memreader.Segment {
		return []memreader.Segment{{Addr: 8, Size: 8}}
	})
	defer whole.Close()
	if visit.tops == nil || other.tops != nil {
		t.Errorf("the tops are all there is: got %v, %v, want true, false", visit.tops != nil, other.tops != nil)
	}
	if a, b := tops.Live, whole.Live; a.Copied != b.Copied || a.StackBudget != b.StackBudget || a.Late != b.Late || a.Copied == 0 {
		t.Errorf("got %+v, want %+v", a, b)
	}
	if len(tops.Threads) != len(whole.Threads) {
		t.Fatalf("got %d threads, want %d", len(tops.Threads), len(whole.Threads))
	}
	for i := range tops.Threads {
		a, b := &tops.Threads[i], &whole.Threads[i]
		sp, _ := a.Regs.Get(tops.Arch.SP)
		got, want := make([]byte, 64<<10), make([]byte, 64<<10)
		n, _ := tops.Mem.ReadMem(got, sp-redZone)
		k, _ := whole.Mem.ReadMem(want, sp-redZone)
		if a.ID != b.ID || a.Regs != b.Regs || n != k || n == 0 || !bytes.Equal(got[:n], want[:k]) {
			t.Errorf("thread %d: got %d bytes, want those of thread %d: %d", a.ID, n, b.ID, k)
		}
	}
	if !slices.EqualFunc(visit.stacks, other.stacks, func(a, b copied) bool { return a.span == b.span && bytes.Equal(a.data, b.data) }) {
		t.Errorf("got %d copies, want %d", len(visit.stacks), len(other.stacks))
	}
}

func TestApartCopies(t *testing.T) {
	room := []byte("0123456789")
	piece := func(lo, hi uint64, n int) copied {
		return copied{span: span{lo, hi, 100}, data: room[lo:][:n]}
	}
	got := apartCopies([]copied{piece(4, 8, 4), piece(0, 5, 5), piece(1, 3, 2), piece(6, 9, 1)})
	want := []copied{piece(0, 5, 5), piece(5, 8, 3), piece(8, 9, 0)}
	if !slices.EqualFunc(got, want, func(a, b copied) bool { return a.span == b.span && bytes.Equal(a.data, b.data) }) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Goroutines that claim while threads are told get each thread once.
func TestTopsClaim(t *testing.T) {
	const n = 50 * topsAtOnce
	for range 20 {
		tops := &tops{}
		tops.expect(n)
		var claimed [3][]uint64
		var workers sync.WaitGroup
		for i := range claimed {
			workers.Go(func() {
				for {
					all := tops.all.Load()
					part := tops.claim()
					for _, h := range part {
						claimed[i] = append(claimed[i], h.sp)
					}
					if all && len(part) == 0 {
						return
					}
				}
			})
		}
		for i := range n {
			tops.tell(halted{sp: uint64(i)})
		}
		tops.all.Store(true)
		workers.Wait()
		got := slices.Sorted(slices.Values(slices.Concat(claimed[:]...)))
		if len(got) != n || got[0] != 0 || got[n-1] != n-1 || len(slices.Compact(got)) != n {
			t.Fatalf("got %d threads, want each of %d once", len(got), n)
		}
	}
}
