package gostack

import (
	"fmt"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// brief lists goroutines: number, what they wait for or their state, thread.
func brief(t *testing.T, p *Program) string {
	t.Helper()
	all, err := list(t, p)
	if err != nil {
		return err.Error()
	}
	text := ""
	for _, g := range all {
		state := g.WaitReason
		if state == "" {
			state = g.Status
		}
		text += fmt.Sprintf("%d %s %d, ", g.ID, state, g.TID)
	}
	return text
}

const (
	allOfThem = "11 chan receive (nil chan) 0, 12 running 321, 13 syscall 0, "
	onlyFirst = "11 chan receive (nil chan) 0, "
)

// The runtime's variables are found wherever they are: memory is searched in parts of
// 64 KiB, and may begin between words.
func TestSearchPlaces(t *testing.T) {
	f := &versions[len(versions)-1]
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		for _, label := range []string{"runtime.allgs", "runtime.waitReasonStrings"} {
			for into := 0; into <= 40; into += 8 {
				r := newRuntimeData(a, f)
				before := uint64(1<<16 - r.Pos(label) - into)
				r.mem.Segs[dataAt-before] = make([]byte, before)
				p := r.program(a, "go1.26")
				p.Data = []memreader.Segment{{Addr: 1 << 40, Size: 64}, {Addr: dataAt - before, Size: before + uint64(r.Pos("variables end"))}}
				if got := brief(t, p); got != allOfThem {
					t.Errorf("%s, a part ends %d bytes into %s: got %s", a.Name, into, label, got)
				}
			}
		}
		for skip := uint64(1); skip <= 24; skip++ {
			r := newRuntimeData(a, f)
			p := r.program(a, "go1.26")
			p.Data[0].Addr, p.Data[0].Size = p.Data[0].Addr+skip, p.Data[0].Size-skip
			if got := brief(t, p); got != allOfThem {
				t.Errorf("%s, memory from byte %d on: got %s", a.Name, skip, got)
			}
		}
		// The whole slice must be in the memory.
		for cut, want := range map[int]string{0: "11 waiting 0, 12 running 321, 13 syscall 0, ", 1: "11 waiting 0, "} {
			r := newRuntimeData(a, f)
			p := r.program(a, "go1.26")
			p.Data[0].Size = uint64(r.Pos("runtime.allgs") + 24 - cut)
			if got := brief(t, p); got != want {
				t.Errorf("%s, memory without %d bytes of the slice: got %s, want %s", a.Name, cut, got, want)
			}
		}
	}
}

// A slice is that of all goroutines only if its first and last pointers lead to
// goroutines.
func TestHoldsGoroutines(t *testing.T) {
	f := &versions[len(versions)-1]
	last := func(r *runtimeData) uint64 { return dataAt + uint64(r.Pos("ended")) }
	tests := []struct {
		name string
		tell func(r *runtimeData)
		want string
	}{
		{"nothing", func(*runtimeData) {}, allOfThem},
		{"capacity below the length", func(r *runtimeData) { r.order.PutUint64(r.data[r.Pos("runtime.allgs")+16:], 3) }, onlyFirst},
		{"capacity of the length", func(r *runtimeData) { r.order.PutUint64(r.data[r.Pos("runtime.allgs")+16:], 4) }, allOfThem},
		{"too long", func(r *runtimeData) {
			r.order.PutUint64(r.data[r.Pos("runtime.allgs")+8:], maxGoroutines+1)
			r.order.PutUint64(r.data[r.Pos("runtime.allgs")+16:], maxGoroutines+1)
		}, onlyFirst},
		{"between words", func(r *runtimeData) {
			r.order.PutUint64(r.data[r.Pos("runtime.allgs"):], dataAt+uint64(r.Pos("goroutines"))+4)
		}, onlyFirst},
		{"no last goroutine", func(r *runtimeData) { r.order.PutUint64(r.data[r.Pos("goroutines")+24:], 0) }, onlyFirst},
		{"the last goroutine between words", func(r *runtimeData) { r.order.PutUint64(r.data[r.Pos("goroutines")+24:], last(r)+4) }, onlyFirst},
		{"the last goroutine is not there", func(r *runtimeData) { r.order.PutUint64(r.data[r.Pos("goroutines")+24:], 1<<40) }, onlyFirst},
		{"the last goroutine has another address", func(r *runtimeData) { r.order.PutUint64(r.data[r.Pos("ended")+gSchedG:], last(r)+8) }, onlyFirst},
		{"the last goroutine has no stack", func(r *runtimeData) { r.put("ended.lo", 4<<20+0x2000) }, allOfThem},
		{"the smallest stack", func(r *runtimeData) { r.put("ended.lo", 4<<20+0x2000-minStack) }, allOfThem},
		{"too small a stack", func(r *runtimeData) { r.put("ended.lo", 4<<20+0x2001-minStack) }, onlyFirst},
		{"a stack that ends before it begins", func(r *runtimeData) { r.put("ended.lo", 5<<20) }, onlyFirst},
	}
	for _, a := range arches {
		for _, tt := range tests {
			r := newRuntimeData(a, f)
			tt.tell(r)
			if got := brief(t, r.program(a, "go1.26")); got != tt.want {
				t.Errorf("%s, %s: got %s, want %s", a.Name, tt.name, got, tt.want)
			}
		}
	}
}

