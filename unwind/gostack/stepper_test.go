package gostack

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// Functions that stay on their stack, and where that ends.
func TestFrames(t *testing.T) {
	onEach(t, func(t *testing.T, build func(t *testing.T) *process) {
		// called makes a frame on the goroutine's stack that main.main called.
		called := func(p *process, name string) caller {
			sp := p.at("g.hi") - 0x800
			p.come(name, sp, p.at("g"))
			return caller{pc: p.pc("main.main"), sp: p.calls("main.main", name, sp), g: p.at("g")}
		}
		// entered is the same at the first instruction, where SP is as the call left it.
		entered := func(p *process, name string) caller {
			sp := p.at("g.hi") - 0x800
			p.come(name, sp, p.at("g"))
			p.last().off, p.last().exact = 0, true
			if p.a.LR == arch.NoReg {
				p.putAt(sp, p.pc("main.main"))
			} else {
				p.last().regs[p.a.LR] = p.pc("main.main")
			}
			return caller{pc: p.pc("main.main"), sp: sp + uint64(p.abi.pushed), g: p.at("g")}
		}
		injected := func(p *process, name string) caller {
			c := called(p, name)
			c.injected = true
			if p.a.LR != arch.NoReg {
				p.putAt(c.sp, p.pc("main.leaf"))
				c.lr = p.pc("main.leaf")
			}
			c.sp += uint64(p.abi.pushedLR)
			return c
		}
		top := func(p *process, name string) caller {
			called(p, name)
			return caller{outermost: true}
		}
		onGoroutine := func(p *process, name string) caller {
			c := called(p, name)
			p.last().exact = true
			return c
		}
		for _, tt := range []struct {
			name string
			set  func(p *process, name string) caller
			want error
		}{
			{"main.main", called, nil},
			{"main.main", entered, nil},
			{"main.leaf", entered, nil},
			{"runtime.sigtramp", called, nil},
			{"runtime.sigpanic", injected, nil},
			{"runtime.asyncPreempt", injected, nil},
			{"runtime.goexit", top, nil},
			{"runtime.systemstack", onGoroutine, nil},
			{"runtime.asmcgocall", func(p *process, name string) caller {
				c := onGoroutine(p, name)
				if p.abi.room > 0 { // it has not been taken yet
					p.putAt(p.last().regs[p.a.SP], p.pc("main.main"))
				}
				f, _ := p.find(name)
				c.sp = p.last().regs[p.a.SP] + uint64(f.frame+p.abi.pushed)
				if p.abi.pushed > 0 {
					p.putAt(c.sp-8, p.pc("main.main"))
				}
				return c
			}, nil},
			{"runtime.gogo", called, errUnknownSwitch},
			{"runtime.gogo", func(p *process, name string) caller {
				called(p, name)
				p.last().exact = true
				p.last().regs[p.a.SP] = p.at("g0.hi") - 0x800
				return caller{}
			}, errSwitching},
			{"runtime.cgocallback", func(p *process, name string) caller {
				sp := p.word(p.at("g0.sched.sp"))
				p.come(name, sp, p.at("g0"))
				return caller{pc: p.pc("crosscall2"), sp: p.calls("crosscall2", name, sp), g: p.at("g0")}
			}, nil},
			{"main.main", func(p *process, name string) caller {
				called(p, name)
				delete(p.last().regs, p.a.SP)
				return caller{}
			}, errDelta},
		} {
			p := build(t)
			want := tt.set(p, tt.name)
			got, err := p.step(t)
			if !errors.Is(err, tt.want) || err == nil && got != want {
				t.Errorf("%s: got %v, %v\nwant %v, %v", tt.name, got, err, want, tt.want)
			}
		}
	})
}

