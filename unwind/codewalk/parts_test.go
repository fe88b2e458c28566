package codewalk

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

const addRet = "\x48\x83\xc4\x08\xc3" // add $8,%rsp; ret

// amd64Cursor is the cursor of a frame of amd64 with these registers, SP at stackAt.
func (p *process) amd64Cursor(pc uint64) *unwind.Cursor {
	return p.cursor(pc, p.regs(map[arch.Reg]uint64{16: pc, 7: stackAt}))
}

// The call before an address tells where the function begins, unless that is too far
// from pc to be the same function, or nothing tells where it goes.
func TestCalledBefore(t *testing.T) {
	const ra, pc, slot = codeAt + 0x100, codeAt + 0x10, dataAt + 0x10
	const far = unwind.MaxUndescribed
	bySlot := "\xff\x15" + jump(ra-5, slot)[1:]
	for _, tt := range []struct {
		name  string
		call  string // before ra
		ra    uint64
		held  uint64 // in the slot
		pc    uint64
		start uint64
		want  bool
	}{
		{"a call", callTo(ra-5, codeAt), ra, 0, pc, codeAt, true},
		{"a call of pc", callTo(ra-5, pc), ra, 0, pc, pc, true},
		{"as far back as can be", callTo(ra-5, pc-far+1), ra, 0, pc, pc - far + 1, true},
		{"farther back", callTo(ra-5, pc-far), ra, 0, pc, pc - far, false},
		{"as far on as can be", callTo(ra-5, pc+far), ra, 0, pc, pc + far, true},
		{"farther on", callTo(ra-5, pc+far+1), ra, 0, pc, pc + far + 1, false},
		{"by a slot", bySlot, ra, codeAt, pc, codeAt, true},
		{"by a slot, far", bySlot, ra, codeAt + 4*far, pc, codeAt + 4*far, false},
		{"by a slot that cannot be read", "\xff\x15" + jump(ra-5, dataAt+areaSize)[1:], ra, 0, pc, 0, false},
		{"by a register", "\x90\x90\x90\xff\xd0", ra, 0, pc, 0, false},
		{"by a register, near address 0", "\x90\x90\x90\xff\xd0", ra, 0, 0x10, 0, false},
		{"no call", "\x90\x90\x90\x90\x90", ra, 0, pc, 0, false},
		{"no call, near address 0", "\x90\x90\x90\x90\x90", ra, 0, 0x10, 0, false},
		{"no code", callTo(ra-5, codeAt), codeAt + 4, 0, 0x10, 0, false},
		{"not in memory", callTo(ra-5, codeAt), 0x40000, 0, 0x10, 0, false},
	} {
		p := newCodeProcess()
		p.code(ra-uint64(len(tt.call)), tt.call)
		p.poke(slot, tt.held)
		start, ok := calledBefore(p.amd64Cursor(tt.pc), tt.ra, tt.pc)
		if ok != tt.want || ok && start != tt.start {
			t.Errorf("%s: got %#x, %v, want %#x, %v", tt.name, start, ok, tt.start, tt.want)
		}
	}
}

