package gostack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

const (
	dataAt  = 0x10000
	startAt = 0x5000 // functions begin at its multiples
)

// runtimeData is the memory of a program with four goroutines: one that waits, one
// that a thread runs, one that is in a system call, and one that has ended. It holds
// a shorter list of goroutines too, as the garbage collector has.
type runtimeData struct {
	*testkit.Bytes
	data  []byte
	order binary.ByteOrder
	mem   testkit.Memory
}

func newRuntimeData(a *arch.Arch, f *fields) *runtimeData {
	order := binary.ByteOrder(binary.LittleEndian)
	if a.BigEndian {
		order = binary.BigEndian
	}
	b := testkit.New(order)
	at := func(label string) { b.Diff(8, label, "", dataAt) }
	b.Zero(24)
	b.Mark("work.stackRoots")
	at("goroutines")
	b.D64(1, 1).Zero(8)
	b.Mark("runtime.allgs")
	at("goroutines")
	b.D64(4, 6).Zero(8).D64(1, 2, 3)
	b.Mark("runtime.waitReasonStrings").D64(0, 0)
	for _, reason := range []string{firstReason, "IO wait", "chan receive (nil chan)", "bad\nname"} {
		at(reason)
		b.D64(uint64(len(reason)))
	}
	b.Mark("variables end")
	for _, reason := range []string{firstReason, "IO wait", "chan receive (nil chan)", "bad\nname"} {
		b.Mark(reason).Str(reason)
	}
	b.Align(8).Mark("goroutines")
	for _, g := range []string{"waits", "runs", "calls", "ended"} {
		at(g)
	}
	until := func(g string, off uint64, what string) {
		b.Zero(b.Pos(g) + int(off) - b.Len()).Mark(g + "." + what)
	}
	for i, g := range []string{"waits", "runs", "calls", "ended"} {
		n := uint64(i + 1)
		b.Mark(g).Mark(g+".lo").D64(n<<20, n<<20+0x2000)
		until(g, gM, "m")
		if g == "runs" {
			at("m")
		} else {
			b.D64(0)
		}
		until(g, gSchedSP, "sched")
		b.D64(n<<20+0x1000, startAt+n)
		at(g)
		until(g, f.schedLR, "lr")
		b.D64(0x77, n<<20+0x1010)
		until(g, f.syscallSP, "syscallsp")
		b.D64(n<<20+0x1100, startAt+0x10)
		until(g, f.status, "status")
		b.D32([]uint32{gWaiting | gScan, 2, gSyscall, gDead}[i])
		until(g, f.id, "id")
		b.D64(n + 10)
		until(g, f.waitReason, "reason")
		b.D8(byte(i + 3)).Zero(7)
		until(g, f.created, "created")
		b.D64(startAt + 2*n)
		until(g, f.start, "start")
		b.D64(startAt)
	}
	b.Mark("m")
	until("m", f.gsignal-mProcID, "procid")
	b.D64(321)
	until("m", f.curg, "curg")
	at("runs")
	r := &runtimeData{Bytes: b, data: b.Done(), order: order}
	r.mem = testkit.Memory{Segs: map[uint64][]byte{dataAt: r.data}, Faults: map[uint64]int{}}
	return r
}

func (r *runtimeData) put(label string, v uint64) { r.order.PutUint64(r.data[r.Pos(label):], v) }

func (r *runtimeData) program(a *arch.Arch, version string) *Program {
	return &Program{
		Arch: a, Mem: &r.mem, Version: version,
		Data: []memreader.Segment{{Addr: dataAt, Size: uint64(r.Pos("variables end"))}},
		Find: func(addr uint64) (pclntab.Func, bool) {
			return pclntab.Func{Entry: startAt, End: 2 * startAt}, addr-startAt < startAt
		},
	}
}

func list(t *testing.T, p *Program) ([]Goroutine, error) {
	t.Helper()
	all, err := p.Goroutines()
	if err != nil {
		return nil, err
	}
	return slices.Collect(all), nil
}

func TestGoroutines(t *testing.T) {
	for i := range versions {
		f := &versions[i]
		for _, a := range arches {
			for _, version := range []string{fmt.Sprintf("go1.%d", f.minor), fmt.Sprintf("go1.%d.3 X:nodwarf5", f.minor)} {
				r := newRuntimeData(a, f)
				got, err := list(t, r.program(a, version))
				if err != nil {
					t.Errorf("%s, %s: %v", version, a.Name, err)
					continue
				}
				at := func(g string) uint64 { return dataAt + uint64(r.Pos(g)) }
				want := []Goroutine{
					{
						ID: 11, Status: "waiting", WaitReason: "chan receive (nil chan)", Start: startAt, Created: startAt + 2, StackHi: 1<<20 + 0x2000,
						Saved: Saved{G: at("waits"), PC: startAt + 1, SP: 1<<20 + 0x1000, LR: 0x77, FP: 1<<20 + 0x1010},
					},
					{
						ID: 12, Status: "running", TID: 321, Start: startAt, Created: startAt + 4, StackHi: 2<<20 + 0x2000,
						Saved: Saved{G: at("runs"), PC: startAt + 2, SP: 2<<20 + 0x1000, LR: 0x77, FP: 2<<20 + 0x1010},
					},
					{
						ID: 13, Status: "syscall", Start: startAt, Created: startAt + 6, StackHi: 3<<20 + 0x2000,
						Saved: Saved{G: at("calls"), PC: startAt + 0x10, SP: 3<<20 + 0x1100},
					},
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, %s: got\n%+v\nwant\n%+v", version, a.Name, got, want)
				}
			}
		}
	}
}

