package gostack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// arches are all architectures with Go, in all byte orders.
var arches = []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X}

const (
	areaAt   = 0x100000
	funcSize = 0x100
	inFunc   = 0x10 // where in a function its frame is complete
)

// function is a function of Go's table, with a frame that its first
// instruction makes; frame is negative in C, of which the table does not tell.
type function struct {
	name  string
	flags pclntab.Flags
	frame int64
}

// process is a thread that runs Go: its structures m and g, three stacks, and
// the frames that are walked.
type process struct {
	a      *arch.Arch
	abi    *abi
	layout layout
	order  binary.ByteOrder
	area   *testkit.Bytes // has the labels
	data   []byte
	mem    testkit.Memory
	module unwind.Module
	funcs  []function
	walk   []place
}

// place is a frame as a walk comes to it.
type place struct {
	name  string
	exact bool
	off   uint64 // of the pc in the function
	regs  map[arch.Reg]uint64
}

func newProcess(t *testing.T, a *arch.Arch, l layout) *process {
	t.Helper()
	p := &process{a: a, abi: abiOf(a), layout: l, order: binary.LittleEndian}
	if a.BigEndian {
		p.order = binary.BigEndian
	}
	p.structures()
	const jumps = pclntab.SPWrite | pclntab.Asm
	p.funcs = []function{
		{"main.main", 0, 64},
		{"main.leaf", 0, 0},
		{"c", 0, -1},
		{"crosscall2", 0, p.abi.crosscallFrame},
		{"runtime.asmcgocall", jumps, 32 + p.abi.room},
		{"runtime.asyncPreempt", pclntab.Asm, 48},
		{"runtime.cgocallback", jumps, p.abi.callbackFrame},
		{"runtime.goexit", pclntab.TopFrame, 8},
		{"runtime.gogo", jumps, 0},
		{"runtime.mcall", jumps, 16},
		{"runtime.morestack", jumps, 16},
		{"runtime.sigpanic", 0, 48},
		{"runtime.sigtramp", pclntab.TopFrame | pclntab.Asm, 80},
		{"runtime.systemstack", jumps, 16},
		{"runtime.systemstack_switch", 0, 16},
	}
	for name := range p.abi.savedSP {
		p.funcs = append(p.funcs, function{name, jumps, 32})
	}
	table, err := pclntab.Parse(p.table(), p.order)
	if err != nil {
		t.Fatal(err)
	}
	p.module.Go = table.At(testkit.GoTextAt)
	p.put("g0.sched.sp", p.at("g0.hi")-0x800)
	p.put("g.sched.sp", p.at("g.hi")-0x800)
	p.put("g.sched.pc", p.pc("runtime.systemstack_switch"))
	return p
}

// structures lays out m, and the g of three stacks and one of no thread.
func (p *process) structures() {
	b := testkit.New(p.order)
	p.area = b
	until := func(from string, off uint64) { b.Zero(b.Pos(from) + int(off) - b.Len()) }
	b.Mark("m").Mark("m.g0").Diff(8, "g0", "", areaAt)
	until("m", p.layout.gsignal)
	b.Mark("m.gsignal").Diff(8, "gsignal", "", areaAt)
	until("m", p.layout.curg)
	b.Mark("m.curg").Diff(8, "g", "", areaAt)
	until("m", mSize)
	for _, g := range []string{"g0", "gsignal", "g", "idle"} {
		b.Mark(g).Mark(g+".stack.lo").Diff(8, g+".lo", "", areaAt).Mark(g+".stack.hi").Diff(8, g+".hi", "", areaAt)
		until(g, gM)
		b.Mark(g + ".m")
		if g == "idle" {
			b.D64(0)
		} else {
			b.Diff(8, "m", "", areaAt)
		}
		until(g, gSchedSP)
		b.Mark(g + ".sched.sp").D64(0).Mark(g + ".sched.pc").D64(0)
		until(g, p.layout.schedLR)
		b.Mark(g + ".sched.lr").D64(0)
		until(g, lockedTo-8)
		b.Mark(g + ".lockedm").D64(0)
	}
	for _, g := range []string{"g0", "gsignal", "g", "idle"} {
		b.Mark(g + ".lo").Zero(0x1000).Mark(g + ".hi")
	}
	b.Zero(8)
	p.data = b.Done()
	p.mem = testkit.Memory{Segs: map[uint64][]byte{areaAt: p.data}, Faults: map[uint64]int{}}
}

// table is Go's table of functions.
func (p *process) table() []byte {
	b := testkit.New(p.order).D32(testkit.GoMagic120).D8(0, 0, 4, 8).D64(uint64(len(p.funcs)), 0, 0)
	for _, part := range []string{"names", "cutab", "files", "pctab", "funcs"} {
		b.Diff(8, part, "", 0)
	}
	b.Mark("names").Str("")
	for _, f := range p.funcs {
		b.Mark("name " + f.name).Str(f.name)
	}
	b.Mark("cutab").Mark("files").Mark("pctab").D8(0)
	for _, f := range p.funcs {
		b.Mark("sp " + f.name)
		switch {
		case f.frame < 0:
			b.ULEB(0, funcSize/4, 0)
		case f.frame == 0:
			b.ULEB(2*1, funcSize/4, 0) // from -1 to 0
		default:
			b.ULEB(2*1, 1, uint64(2*f.frame), funcSize/4-1, 0)
		}
	}
	b.Align(8).Mark("funcs")
	for i, f := range p.funcs {
		b.D32(uint32(i*funcSize)).Diff(4, "_func "+f.name, "funcs", 0)
	}
	b.D32(uint32(len(p.funcs) * funcSize))
	for i, f := range p.funcs {
		b.Mark("_func "+f.name).D32(uint32(i*funcSize)).Diff(4, "name "+f.name, "names", 0).D32(0, 0)
		b.Diff(4, "sp "+f.name, "pctab", 0).D32(0, 0, 0, 0, 1).D8(0, byte(f.flags), 0, 0)
	}
	return b.Done()
}