// A function that was followed from its start has its CFA by SP, or else by the frame
// pointer, and its return address where it was stored, or still in the register.
func TestFromEntry(t *testing.T) {
	cfa := func(off int64) arch.Rule { return arch.Rule{Base: arch.CFA, Off: off} }
	for _, tt := range []struct {
		name   string
		arch   *arch.Arch
		change func(p *state)
		want   string // "" if the caller is not known
	}{
		{"by SP", arch.AMD64, func(p *state) { p.sp = cfa(-24) }, "cfa=rsp+24 ra=*(c-8) fp=rbp"},
		{"by SP, rather than FP", arch.AMD64, func(p *state) { p.sp, p.fp = cfa(-24), cfa(-16) }, "cfa=rsp+24 ra=*(c-8) fp=u"},
		{"by FP", arch.AMD64, func(p *state) { p.sp, p.fp = arch.Rule{}, cfa(-16) }, "cfa=rbp+16 ra=*(c-8) fp=u"},
		{"by FP, which was saved", arch.AMD64, func(p *state) { p.sp, p.fp, p.moved[6] = arch.Rule{}, cfa(-16), arch.AtCFA(-16) }, "cfa=rbp+16 ra=*(c-8) fp=*(c-16)"},
		{"SP was loaded", arch.AMD64, func(p *state) { p.sp = arch.AtCFA(-24) }, ""},
		{"SP was loaded, but FP is known", arch.AMD64, func(p *state) { p.sp, p.fp = arch.AtCFA(-24), cfa(-16) }, "cfa=rbp+16 ra=*(c-8) fp=u"},
		{"both were loaded", arch.AMD64, func(p *state) { p.sp, p.fp = arch.AtCFA(-24), arch.AtCFA(-16) }, ""},
		{"neither is known", arch.AMD64, func(p *state) { p.sp, p.fp = arch.Rule{}, arch.Rule{} }, ""},
		{"FP was changed", arch.AMD64, func(p *state) { p.fp = arch.Rule{} }, "cfa=rsp+8 ra=*(c-8) fp=u"},
		{"registers were saved", arch.AMD64, func(p *state) { p.moved[3], p.moved[0] = arch.AtCFA(-16), arch.AtCFA(-24) }, "cfa=rsp+8 ra=*(c-8) fp=rbp rbx=*(c-16)"},
		{"a register was lost", arch.AMD64, func(p *state) { p.lost = arch.Set(3, 0) }, "cfa=rsp+8 ra=*(c-8) fp=rbp rbx=u"},
		{"FP was lost", arch.AMD64, func(p *state) { p.fp, p.lost = arch.Rule{}, arch.Set(6) }, "cfa=rsp+8 ra=*(c-8) fp=u"},
		{"a leaf", arch.AArch64, func(*state) {}, "cfa=sp ra=x30 fp=x29"},
		{"the link register was saved", arch.AArch64, func(p *state) { p.ra, p.moved[30] = arch.Rule{}, arch.AtCFA(-8) }, "cfa=sp ra=*(c-8) fp=x29"},
		{"the link register was changed", arch.AArch64, func(p *state) { p.ra = arch.Rule{} }, ""},
		{"the link register was saved elsewhere", arch.AArch64, func(p *state) { p.ra, p.moved[30] = arch.Rule{}, arch.AtReg(19, 0) }, ""},
	} {
		a := tt.arch
		p := state{sp: startValue(a, a.SP), fp: a.Entry.FP, ra: a.Entry.RA}
		tt.change(&p)
		s := &Stepper{extra: []arch.RegRule{{Reg: 1}, {Reg: 2}}} // of another row
		var row arch.Row
		if ok := s.fromEntry(&unwind.Cursor{Arch: a}, &p, &row); ok != (tt.want != "") || ok && (row.Format(a) != tt.want || !row.CalleeSaved) {
			t.Errorf("%s: got %v, %s; want %s", tt.name, ok, row.Format(a), tt.want)
		}
	}
}

