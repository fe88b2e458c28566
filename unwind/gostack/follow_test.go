package gostack

import (
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// outsideAt is the stack of a thread in C, far from the structures.
const outsideAt = 0x7000000

// regsOf returns registers with SP and, unless it is 0, g.
func (p *process) regsOf(sp, g uint64) arch.Regs {
	var regs arch.Regs
	regs.Set(p.a.SP, sp)
	if g != 0 {
		regs.Set(p.abi.g, g)
	}
	return regs
}

// inC returns the registers of a thread in C, whose stack has these words.
func (p *process) inC(n int, words ...uint64) arch.Regs {
	at := outsideAt + uint64(n)<<16
	stack := make([]byte, len(words)*8)
	for i, w := range words {
		p.order.PutUint64(stack[8*i:], w)
	}
	p.mem.Segs[at] = stack
	return p.regsOf(at, 0x1234)
}

// structuresOf are the ranges that every thread's structures have.
func (p *process) structuresOf() []memreader.Segment {
	return []memreader.Segment{
		{Addr: p.at("m"), Size: mSize},
		{Addr: p.at("g0"), Size: gSize},
		{Addr: p.at("gsignal"), Size: gSize},
		{Addr: p.word(p.at("g0.sched.sp")) - below, Size: g0Size},
	}
}

// withStack are those and the stack of a goroutine from an address on.
func (p *process) withStack(g string, lo uint64) []memreader.Segment {
	return append(p.structuresOf(), memreader.Segment{Addr: p.at(g), Size: gSize}, memreader.Segment{Addr: lo, Size: p.at(g+".hi") - lo})
}

// TestFollow has what a snapshot needs of the stacks that a thread left.
func TestFollow(t *testing.T) {
	fill := func(n int, last ...uint64) []uint64 { // words that may be addresses of a goroutine, and are not
		return append(slices.Repeat([]uint64{0x40000000}, n), last...)
	}
	tests := []struct {
		name string
		set  func(p *process) (threads []arch.Regs, want []memreader.Segment)
	}{
		{"a goroutine that runs", func(p *process) ([]arch.Regs, []memreader.Segment) {
			return []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g"))}, p.withStack("g", p.at("g.hi")-0x800-below)
		}},
		{"the thread's own stack", func(p *process) ([]arch.Regs, []memreader.Segment) {
			return []arch.Regs{p.regsOf(p.at("g0.hi")-0x900, p.at("g0"))}, p.withStack("g", p.at("g.hi")-0x800-below)
		}},
		{"a stack that is almost full", func(p *process) ([]arch.Regs, []memreader.Segment) {
			p.put("g.sched.sp", p.at("g.lo")+24)
			return []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g"))}, p.withStack("g", p.at("g.lo"))
		}},
		{"SP on no stack", func(p *process) ([]arch.Regs, []memreader.Segment) {
			p.put("g.sched.sp", p.at("g.hi"))
			return []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g"))}, append(p.structuresOf(), memreader.Segment{Addr: p.at("g"), Size: gSize})
		}},
		{"a goroutine that waits", func(p *process) ([]arch.Regs, []memreader.Segment) {
			p.put("m.curg", 0)
			p.putAt(p.word(p.at("g0.sched.sp"))-8, p.at("idle"))
			p.put("idle.sched.sp", p.at("idle.hi")-0x100)
			return []arch.Regs{p.regsOf(p.at("g0.hi")-0x900, p.at("g0"))}, p.withStack("idle", p.at("idle.hi")-0x100-below)
		}},
		{"no goroutine", func(p *process) ([]arch.Regs, []memreader.Segment) {
			p.put("m.curg", 0)
			return []arch.Regs{p.regsOf(p.at("g0.hi")-0x900, p.at("g0"))}, p.structuresOf()
		}},
		{"no goroutine, and nothing where it was", func(p *process) ([]arch.Regs, []memreader.Segment) {
			p.put("m.curg", 0)
			p.put("g0.sched.sp", 1<<40)
			return []arch.Regs{p.regsOf(p.at("g0.hi")-0x900, p.at("g0"))}, p.structuresOf()
		}},
		{"where the thread's own stack was left is not there", func(p *process) ([]arch.Regs, []memreader.Segment) {
			p.mem.Faults[p.at("g0.sched.sp")] = 0
			want := p.withStack("g", p.at("g.hi")-0x800-below)
			want[3].Addr = ^uint64(below - 1)
			return []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g"))}, want
		}},
		{"no Go", func(p *process) ([]arch.Regs, []memreader.Segment) {
			return []arch.Regs{p.regsOf(p.at("g.hi")-0x900, 0), p.regsOf(p.at("g.hi")-0x900, 8), p.inC(0, p.at("g"))}, nil
		}},
		{"a thread in C", func(p *process) ([]arch.Regs, []memreader.Segment) {
			all := p.withStack("g", p.at("g.hi")-0x800-below)
			return []arch.Regs{p.inC(0, 5, p.at("g")+4, p.at("g")|1<<56, p.at("g")), p.regsOf(p.at("g.hi")-0x900, p.at("g")), p.inC(1, 0x40000000), {}}, append(all, all...)
		}},
		{"a thread in C, at the last word", func(p *process) ([]arch.Regs, []memreader.Segment) {
			all := p.withStack("g", p.at("g.hi")-0x800-below)
			return []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g")), p.inC(0, fill(maxCandidates-1, p.at("g"))...)}, append(all, all...)
		}},
		{"a thread in C, too late", func(p *process) ([]arch.Regs, []memreader.Segment) {
			return []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g")), p.inC(0, fill(maxCandidates, p.at("g"))...)}, p.withStack("g", p.at("g.hi")-0x800-below)
		}},
		{"a thread in C, too far", func(p *process) ([]arch.Regs, []memreader.Segment) {
			words := make([]uint64, frameScan/8+1)
			words[len(words)-1] = p.at("g")
			return []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g")), p.inC(0, words...)}, p.withStack("g", p.at("g.hi")-0x800-below)
		}},
		{"a thread in C, just near enough", func(p *process) ([]arch.Regs, []memreader.Segment) {
			words := make([]uint64, frameScan/8)
			words[len(words)-1] = p.at("g")
			all := p.withStack("g", p.at("g.hi")-0x800-below)
			return []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g")), p.inC(0, words...)}, append(all, all...)
		}},
		{"too many threads in C", func(p *process) ([]arch.Regs, []memreader.Segment) {
			threads := []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g"))}
			for n := range maxTried / maxCandidates {
				threads = append(threads, p.inC(n, fill(maxCandidates)...))
			}
			return append(threads, p.inC(100, p.at("g"))), p.withStack("g", p.at("g.hi")-0x800-below)
		}},
		{"not too many threads in C", func(p *process) ([]arch.Regs, []memreader.Segment) {
			threads := []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g"))}
			for n := range maxTried/maxCandidates - 1 {
				threads = append(threads, p.inC(n, fill(maxCandidates)...))
			}
			all := p.withStack("g", p.at("g.hi")-0x800-below)
			return append(threads, p.inC(99, fill(maxCandidates-1)...), p.inC(100, p.at("g"))), append(all, all...)
		}},
	}
	onEach(t, func(t *testing.T, build func(t *testing.T) *process) {
		for _, tt := range tests {
			p := build(t)
			if strings.HasSuffix(tt.name, "too many threads in C") && p.a != arch.AMD64 {
				continue // which takes long
			}
			threads, want := tt.set(p)
			if got := Follow(p.a, threads, nil, &p.mem); !slices.EqualFunc(got, want, func(a, b memreader.Segment) bool { return a.Addr == b.Addr && a.Size == b.Size }) {
				t.Errorf("%s: got %+v\nwant %+v", tt.name, got, want)
			}
		}
	})
	p := newProcess(t, arch.AMD64, layouts[0])
	other := *p.a
	other.Machine = 1
	if got := Follow(&other, []arch.Regs{p.regsOf(p.at("g.hi")-0x900, p.at("g"))}, nil, &p.mem); got != nil {
		t.Errorf("another architecture: got %+v", got)
	}
}

// What many threads have instead of a goroutine is looked at once.
func TestFollowOnce(t *testing.T) {
	const other = 0x123400
	for _, a := range arches {
		p := newProcess(t, a, layouts[0])
		p.mem.Faults[other+gM] = 0
		threads := []arch.Regs{p.regsOf(outsideAt, other), p.regsOf(outsideAt+64, other), p.regsOf(outsideAt+128, other)}
		if got := Follow(a, threads, nil, &p.mem); got != nil || p.mem.Faults[other+gM] != 1 {
			t.Errorf("%s: got %+v after %d reads", a.Name, got, p.mem.Faults[other+gM])
		}
	}
}

// Words near a stack are its own, not the address of a goroutine.
func TestCandidates(t *testing.T) {
	for _, a := range arches {
		p := newProcess(t, a, layouts[0])
		const sp = outsideAt
		regs := p.inC(0, sp-g0Size, sp+g0Size, sp-g0Size-8, sp+g0Size+8, 0xfff8, 0x10000, 1<<56-8, 1<<56, 0x10004, sp)
		at, _ := regs.Get(a.SP)
		if got, want := candidates(a, &p.mem, at), []uint64{sp - g0Size - 8, sp + g0Size + 8, 0x10000, 1<<56 - 8}; !slices.Equal(got, want) {
			t.Errorf("%s: got %#x, want %#x", a.Name, got, want)
		}
	}
}

// A goroutine that no thread runs continues with the registers that were saved.
func TestSavedRegs(t *testing.T) {
	for _, a := range arches {
		abi := abiOf(a)
		full := Saved{G: 1, PC: 2, SP: 3, LR: 4, FP: 5}
		for _, s := range []Saved{full, {G: 1, PC: 2, SP: 3}} {
			var want arch.Regs
			want.Set(a.PC, 2)
			want.Set(a.SP, 3)
			want.Set(abi.g, 1)
			if s == full {
				want.Set(a.FP, 5)
				if a.LR != arch.NoReg {
					want.Set(a.LR, 4)
				}
			}
			if got := s.Regs(a); got != want {
				t.Errorf("%s, %+v: got %+v, want %+v", a.Name, s, got, want)
			}
		}
	}
}
