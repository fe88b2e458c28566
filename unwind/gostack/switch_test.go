package gostack

import (
	"errors"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// lie is a change by which a frame has no caller any more.
type lie struct {
	name string
	tell func(p *process)
	want error
}

// set is a lie by one word.
func set(label string, v func(p *process) uint64, want error) lie {
	return lie{label, func(p *process) { p.put(label, v(p)) }, want}
}

func add(label string, delta int64, want error) lie {
	return lie{label + " moved", func(p *process) { p.add(label, delta) }, want}
}

// missing is memory that is not there: want is what the error says beside.
func missing(label string, want error) lie {
	return lie{label + " missing", func(p *process) { p.mem.Faults[p.at(label)] = 0 }, want}
}

func label(name string) func(p *process) uint64 { return func(p *process) uint64 { return p.at(name) } }

func code(name string) func(p *process) uint64 { return func(p *process) uint64 { return p.pc(name) } }

func zero(*process) uint64 { return 0 }

func exactly(p *process) { p.last().exact = true }

func withoutG(p *process) { delete(p.last().regs, p.abi.g) }

func again(p *process) { p.walk = append(p.walk, *p.last()) }

// errFault stands for a *memreader.FaultError alone, at the address that is missing.
var errFault = errors.New("a fault")

func check(t *testing.T, p *process, got, want error) {
	t.Helper()
	defer p.mem.CheckFaults(t)
	if !errors.Is(want, errFault) {
		if !errors.Is(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		return
	}
	fault, ok := errors.AsType[*memreader.FaultError](got)
	if !ok {
		t.Errorf("got %v, want a fault", got)
		return
	}
	if _, ok := p.mem.Faults[fault.Addr]; !ok {
		t.Errorf("got a fault at %#x, want %v", fault.Addr, p.mem.Faults)
	}
}

// switches are the ways from one stack to another. set makes one and the walk
// up to it, and returns what it leads to.
var switches = []struct {
	name string
	on   func(p *process) bool // the architectures that have it; nil for all
	set  func(p *process) caller
	lies []lie
}{
	{name: "asmcgocall", set: func(p *process) caller { return p.callC(p.abi.saved[0]) }, lies: append(callLies,
		set("g0.m", zero, errG),
		add("g.stack.hi", 8, errDepth),
		set("g.stack.lo", label("g.hi"), errDepth),
		lie{"its caller above the stack", func(p *process) {
			p.put("g.sched.sp", p.at("g.hi")-8)
			p.left(p.last().regs[p.a.SP], p.abi.saved[0], "g", p.at("g.hi")-8)
		}, errDepth},
		missing("g.stack.lo", errFault),
		set("g.sched.pc", code("main.main"), errSched),
		add("g.sched.sp", 8, errDepth),
		missing("g.sched.sp", errFault), missing("g.sched.pc", errFault), missing("g.m", errFault),
	)},
	{
		name: "asmcgocall with its words elsewhere",
		on:   func(p *process) bool { return len(p.abi.saved) > 1 },
		set:  func(p *process) caller { return p.callC(p.abi.saved[1]) },
		lies: []lie{add("g.sched.sp", 8, errG), set("g.m", zero, errG)}, // of the first place, which has nothing
	},
	{name: "asmcgocall on gsignal, as by a handler in C", set: func(p *process) caller {
		sp := p.at("gsignal.hi") - 0x400
		own := sp + 0x40
		p.come("runtime.asmcgocall", sp, 0)
		p.stayed("gsignal", own)
		return caller{pc: p.pc("main.main"), sp: p.calls("main.main", "runtime.asmcgocall", own)}
	}, lies: []lie{
		{"another frame of that stack", func(p *process) { p.stayed("gsignal", p.at("gsignal.hi")-0x100) }, errG},
		{"frame below", func(p *process) { p.stayed("gsignal", p.at("gsignal.hi")-0x408) }, errG},
		{"word missing", func(p *process) { p.mem.Faults[p.last().regs[p.a.SP]+p.abi.saved[0].g] = 0 }, errFault},
	}},
	{name: "asmcgocall, and C called back", set: func(p *process) caller {
		c := p.callBack("g")
		p.add("g.sched.sp", -0x100) // of what Go did since
		sp := c.sp + 0x80
		p.come("runtime.asmcgocall", sp, 0)
		called := p.word(p.at("g.sched.sp")) + 0x100 + uint64(p.abi.callbackFrame+p.abi.pushed)
		p.left(sp, p.abi.saved[0], "g", called)
		return caller{pc: p.pc("main.main"), sp: p.calls("main.main", "runtime.asmcgocall", called), g: p.at("g"), switched: true}
	}, lies: callLies},
	{name: "systemstack", set: func(p *process) caller {
		sp := p.word(p.at("g.sched.sp"))
		p.come("runtime.systemstack", p.word(p.at("g0.sched.sp"))-16, p.at("g0"))
		return caller{pc: p.pc("main.main"), sp: p.calls("main.main", "runtime.systemstack", sp), g: p.at("g"), switched: true}
	}, lies: append(scheduledLies,
		set("g.sched.pc", code("main.main"), errSched),
		lie{"its caller above the stack", func(p *process) { p.put("g.sched.sp", p.at("g.hi")-8) }, errSched},
		missing("g.sched.pc", errFault),
	)},
	{name: "morestack", set: func(p *process) caller {
		c := p.resume("runtime.morestack")
		if p.a.LR != arch.NoReg {
			p.put("g.sched.lr", p.pc("main.main"))
			c.lr, c.injected = p.pc("main.main"), true
		}
		return c
	}, lies: append(scheduledLies, missing("g.sched.pc", errFault))},
	{
		name: "mcall",
		set:  func(p *process) caller { return p.resume("runtime.mcall") },
		lies: append(scheduledLies, missing("g.sched.pc", errFault)),
	},
	{
		name: "mcall, with a call pushed", // which is a second account of pc
		on:   func(p *process) bool { return p.abi.pushed > 0 },
		set:  func(p *process) caller { return p.resume("runtime.mcall") },
		lies: []lie{
			set("g.sched.pc", code("main.main"), errSched),
			{"what was pushed", func(p *process) { p.putAt(p.word(p.at("g.sched.sp"))-8, p.pc("main.main")) }, errSched},
		},
	},
	{name: "mcall, with the goroutine gone", set: func(p *process) caller {
		p.put("m.curg", 0)
		p.come("runtime.mcall", p.word(p.at("g0.sched.sp"))-16, p.at("g0"))
		return caller{outermost: true}
	}, lies: []lie{{"g", withoutG, errNoG}, set("g0.m", zero, errNoG), missing("g0.sched.sp", errFault)}},
	{name: "morestack, with the goroutine gone", set: func(p *process) caller {
		p.put("m.curg", 0)
		p.come("runtime.morestack", p.word(p.at("g0.sched.sp"))-16, p.at("g0"))
		return caller{outermost: true}
	}, lies: []lie{
		{"g", withoutG, errNoG},
		set("g0.m", zero, errNoG), missing("g0.sched.sp", errFault),
		{"C called the goroutine", func(p *process) { p.calls("crosscall2", "runtime.cgocallback", p.word(p.at("g0.sched.sp"))) }, errWaiting},
		{"SP", func(p *process) { p.moveSP(24) }, errG0},
		{"SP far below", func(p *process) { p.moveSP(-24) }, errG0},
	}},
	{name: "mcall, waiting for a goroutine that C called", set: (*process).park, lies: []lie{
		{"g", withoutG, errNoG},
		set("idle.m", label("m"), errWaiting),
		set("idle.sched.sp", label("g0.lo"), errWaiting),
		set("idle.sched.sp", label("idle.hi"), errWaiting),
		set("idle.stack.hi", label("idle.lo"), errWaiting),
		{"goroutine", func(p *process) { p.putAt(p.last().regs[p.a.SP]+uint64(p.abi.mcallG), p.at("g0")) }, errWaiting},
		{"SP", func(p *process) { p.moveSP(24) }, errG0},
		{"SP far below", func(p *process) { p.moveSP(-24) }, errG0},
		{"a second time", again, errG0},
		missing("idle.m", errWaiting), missing("idle.sched.sp", errWaiting), missing("idle.sched.pc", errWaiting),
		missing("g0.sched.sp", errFault),
	}},
	{name: "cgocallback", set: func(p *process) caller { return p.callBack("g") }, lies: callbackLies},
	{name: "cgocallback, not the last", set: func(p *process) caller {
		c := p.callBack("g")
		inner := p.word(p.at("g0.sched.sp")) - 0x100
		p.putAt(inner+uint64(p.abi.outer), p.word(p.at("g0.sched.sp")))
		p.calls("crosscall2", "runtime.cgocallback", inner)
		p.put("g0.sched.sp", inner)
		return c
	}, lies: append(callbackLies,
		lie{"the last leads to itself", func(p *process) {
			inner := p.word(p.at("g0.sched.sp"))
			p.putAt(inner+uint64(p.abi.outer), inner)
		}, errCallback},
		lie{"the last leads down", func(p *process) {
			inner := p.word(p.at("g0.sched.sp"))
			p.putAt(inner+0x180+uint64(p.abi.outer), inner+0x100)
			p.calls("crosscall2", "runtime.cgocallback", inner+0x180)
			p.put("g0.sched.sp", inner+0x180)
		}, errCallback},
	)},
	{name: "cgocallback, after a panic", set: func(p *process) caller {
		p.callBack("g")
		p.add("g0.sched.sp", 0x100) // what was noted of the call from C is gone
		sp := p.last().regs[p.a.SP]
		after := p.calls("runtime.systemstack_switch", "runtime.cgocallback", sp)
		return caller{pc: p.pc("runtime.systemstack_switch"), sp: after, g: p.at("g")}
	}, lies: []lie{
		{"where the goroutine left its stack", func(p *process) { p.calls("main.main", "runtime.cgocallback", p.last().regs[p.a.SP]) }, errCallback},
		{"SP", func(p *process) { p.last().regs[p.a.SP] = p.at("g0.hi") - 0x200 }, errCallback},
		{"g", withoutG, errNoG},
		missing("g.stack.lo", errFault),
	}},
	{name: "cgocallback, of a goroutine that waited", set: func(p *process) caller {
		p.park()
		return p.callBack("idle")
	}, lies: []lie{
		{"arguments", lieOfArguments, errCallback},
		{"SP", func(p *process) { p.last().regs[p.a.SP] = p.at("g.hi") - 0x800 }, errCallback},
	}},
	{name: "cgocallback, of a goroutine that the runtime has put aside", set: func(p *process) caller {
		p.put("m.curg", 0)
		p.put("idle.lockedm", p.at("m"))
		return p.callBack("idle")
	}, lies: []lie{
		set("idle.lockedm", zero, errNoG),
		set("idle.lockedm", label("g0"), errNoG),
		{"lockedm between words", func(p *process) { p.add("idle.lockedm", 1) }, errNoG},
		set("m.curg", label("g"), errNoG), // it does not wait
		set("g0.m", label("g"), errNoG),
		set("gsignal.m", zero, errNoG),
		set("idle.m", label("g0"), errNoG),
		missing("idle.lockedm", errNoG), missing("idle.m", errNoG), missing("m.g0", errNoG),
		{"arguments", lieOfArguments, errCallback},
		{"SP", func(p *process) { p.last().regs[p.a.SP] = p.at("g.hi") - 0x800 }, errCallback},
	}},
}

var callLies = []lie{
	{"no goroutine", func(p *process) { p.leftG(p.at("idle")) }, errG},
	{"no address", func(p *process) { p.leftG(1) }, errG},
	{"g0 instead", func(p *process) { p.leftG(p.at("g0")) }, errG},
	{"depth", func(p *process) {
		at := p.last().regs[p.a.SP] + p.abi.saved[0].depth
		p.putAt(at, p.word(at)-8)
	}, errDepth},
	{"exact", exactly, errSwitching},
	{"word missing", func(p *process) { p.mem.Faults[p.last().regs[p.a.SP]+p.abi.saved[0].depth] = 0 }, errFault},
}

var scheduledLies = []lie{
	{"g", withoutG, errNoG},
	{"g of no thread", func(p *process) { p.last().regs[p.abi.g] = p.at("idle") }, errNoG},
	{"g that the thread does not run", func(p *process) {
		p.put("idle.m", p.at("m"))
		p.last().regs[p.abi.g] = p.at("idle")
	}, errNoG},
	{"g nowhere", func(p *process) { p.last().regs[p.abi.g] = 8 }, errNoG},
	set("g.m", label("g0"), errNoG),
	set("g0.m", label("g"), errNoG),
	set("gsignal.m", zero, errNoG),
	set("m.g0", label("g"), errNoG),
	set("m.gsignal", label("g0"), errNoG),
	set("m.curg", label("idle"), errNoG),
	set("g.sched.sp", label("g.hi"), errSched),
	set("g.sched.sp", label("g0.lo"), errSched),
	set("g.stack.lo", label("g.hi"), errSched),
	set("g0.sched.sp", label("g0.hi"), errG0),
	{"SP above", func(p *process) { p.moveSP(24) }, errG0},
	{"SP far below", func(p *process) { p.moveSP(-24) }, errG0},
	{"a second time", again, errG0},
	{"exact", exactly, errSwitching},
	missing("g0.sched.sp", errG0), missing("g.sched.sp", errFault), missing("g.stack.hi", errFault),
	missing("g0.m", errNoG), missing("m.curg", errNoG),
}

var callbackLies = []lie{
	{"g", withoutG, errNoG},
	set("m.curg", zero, errNoG),
	set("g.m", zero, errNoG),
	set("g.stack.hi", label("g.lo"), errCallback),
	set("g0.sched.sp", label("g0.lo"), errCallback),
	{"SP", func(p *process) { p.last().regs[p.a.SP] = p.at("idle.lo") }, errCallback},
	{"before it has its frame", func(p *process) { p.last().off = 2 }, errCallback},
	{"exact", exactly, errSwitching},
	{"a second time", again, errCallback},
	{"arguments", lieOfArguments, errCallback},
	missing("g0.sched.sp", errCallback), missing("g.stack.lo", errCallback),
}

func lieOfArguments(p *process) {
	p.putAt(p.last().regs[p.a.SP]+uint64(p.abi.args)+16, 7)
}

// callC has goroutine g call C by asmcgocall.
func (p *process) callC(at slots) caller {
	sp := p.word(p.at("g0.sched.sp")) - 0x180
	p.come("runtime.asmcgocall", sp, 0)
	called := p.word(p.at("g.sched.sp"))
	p.left(sp, at, "g", called)
	return caller{pc: p.pc("main.main"), sp: p.calls("main.main", "runtime.asmcgocall", called), g: p.at("g"), switched: true}
}

// left stores what asmcgocall keeps on g0 of a goroutine's SP.
func (p *process) left(sp uint64, at slots, g string, called uint64) {
	p.putAt(sp+at.g, p.at(g))
	p.putAt(sp+at.depth, p.at(g+".hi")-called)
}

// leftG changes the goroutine that asmcgocall keeps.
func (p *process) leftG(g uint64) { p.putAt(p.last().regs[p.a.SP]+p.abi.saved[0].g, g) }

// stayed stores what asmcgocall keeps if it was called, with SP at own, on a
// stack of the thread.
func (p *process) stayed(g string, own uint64) {
	sp, at := p.last().regs[p.a.SP], p.abi.saved[0]
	p.left(sp, at, g, own)
	if p.abi.noG {
		p.putAt(sp+at.g, 0)
		p.putAt(sp+at.depth, own)
	}
}

// resume has a function on g0 that left its caller on g to go on by sched.
func (p *process) resume(name string) caller {
	sp, pc := p.word(p.at("g.sched.sp")), p.pc("main.leaf")
	p.put("g.sched.pc", pc)
	p.putAt(sp-8, pc)
	p.come(name, p.word(p.at("g0.sched.sp"))-16, p.at("g0"))
	return caller{pc: pc, sp: sp, g: p.at("g"), switched: true}
}

// park has the thread wait for goroutine idle, which C called.
func (p *process) park() caller {
	p.put("m.curg", 0)
	p.calls("crosscall2", "runtime.cgocallback", p.word(p.at("g0.sched.sp")))
	sp, pc := p.at("idle.hi")-0x800, p.pc("main.leaf")
	p.put("idle.sched.sp", sp)
	p.put("idle.sched.pc", pc)
	p.putAt(sp-8, pc)
	p.come("runtime.mcall", p.word(p.at("g0.sched.sp"))-16, p.at("g0"))
	p.putAt(p.last().regs[p.a.SP]+uint64(p.abi.mcallG), p.at("idle"))
	return caller{pc: pc, sp: sp, g: p.at("idle"), switched: true, uncertain: true}
}

// callBack has C call Go by cgocallback, which has a frame on g0 and another on
// goroutine g, at 0x800 below the top, with the same arguments.
func (p *process) callBack(g string) caller {
	sp, own := p.at(g+".hi")-0x800, p.word(p.at("g0.sched.sp"))
	after := p.calls("crosscall2", "runtime.cgocallback", own)
	for i := range uint64(3) {
		off := uint64(p.abi.args) + 8*i
		p.putAt(sp+off, 0x1000+i)
		p.putAt(after+off, 0x1000+i)
	}
	p.come("runtime.cgocallback", sp, p.at(g))
	return caller{pc: p.pc("crosscall2"), sp: after, switched: true}
}

// Functions that keep SP in a register, nanotime1 and walltime for the vDSO and
// sigfwd for a handler in C, lead back to it on the same stack or a goroutine's.
func TestSavedSP(t *testing.T) {
	onEach(t, func(t *testing.T, build func(t *testing.T) *process) {
		for name, reg := range build(t).abi.savedSP {
			came := func(t *testing.T, sp, kept uint64, g string) (*process, caller) {
				t.Helper()
				p := build(t)
				p.come(name, sp, 0)
				p.last().regs[reg] = kept
				want := caller{pc: p.pc("main.main"), sp: p.calls("main.main", name, kept)}
				if g != "" {
					want.g = p.at(g)
					p.last().regs[p.abi.g] = want.g
				}
				return p, want
			}
			at := build(t).at
			g, own, handler := at("g.hi")-0x800, at("g0.hi")-0x800, at("gsignal.hi")-0x800
			for _, tt := range []struct {
				name     string
				sp, kept uint64
				g        string
				switched bool
			}{
				{"on g0", own - 0x10, own, "g0", false},
				{"on gsignal", handler - 0x20, handler, "gsignal", false},
				{"on a stack that is not known", handler - 0xff, handler, "", false},
				{"to g0", own, g, "g", true},
			} {
				p, want := came(t, tt.sp, tt.kept, tt.g)
				want.switched = tt.switched
				if got, err := p.step(t); err != nil || got != want {
					t.Errorf("%s %s: got %v, %v\nwant %v", name, tt.name, got, err, want)
				}
			}
			for _, l := range []lie{
				{"exact", exactly, errSwitching},
				{"g", withoutG, errNoG},
				{"g of no thread", func(p *process) { p.last().regs[p.abi.g] = p.at("idle") }, errNoG},
				set("g.m", label("g0"), errNoG),
				{"m.curg", func(p *process) { p.put("m.curg", 0); p.last().regs[p.abi.g] = p.at("g0") }, errNoG},
				{"SP too low", func(p *process) { p.last().regs[reg] = p.at("g.lo") - 8 }, errSched},
				{"its caller above the stack", func(p *process) { p.last().regs[reg] = p.at("g.hi") - 8 }, errSched},
				{"SP too high", func(p *process) { p.last().regs[reg] = p.at("g.hi") }, errSched},
				set("g.stack.hi", label("g.lo"), errSched),
				missing("g.stack.lo", errSched),
			} {
				t.Run(name+"/"+l.name, func(t *testing.T) {
					p, _ := came(t, own, g, "g")
					l.tell(p)
					_, err := p.step(t)
					check(t, p, err, l.want)
				})
			}
			p, _ := came(t, own, g, "g")
			delete(p.last().regs, reg)
			if _, err := p.step(t); err == nil || !strings.Contains(err.Error(), p.a.RegName(reg)) {
				t.Errorf("%s: got %v, want that %s is not known", name, err, p.a.RegName(reg))
			}
		}
	})
}

// Every way from one stack to another leads to the caller, and none that lies
// in a word leads anywhere.
func TestSwitches(t *testing.T) {
	onEach(t, func(t *testing.T, build func(t *testing.T) *process) {
		for _, tt := range switches {
			if tt.on != nil && !tt.on(build(t)) {
				continue
			}
			t.Run(tt.name, func(t *testing.T) {
				p := build(t)
				want := tt.set(p)
				if got, err := p.step(t); err != nil || got != want {
					t.Fatalf("got %v, %v\nwant %v", got, err, want)
				}
			})
			for _, l := range tt.lies {
				t.Run(tt.name+"/"+l.name, func(t *testing.T) {
					p := build(t)
					tt.set(p)
					l.tell(p)
					_, err := p.step(t)
					check(t, p, err, l.want)
				})
			}
		}
	})
}