// The stack of a new process has the number of arguments, then pointers to them and to
// the environment, and an auxiliary vector with the entry point of a program.
func TestStartsProcess(t *testing.T) {
	const at, str, entry = stackAt + 0x40, stackAt + 0x800, codeAt + 0x400
	whole := []uint64{2, str, str, 0, str, str, str, 0, 6, 4096, auxEntry, entry, 0, 0}
	with := func(i int, v uint64) []uint64 {
		words := append([]uint64(nil), whole...)
		words[i] = v
		return words
	}
	if auxEntry != 9 {
		t.Error("AT_ENTRY is 9")
	}
	long := append(append([]uint64{1, str, 0, 0}, make([]uint64, 2*63)...), 9, entry)
	for i := 4; i < 4+2*63; i++ {
		long[i] = 5
	}
	for _, tt := range []struct {
		name  string
		at    uint64
		words []uint64
		entry uint64 // of the module
		want  bool
	}{
		{"whole", at, whole, entry, true},
		{"one argument", at, []uint64{1, str, 0, 0, 9, entry}, entry, true},
		{"no arguments", at, []uint64{0, 0, 0, 9, entry}, entry, false},
		{"no arguments, where they would be", at, []uint64{0, 0, 0, 0, 9, entry}, entry, false},
		{"misaligned", at + 8, whole, entry, false},
		{"arguments without an end", at, with(3, str), entry, false},
		{"a return address among the arguments", at, with(2, codeAt+0x20), entry, false},
		{"a 0 among the arguments", at, with(2, 0), entry, false},
		{"an executable stack", at, whole, entry, true},
		{"an executable stack, and an argument below", at, with(2, stackAt), entry, false},
		{"an environment without a program behind it", at, with(11, codeAt), entry, false},
		{"an environment of nothing", at, []uint64{1, str, 0, 0, 6, 4096, 9, entry}, entry, true},
		{"the entry as another word", at, with(10, 3), entry, false},
		{"an end before the entry", at, with(8, 0), entry, false},
		{"no module", at, with(11, 0x90000), 0, false},
		{"a module without an entry", at, with(11, 0), 0, false},
		{"not in memory", stackAt + areaSize, nil, entry, false},
		{"64 words in the vector", at, long, entry, true},
		{"65 words in the vector", at, append(append(append([]uint64{1, str, 0, 0}, long[4:4+2*63]...), 5, 5), 9, entry), entry, false},
		{"cut off behind the environment", stackAt + areaSize - 32, []uint64{1, str, 0, 0}, entry, false},
		{"cut off in the vector", stackAt + areaSize - 48, []uint64{1, str, 0, str, 0, 9}, entry, false},
		{"cut off in the environment", stackAt + areaSize - 32, []uint64{1, str, 0, str}, entry, false},
		{"cut off in the arguments", stackAt + areaSize - 16, []uint64{1, str}, entry, false},
	} {
		p := newCodeProcess()
		p.module.Entry = tt.entry
		if tt.words != nil {
			p.poke(tt.at, tt.words...)
		}
		if tt.name == "no module" {
			p.module = nil
		}
		c := p.amd64Cursor(codeAt)
		if strings.HasPrefix(tt.name, "an executable stack") {
			executableStack(c)
		}
		if got := new(Stepper).startsProcess(c, tt.at); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
		if (&Stepper{work: maxCodeWork}).startsProcess(p.amd64Cursor(codeAt), tt.at) {
			t.Errorf("%s: found without the work for it", tt.name)
		}
	}
}

// The numbers of arguments and of variables are bounded: a stack of small numbers and
// pointers must not be read to its end each time.
func TestMostArguments(t *testing.T) {
	const at, entry, most = stackAt, codeAt + 0x400, 4096
	for _, tt := range []struct {
		args, env int
		want      bool
	}{{1, most - 1, true}, {1, most, false}, {most, 1, true}, {most + 1, 1, false}} {
		p := newCodeProcess()
		p.module.Entry = entry
		p.mem.Segs[stackAt] = make([]byte, 16*areaSize)
		words := []uint64{uint64(tt.args)}
		for range tt.args {
			words = append(words, dataAt)
		}
		words = append(words, 0)
		for range tt.env {
			words = append(words, dataAt)
		}
		words = append(words, 0, 9, entry)
		for i, w := range words {
			p.order().PutUint64(p.mem.Segs[stackAt][8*i:], w)
		}
		if got := new(Stepper).startsProcess(p.amd64Cursor(codeAt), at); got != tt.want {
			t.Errorf("%d arguments, %d variables: got %v", tt.args, tt.env, got)
		}
	}
}

// executableStack makes the stack executable.
func executableStack(c *unwind.Cursor) {
	find := c.Find
	c.Find = func(addr uint64) unwind.Place {
		if addr >= stackAt && addr < stackAt+areaSize {
			return unwind.Place{Lo: stackAt, Hi: stackAt + areaSize, Executable: true}
		}
		return find(addr)
	}
}