// A goroutine's thread is the one that says that it runs the goroutine, and what it
// waits for is a name of its version.
func TestThreadAndReason(t *testing.T) {
	f := &versions[len(versions)-1]
	others := ", 12 running 321, 13 syscall 0, "
	tests := []struct {
		name string
		tell func(r *runtimeData)
		want string
	}{
		{"the thread runs another", func(r *runtimeData) { r.put("m.curg", dataAt+uint64(r.Pos("waits"))) }, "11 chan receive (nil chan) 0, 12 running 0, 13 syscall 0, "},
		{"no thread's number", func(r *runtimeData) { r.put("m.procid", 1<<31) }, "11 chan receive (nil chan) 0, 12 running 0, 13 syscall 0, "},
		{"the largest number", func(r *runtimeData) { r.put("m.procid", 1<<31-1) }, "11 chan receive (nil chan) 0, 12 running 2147483647, 13 syscall 0, "},
		{"the thread is not there", func(r *runtimeData) { r.put("runs.m", 1<<40) }, "11 chan receive (nil chan) 0, 12 running 0, 13 syscall 0, "},
		{"no reason", func(r *runtimeData) { r.data[r.Pos("waits.reason")] = 0 }, "11 waiting 0" + others},
		{"the first reason", func(r *runtimeData) { r.data[r.Pos("waits.reason")] = 1 }, "11 " + firstReason + " 0" + others},
		{"another reason", func(r *runtimeData) { r.data[r.Pos("waits.reason")] = 2 }, "11 IO wait 0" + others},
		{"a reason that runs does not count", func(r *runtimeData) { r.order.PutUint32(r.data[r.Pos("waits.status"):], 1) }, "11 runnable 0" + others},
		{"a long reason", func(r *runtimeData) {
			r.order.PutUint64(r.data[r.Pos("runtime.waitReasonStrings")+3*16+8:], maxReason+1)
		}, "11 waiting 0" + others},
		{"a reason that is not there", func(r *runtimeData) { r.order.PutUint64(r.data[r.Pos("runtime.waitReasonStrings")+3*16:], 1<<40) }, "11 waiting 0" + others},
		{"the whole of a reason", func(r *runtimeData) { r.order.PutUint64(r.data[r.Pos("runtime.waitReasonStrings")+3*16+8:], 4) }, "11 chan 0" + others},
		{"not a system call any more", func(r *runtimeData) { r.order.PutUint32(r.data[r.Pos("calls.status"):], gSyscall|gScan) }, "11 chan receive (nil chan) 0, 12 running 321, 13 syscall 0, "},
		{"preempted", func(r *runtimeData) { r.order.PutUint32(r.data[r.Pos("calls.status"):], 9) }, "11 chan receive (nil chan) 0, 12 running 321, 13 preempted 0, "},
		{"leaked", func(r *runtimeData) { r.order.PutUint32(r.data[r.Pos("calls.status"):], 10) }, "11 chan receive (nil chan) 0, 12 running 321, 13 leaked 0, "},
		{"of a thread of C's", func(r *runtimeData) { r.order.PutUint32(r.data[r.Pos("calls.status"):], gDeadExtra) }, "11 chan receive (nil chan) 0, 12 running 321, "},
		{"dead", func(r *runtimeData) { r.order.PutUint32(r.data[r.Pos("calls.status"):], gDead) }, "11 chan receive (nil chan) 0, 12 running 321, "},
		{"idle", func(r *runtimeData) { r.order.PutUint32(r.data[r.Pos("calls.status"):], 0) }, "11 chan receive (nil chan) 0, 12 running 321, 13 idle 0, "},
		{"its stack is copied", func(r *runtimeData) { r.order.PutUint32(r.data[r.Pos("calls.status"):], 8) }, "11 chan receive (nil chan) 0, 12 running 321, 13 copystack 0, "},
		{"a state to come", func(r *runtimeData) { r.order.PutUint32(r.data[r.Pos("calls.status"):], 12) }, "11 chan receive (nil chan) 0, 12 running 321, 13 status 12 0, "},
	}
	for _, a := range arches {
		for _, tt := range tests {
			r := newRuntimeData(a, f)
			tt.tell(r)
			if got := brief(t, r.program(a, "go1.26")); got != tt.want {
				t.Errorf("%s, %s: got %s, want %s", a.Name, tt.name, got, tt.want)
			}
		}
	}
}

// Goroutines are read one at a time, and no more are read than asked for.
func TestGoroutinesOneByOne(t *testing.T) {
	r := newRuntimeData(arch.AMD64, &versions[len(versions)-1])
	all, err := r.program(arch.AMD64, "go1.26").Goroutines()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range all {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d goroutines, want 1", n)
	}
	other := *arch.AMD64
	other.Machine, other.Name = 1, "m32"
	p := r.program(&other, "go1.26")
	if got, want := brief(t, p), "the runtime of Go on m32 is not known"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