// What is damaged is an error, or left out, or unknown.
func TestGoroutinesOfDamage(t *testing.T) {
	f := &versions[len(versions)-1]
	tests := []struct {
		name string
		tell func(r *runtimeData, p *Program)
		err  error
		want string // id and wait reason or status
	}{
		{"nothing", func(*runtimeData, *Program) {}, nil, "11 chan receive (nil chan), 12 running, 13 syscall, "},
		{"a version to come", func(_ *runtimeData, p *Program) { p.Version = "go1.99" }, nil, "11 chan receive (nil chan), 12 running, 13 syscall, "},
		{"no version", func(_ *runtimeData, p *Program) { p.Version = "" }, errVersion, ""},
		{"another version", func(_ *runtimeData, p *Program) { p.Version = "go1.20" }, errFields, ""},
		{"no list", func(r *runtimeData, _ *Program) { r.put("runtime.allgs", 0); r.put("work.stackRoots", 0) }, errNoAllgs, ""},
		{"part of a list", func(r *runtimeData, _ *Program) { r.put("runtime.allgs", 0) }, nil, "11 chan receive (nil chan), "},
		{"no memory", func(r *runtimeData, p *Program) { p.Data = []memreader.Segment{{Addr: 1 << 40, Size: 1 << 62}} }, errNoAllgs, ""},
		{"no goroutine's own address", func(r *runtimeData, _ *Program) {
			for _, g := range []string{"waits", "ended"} {
				r.order.PutUint64(r.data[r.Pos(g)+gSchedG:], 0)
			}
		}, errNoAllgs, ""},
		{"no number", func(r *runtimeData, _ *Program) { r.put("calls.id", 0) }, errFields, ""},
		{"begins within a function", func(r *runtimeData, _ *Program) { r.put("runs.start", startAt+1) }, errFields, ""},
		{"begins nowhere", func(r *runtimeData, _ *Program) { r.put("runs.start", 8) }, errFields, ""},
		{"called by C", func(r *runtimeData, _ *Program) { r.put("runs.start", 0) }, nil, "11 chan receive (nil chan), 12 running, 13 syscall, "},
		{"another thread's", func(r *runtimeData, _ *Program) { r.put("m.curg", 0) }, nil, "11 chan receive (nil chan), 12 running, 13 syscall, "},
		{"no names", func(r *runtimeData, _ *Program) { r.data[r.Pos(firstReason)] = 'x' }, nil, "11 waiting, 12 running, 13 syscall, "},
		{"a name that is none", func(r *runtimeData, _ *Program) { r.data[r.Pos("waits.reason")] = 4 }, nil, "11 waiting, 12 running, 13 syscall, "},
		{"a reason that is none", func(r *runtimeData, _ *Program) { r.data[r.Pos("waits.reason")] = 200 }, nil, "11 waiting, 12 running, 13 syscall, "},
		{"an unknown state", func(r *runtimeData, _ *Program) { r.put("calls.status", 7<<32|7) }, nil, "11 chan receive (nil chan), 12 running, 13 status 7, "},
		{"a structure is missing", func(r *runtimeData, _ *Program) { r.order.PutUint64(r.data[r.Pos("goroutines")+8:], 1<<40) }, nil, "11 chan receive (nil chan), 0 , 13 syscall, "},
	}
	for _, a := range arches {
		for _, tt := range tests {
			r := newRuntimeData(a, f)
			p := r.program(a, "go1.26.1")
			tt.tell(r, p)
			all, err := list(t, p)
			got := ""
			for _, g := range all {
				state := g.WaitReason
				if state == "" {
					state = g.Status
				}
				got += fmt.Sprintf("%d %s, ", g.ID, state)
			}
			if !errors.Is(err, tt.err) || got != tt.want {
				t.Errorf("%s, %s: got %q, %v, want %q, %v", a.Name, tt.name, got, err, tt.want, tt.err)
			}
		}
	}
}

func TestUnknownVersion(t *testing.T) {
	for _, name := range []string{"", "go1.17.13", "go2.0", "devel +abcdef"} {
		if f, err := version(name); err == nil {
			t.Errorf("%q: got the layout of Go 1.%d", name, f.minor)
		}
	}
}

// FuzzGoroutines takes any bytes as the memory of a program. There is a result or an
// error, and what was saved of a goroutine is a word of that memory.
func FuzzGoroutines(f *testing.F) {
	for i := range versions {
		for _, a := range arches {
			f.Add(newRuntimeData(a, &versions[i]).data, uint8(i), a.BigEndian, uint16(0), uint64(0))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, minor uint8, big bool, at uint16, word uint64) {
		a, order := arch.AMD64, binary.ByteOrder(binary.LittleEndian)
		if big {
			a, order = arch.S390X, binary.BigEndian
		}
		if int(at)+8 <= len(data) {
			data = slices.Clone(data)
			order.PutUint64(data[at:], word)
		}
		v := &versions[int(minor)%len(versions)]
		p := &Program{
			Arch: a, Mem: memreader.NewSpace([]memreader.Segment{{Addr: dataAt, Size: uint64(len(data)), Data: data}}),
			Version: fmt.Sprintf("go1.%d", v.minor), Data: []memreader.Segment{{Addr: dataAt, Size: uint64(len(data))}},
			Find: func(addr uint64) (pclntab.Func, bool) { return pclntab.Func{Entry: addr &^ 0xfff}, true },
		}
		all, err := p.Goroutines()
		if (all == nil) == (err == nil) {
			t.Fatal("a result and an error, or none")
		}
		if err != nil {
			return
		}
		n := 0
		for g := range all {
			if len(g.WaitReason) > maxReason || g.TID < 0 {
				t.Errorf("got %+v", g)
			}
			if n++; n > 1000 {
				break
			}
		}
	})
}