// Where a thread or the process begins, the first return address on the stack is the
// caller's, if the code there cannot return. On the way, the arguments of the process
// may come first.
func TestAtBase(t *testing.T) {
	const exit = "\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4" // mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall; hlt
	const ra, entry = codeAt + 0x105, codeAt + 0x400
	vector := []uint64{1, dataAt, 0, 0, 9, entry}
	for _, tt := range []struct {
		name   string
		sp     uint64
		stack  map[uint64][]uint64
		change func(p *process, c *unwind.Cursor)
		want   string // the row; "" if there is none
	}{
		{"a thread", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra}}, nil, "cfa=rsp+32 ra=*(c-8) fp=u"},
		{"at SP", stackAt + 8, map[uint64][]uint64{stackAt + 8: {ra}}, nil, "cfa=rsp+8 ra=*(c-8) fp=u"},
		{"SP misaligned", stackAt + 3, map[uint64][]uint64{stackAt + 0x18: {ra}}, nil, "cfa=rsp+29 ra=*(c-8) fp=u"},
		{"a signed address", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra | 0x55<<48}}, func(_ *process, c *unwind.Cursor) { c.PACMask = 0xff << 48 }, "cfa=rsp+32 ra=*(c-8) fp=u"},
		{"an address that only looks signed", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra | 0x55<<48}}, nil, ""},
		{"the last place", stackAt, map[uint64][]uint64{stackAt + 248: {ra}}, nil, "cfa=rsp+256 ra=*(c-8) fp=u"},
		{"farther", stackAt - 8, map[uint64][]uint64{stackAt + 248: {ra}}, nil, ""},
		{"no ABI has a frame there", stackAt, map[uint64][]uint64{stackAt + 0x10: {ra}}, nil, ""},
		{"the process", stackAt, map[uint64][]uint64{stackAt + 0x20: vector}, nil, "cfa=rsp+32 ra=u fp=u"},
		{"the process, at SP", stackAt + 0x20, map[uint64][]uint64{stackAt + 0x20: vector}, nil, "cfa=rsp ra=u fp=u"},
		{"a return address before the process", stackAt, map[uint64][]uint64{stackAt + 0x8: {ra}, stackAt + 0x20: vector}, nil, "cfa=rsp+16 ra=*(c-8) fp=u"},
		{"a return address below SP", stackAt + 0x18, map[uint64][]uint64{stackAt + 0x10: {ra, ra}}, nil, "cfa=rsp+8 ra=*(c-8) fp=u"},
		{"behind what cannot be read", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra}}, func(p *process, _ *unwind.Cursor) { p.mem.Faults = map[uint64]int{stackAt + 8: 0} }, ""},
		{"behind an address of code", stackAt, map[uint64][]uint64{stackAt + 0x8: {codeAt + 0x300}, stackAt + 0x18: {ra}}, nil, "cfa=rsp+32 ra=*(c-8) fp=u"},
		{"behind an address of no code", stackAt, map[uint64][]uint64{stackAt + 0x8: {0x90000}, stackAt + 0x18: {ra}}, nil, "cfa=rsp+32 ra=*(c-8) fp=u"},
		{"behind an address of code that is missing", stackAt, map[uint64][]uint64{stackAt + 0x8: {codeAt + 0x300}, stackAt + 0x20: vector}, func(_ *process, c *unwind.Cursor) {
			c.Code = &memreader.Words{R: &testkit.Memory{}}
		}, ""},
		{"behind a pointer up an executable stack", stackAt, map[uint64][]uint64{stackAt + 0x8: {stackAt + 0x100}, stackAt + 0x18: {ra}}, func(p *process, c *unwind.Cursor) {
			executableStack(c)
			c.Code = &memreader.Words{R: &testkit.Memory{Segs: map[uint64][]byte{codeAt: p.mem.Segs[codeAt]}}}
		}, "cfa=rsp+32 ra=*(c-8) fp=u"},
		{"called by the last instruction of the code", stackAt, map[uint64][]uint64{stackAt + 0x18: {codeAt + areaSize}}, func(p *process, _ *unwind.Cursor) {
			p.call(codeAt + areaSize - 5)
			p.module.Entry = codeAt + areaSize - 5
		}, "cfa=rsp+32 ra=*(c-8) fp=u"},
		{"the end of the stack", stackAt + areaSize - 16, nil, nil, ""},
		{"no code", stackAt, map[uint64][]uint64{stackAt + 0x18: {codeAt + areaSize + 0x100}}, nil, ""},
		{"no module", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra}}, func(_ *process, c *unwind.Cursor) { c.Module = nil }, ""},
		{"called by the first function", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra}}, func(p *process, _ *unwind.Cursor) { p.code(ra, "\xc3"); p.module.Entry = ra - 5 }, "cfa=rsp+32 ra=*(c-8) fp=u"},
		{"called behind the first function", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra}}, func(p *process, _ *unwind.Cursor) { p.code(ra, "\xc3"); p.module.Entry = ra - 81 }, ""},
		{"called at its end", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra}}, func(p *process, _ *unwind.Cursor) { p.code(ra, "\xc3"); p.module.Entry = ra - 80 }, "cfa=rsp+32 ra=*(c-8) fp=u"},
		{"called by code that returns", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra}}, func(p *process, _ *unwind.Cursor) { p.code(ra, addRet) }, ""},
		{"called by the process's first function", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra, 0, 0}, stackAt + 0x30: vector}, func(p *process, _ *unwind.Cursor) { p.code(ra, addRet) }, "cfa=rsp+32 ra=*(c-8) fp=u"},
		{"the same, where SP moves on", stackAt, map[uint64][]uint64{stackAt + 0x18: {ra, 0, 0}, stackAt + 0x40: vector}, func(p *process, _ *unwind.Cursor) { p.code(ra, addRet) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newCodeProcess()
			p.module.Entry = entry
			p.call(ra - 5)
			p.code(ra, exit)
			p.mem.Segs[stackAt-areaSize] = make([]byte, areaSize)
			for at, words := range tt.stack {
				p.poke(at, words...)
			}
			c := p.cursor(codeAt+0x10, p.regs(map[arch.Reg]uint64{16: codeAt + 0x10, 7: tt.sp}))
			if tt.change != nil {
				tt.change(p, c)
			}
			var row arch.Row
			found := new(Stepper).atBase(c, tt.sp, &row)
			if found != (tt.want != "") || found && (row.Format(p.arch) != tt.want || !row.Evaluated) {
				t.Errorf("got %v, %s, evaluated %v; want %s", found, row.Format(p.arch), row.Evaluated, tt.want)
			}
			if (&Stepper{work: maxCodeWork}).atBase(c, tt.sp, &row) {
				t.Error("found without the work for it")
			}
		})
	}
}