// crosscall2 gives C its registers back.
func TestCrosscall2(t *testing.T) {
	onEach(t, func(t *testing.T, build func(t *testing.T) *process) {
		p := build(t)
		sp := p.at("g0.hi") - 0x400
		p.come("crosscall2", sp, p.at("g0"))
		after := p.calls("main.main", "crosscall2", sp)
		saved := map[arch.Reg]uint64{}
		for n, l := range p.abi.crosscallSaved {
			saved[l.Reg] = p.pc("main.main")
			if l.Reg != p.a.LR {
				saved[l.Reg] = uint64(n)
			}
			p.putAt(sp+uint64(l.Off), saved[l.Reg])
		}
		got, err := p.step(t)
		want := caller{pc: p.pc("main.main"), sp: after, g: saved[p.abi.g]}
		if err != nil || got != want {
			t.Errorf("got %v, %v\nwant %v", got, err, want)
		}
		p.last().exact = true
		if got, err := p.step(t); err != nil || got.sp != after || got.g != p.at("g0") {
			t.Errorf("exactly there: got %v, %v", got, err)
		}
		// Where the table does not tell of the frame.
		p.last().off = 2
		if _, err := p.step(t); !errors.Is(err, errSwitching) {
			t.Errorf("exactly where it may have no frame: got %v", err)
		}
		p.last().exact = false
		if got, err := p.step(t); err != nil || got != want {
			t.Errorf("without a table: got %v, %v\nwant %v", got, err, want)
		}
	})
}

// What is not Go's is not answered.
func TestNoTable(t *testing.T) {
	onEach(t, func(t *testing.T, build func(t *testing.T) *process) {
		p := build(t)
		words := memreader.Words{R: &p.mem, BigEndian: p.a.BigEndian}
		other := *p.a
		other.Machine = 1
		for name, c := range map[string]unwind.Cursor{
			"no module":            {Arch: p.a, PC: p.pc("main.main")},
			"a module without Go":  {Arch: p.a, PC: p.pc("main.main"), Module: new(unwind.Module)},
			"an address elsewhere": {Arch: p.a, PC: 0x1000, Module: &p.module},
			"an architecture":      {Arch: &other, PC: p.pc("main.main"), Module: &p.module},
			"C beside Go":          {Arch: p.a, PC: p.pc("c"), Module: &p.module},
		} {
			c.Mem, c.Regs = &words, new(arch.Regs)
			var row arch.Row
			if found, err := new(Stepper).Row(&c, &row); found || err != nil {
				t.Errorf("%s: got %v, %v", name, found, err)
			}
		}
	})
}

// A thread whose structures fit by both layouts is one whose are not known.
func TestLearnAmbiguous(t *testing.T) {
	onEach(t, func(t *testing.T, build func(t *testing.T) *process) {
		p := build(t)
		words := memreader.Words{R: &p.mem, BigEndian: p.a.BigEndian}
		var th thread
		if err := th.learn(&words, p.at("g")); err != nil || th.layout != p.layout || th.curg != p.at("g") {
			t.Errorf("got %+v, %v", th, err)
		}
		for _, l := range layouts {
			p.putAt(p.at("m")+l.gsignal, p.at("gsignal"))
			p.putAt(p.at("m")+l.curg, p.at("g"))
		}
		th = thread{}
		if err := th.learn(&words, p.at("g")); !errors.Is(err, errAmbiguous) || th.known {
			t.Errorf("got %+v, %v", th, err)
		}
	})
}

// Where the assembler made crosscall2 push the caller's frame pointer, that is what
// C gets back, and not what the function saved after it.
func TestFramePointerOfCrosscall2(t *testing.T) {
	for frame, want := range map[int64]int64{amd64.crosscallFrame: 64, amd64.crosscallFrame + 8: 72} {
		p := newProcess(t, arch.AMD64, layouts[0])
		for i := range p.funcs {
			if p.funcs[i].name == "crosscall2" {
				p.funcs[i].frame = frame
			}
		}
		table, err := pclntab.Parse(p.table(), p.order)
		if err != nil {
			t.Fatal(err)
		}
		p.module.Go = table.At(testkit.GoTextAt)
		var regs arch.Regs
		regs.Set(p.a.SP, p.at("g0.hi")-0x400)
		c := unwind.Cursor{Arch: p.a, Mem: &memreader.Words{R: &p.mem}, Module: &p.module, PC: p.pc("crosscall2"), Regs: &regs, Walk: 1}
		var row arch.Row
		if found, err := new(Stepper).Row(&c, &row); !found || err != nil || row.FP != arch.AtReg(p.a.SP, want) {
			t.Errorf("a frame of %d bytes: got %v, %v, %+v, want FP at SP+%d", frame, found, err, row.FP, want)
		}
	}
}