func (p *process) at(label string) uint64 { return areaAt + uint64(p.area.Pos(label)) }

func (p *process) put(label string, v uint64) { p.putAt(p.at(label), v) }

func (p *process) putAt(addr, v uint64) { p.order.PutUint64(p.data[addr-areaAt:], v) }

func (p *process) word(addr uint64) uint64 { return p.order.Uint64(p.data[addr-areaAt:]) }

// add changes the word at a label.
func (p *process) add(label string, delta int64) { p.put(label, p.word(p.at(label))+uint64(delta)) }

// find returns a function and its address.
func (p *process) find(name string) (function, uint64) {
	for i, f := range p.funcs {
		if f.name == name {
			return f, uint64(testkit.GoTextAt + i*funcSize)
		}
	}
	panic("no function " + name)
}

func (p *process) pc(name string) uint64 {
	_, entry := p.find(name)
	return entry + inFunc
}

// calls stores at sp, where the frame of a function begins, that another called
// it, and returns where SP was before that.
func (p *process) calls(caller, name string, sp uint64) uint64 {
	f, _ := p.find(name)
	frame := uint64(f.frame - p.abi.room)
	if name != "runtime.asmcgocall" {
		frame = uint64(f.frame)
	}
	if p.abi.pushed > 0 {
		p.putAt(sp+frame, p.pc(caller))
	} else {
		p.putAt(sp, p.pc(caller))
	}
	return sp + frame + uint64(p.abi.pushed)
}

// come adds a frame to the walk, with SP, and g if that is not 0.
func (p *process) come(name string, sp, g uint64) {
	regs := map[arch.Reg]uint64{p.a.SP: sp}
	if g != 0 {
		regs[p.abi.g] = g
	}
	p.walk = append(p.walk, place{name: name, off: inFunc, regs: regs})
}

// last is the frame that a test is about.
func (p *process) last() *place { return &p.walk[len(p.walk)-1] }

func (p *process) moveSP(delta int64) { p.last().regs[p.a.SP] += uint64(delta) }

// caller is what a row makes of a frame; 0 where it has no value.
type caller struct {
	pc, sp, g, lr                            uint64
	outermost, switched, injected, uncertain bool
}

func (c caller) String() string {
	return fmt.Sprintf("pc %#x sp %#x g %#x lr %#x outermost %v switched %v injected %v uncertain %v",
		c.pc, c.sp, c.g, c.lr, c.outermost, c.switched, c.injected, c.uncertain)
}

var errNotFound = errors.New("not found")

// step walks all frames with one Stepper, and returns the caller of the last.
func (p *process) step(t *testing.T) (caller, error) {
	t.Helper()
	var s Stepper
	words := memreader.Words{R: &p.mem, BigEndian: p.a.BigEndian}
	for n, at := range p.walk {
		var regs arch.Regs
		for r, v := range at.regs {
			regs.Set(r, v)
		}
		pc := p.pc(at.name) - inFunc + at.off
		c := unwind.Cursor{Arch: p.a, Mem: &words, Module: &p.module, PC: pc, Regs: &regs, Exact: at.exact, Walk: 1}
		var row arch.Row
		found, err := s.Row(&c, &row)
		if found == (err != nil) {
			t.Fatalf("got %v and %v", found, err)
		}
		if n == len(p.walk)-1 && err == nil {
			return p.apply(&row, &regs), nil
		}
		if err != nil {
			if n < len(p.walk)-1 {
				t.Fatalf("frame %d: %v", n, err)
			}
			return caller{}, err
		}
	}
	return caller{}, errNotFound
}

// apply computes what the unwinder makes of a row.
func (p *process) apply(row *arch.Row, regs *arch.Regs) caller {
	if row.Outermost() {
		return caller{outermost: true}
	}
	cfa := p.eval(row.CFA, regs, 0)
	c := caller{
		pc: p.eval(row.RA, regs, cfa), sp: cfa + uint64(p.a.SPFromCFA),
		switched: row.Switch, injected: row.Injected, uncertain: row.Uncertain,
	}
	for _, e := range row.Extra {
		v := p.eval(e.Rule, regs, cfa)
		switch e.Reg {
		case p.a.SP:
			c.sp = v
		case p.abi.g:
			c.g = v
		case p.a.LR:
			c.lr = v
		}
	}
	return c
}

func (p *process) eval(r arch.Rule, regs *arch.Regs, cfa uint64) uint64 {
	v := uint64(r.Off)
	switch r.Base {
	case arch.CFA:
		v += cfa
	case arch.Register:
		base, ok := regs.Get(r.Reg)
		if !ok {
			return 0
		}
		v += base
	}
	if r.Deref {
		return p.word(v)
	}
	return v
}

// onEach runs a test for each architecture and layout of Go's structures.
func onEach(t *testing.T, test func(t *testing.T, build func(t *testing.T) *process)) {
	t.Helper()
	for _, a := range arches {
		order := "little"
		if a.BigEndian {
			order = "big"
		}
		for n, l := range layouts {
			t.Run(fmt.Sprintf("%s-%s-%d", a.Name, order, n), func(t *testing.T) {
				test(t, func(t *testing.T) *process {
					t.Helper()
					return newProcess(t, a, l)
				})
			})
		}
	}
}