// The search of a stack is bounded in bytes, and in work over all frames.
func TestCalledByStackBounded(t *testing.T) {
	const start, scan = codeAt + 0x10, 16 << 10
	for _, tt := range []struct {
		name string
		at   uint64 // of the return address, from SP
		work int
		want bool
	}{
		{"near", 8, 0, true},
		{"the last word", scan - 8, 0, true},
		{"farther", scan, 0, false},
		{"no work left", 8, maxCodeWork, false},
		{"enough work left", 8, maxCodeWork - 2 - 2*followCost, true},
		{"not enough work left", 8, maxCodeWork - 1 - 2*followCost, false},
	} {
		p := newCodeProcess()
		p.mem.Segs[stackAt] = make([]byte, 8*areaSize)
		prologue := "\x48\x81\xec" + jump(0, tt.at+5)[1:] // sub $at,%rsp
		pc := p.code(start, prologue)
		ra := p.code(codeAt+0x100, callTo(codeAt+0x100, start))
		p.order().PutUint64(p.mem.Segs[stackAt][tt.at:], ra)
		s := &Stepper{work: tt.work}
		var row arch.Row
		if got := s.calledByStack(p.amd64Cursor(pc), stackAt, pc, &row); got != tt.want {
			t.Errorf("%s: got %v, %s", tt.name, got, row.Format(p.arch))
		}
		if tt.want && (row.CFA != arch.RegOffset(7, int64(tt.at)+8) || row.Followed != arch.FromCall) {
			t.Errorf("%s: got %s", tt.name, row.Format(p.arch))
		}
		if s.work <= tt.work {
			t.Errorf("%s: it counts as no work", tt.name)
		}
	}
}

// A path is bounded, and so are the routes that are remembered. A route that was
// followed is not followed again.
func TestRoutesBounded(t *testing.T) {
	const most = 8192
	p := newCodeProcess()
	p.mem.Segs[codeAt] = []byte(strings.Repeat("\x90", 16*areaSize))
	c := p.amd64Cursor(codeAt)
	for _, tt := range []struct {
		to   uint64
		want bool
	}{{codeAt, true}, {codeAt + 1, true}, {codeAt + most - 1, true}, {codeAt + most, false}} {
		if got := new(Stepper).fromStart(c, codeAt, tt.to); (got != nil) != tt.want || got != nil && got.at != tt.to {
			t.Errorf("%d instructions: got %+v", tt.to-codeAt, got)
		}
	}

	s := new(Stepper)
	first := s.fromStart(c, codeAt, codeAt+10)
	if s.work != 11*followCost {
		t.Errorf("11 instructions count as %d", s.work)
	}
	before := s.work
	if again := s.fromStart(c, codeAt, codeAt+10); again != first || s.work != before || first == nil {
		t.Errorf("the same route: got %p for %p, and %d more work", again, first, s.work-before)
	}
	if s.fromStart(c, codeAt+1, codeAt+10) == nil || s.work == before {
		t.Error("another route was not followed")
	}
	if n := len(s.routes); n != 2 {
		t.Errorf("got %d routes, want 2", n)
	}
	for i := range uint64(most - 2) {
		s.routes[route{from: 1 << 40, to: i}] = nil
	}
	s.fromStart(c, codeAt+2, codeAt+10)
	if n := len(s.routes); n != 1 {
		t.Errorf("got %d routes after %d, want 1", n, most)
	}

	// What was not followed to its end, because there was no work left, is not known.
	s = &Stepper{work: maxCodeWork - 5*followCost}
	if s.fromStart(c, codeAt, codeAt+10) != nil || len(s.routes) != 0 {
		t.Errorf("got %d routes without work for them", len(s.routes))
	}
}

// The instructions on all ways are followed once, and what comes behind a call last.
func TestSearchOrder(t *testing.T) {
	const loop = "\x74\xfe\x75\xfc\xeb\xfa" // je and jne to itself and back
	p := newCodeProcess()
	p.code(codeAt, loop)
	s := new(Stepper)
	if s.fromStart(p.amd64Cursor(codeAt), codeAt, codeAt+0x100) != nil || s.work > 20*followCost {
		t.Errorf("a loop of 3 instructions counts as %d", s.work)
	}
	// je to a call, behind which pc is; or on to pc.
	p.code(codeAt, "\x74\x03\x90\xeb\x05"+callTo(codeAt+5, codeAt+0x100))
	if got := s.fromStart(p.amd64Cursor(codeAt), codeAt, codeAt+10); got == nil || got.called {
		t.Errorf("got %+v, want the way without a call", got)
	}
	p.code(codeAt, "\x90\x90\x90\x90\x90"+callTo(codeAt+5, codeAt+0x100))
	if got := new(Stepper).fromStart(p.amd64Cursor(codeAt), codeAt, codeAt+10); got == nil || !got.called {
		t.Errorf("got %+v, want the way behind the call", got)
	}
	for name, code := range map[string]string{"no instruction": "\x06", "ud2": "\x0f\x0b", "hlt": "\xf4", "ret": "\xc3", "exit": "\x31\xc0\xb0\x3c\x0f\x05"} {
		p.code(codeAt+0x40, code+strings.Repeat("\x90", 16-len(code)))
		if got := new(Stepper).fromStart(p.amd64Cursor(codeAt), codeAt+0x40, codeAt+0x50); got != nil && name != "exit" {
			t.Errorf("%s: the code behind it was followed", name)
		}
	}
}
