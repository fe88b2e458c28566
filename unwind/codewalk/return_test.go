package codewalk

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/unwind"
)

// A function that returns leads to its caller, unless that cannot be one.
func TestReturns(t *testing.T) {
	const pc, far = codeAt + 0x10, codeAt + 0x205
	for _, tt := range []struct {
		name     string
		code     string
		call     string // before the return address
		ra       uint64
		at       uint64 // of the return address
		want     bool
		followed arch.Path
	}{
		{"a call by a register", addRet, "\x90\x90\x90\xff\xd0", far, stackAt + 8, true, arch.NoPath},
		{"a call of the function", addRet, callTo(far-5, pc), far, stackAt + 8, true, arch.FromCall},
		{"a call of a function before", addRet, callTo(far-5, pc-8), far, stackAt + 8, true, arch.NoPath},
		{"a call of a function behind", addRet, callTo(far-5, pc+8), far, stackAt + 8, false, 0},
		{"no return address", addRet, "", 0, stackAt + 8, false, 0},
		{"1 as a return address", addRet, "", 1, stackAt + 8, true, arch.NoPath},
		{"no ABI has the CFA there", "\xc3", "\x90\x90\x90\xff\xd0", far, stackAt, false, 0},
		{"no return", "\xf4", "\x90\x90\x90\xff\xd0", far, stackAt + 8, false, 0},
	} {
		p := newCodeProcess()
		p.code(pc-8, "\x06\x06\x06\x06\x06\x06\x06\x06"+tt.code)
		p.code(far-5, tt.call)
		p.poke(tt.at, tt.ra)
		var row arch.Row
		if got := new(Stepper).returns(p.amd64Cursor(pc), pc, false, &row); got != tt.want || got && row.Followed != tt.followed {
			t.Errorf("%s: got %v, %s, path %d", tt.name, got, row.Format(p.arch), row.Followed)
		}
	}
	// The place of the return address cannot be read.
	p := newCodeProcess()
	p.code(pc, addRet)
	c := p.cursor(pc, p.regs(map[arch.Reg]uint64{16: pc, 7: stackAt + areaSize - 8}))
	if new(Stepper).returns(c, pc, false, new(arch.Row)) {
		t.Error("a return address that cannot be read leads to a caller")
	}
	// SP is not known, but there is memory where it would be if it were 0.
	p.mem.Segs[1<<64-areaSize] = make([]byte, areaSize)
	ra := p.code(codeAt+0x200, "\x90\x90\x90\xff\xd0")
	p.order().PutUint64(p.mem.Segs[1<<64-areaSize][areaSize-8:], ra)
	p.code(pc, "\xc3")
	if new(Stepper).returns(p.cursor(pc, new(arch.Regs)), pc, false, new(arch.Row)) {
		t.Error("a frame without SP leads to a caller")
	}
	// Nothing returns, whatever another attempt left in the row.
	p.code(pc, "\xf4")
	p.poke(stackAt+8, ra)
	if new(Stepper).returns(p.amd64Cursor(pc), pc, false, &arch.Row{CFA: arch.RegOffset(7, 16), RA: arch.AtCFA(-8)}) {
		t.Error("code that does not return leads to a caller")
	}
	// A function that is too far away may still jump to pc, but was not followed.
	const distant = codeAt + 4*unwind.MaxUndescribed
	p.mem.Segs[distant] = []byte(jump(distant, pc) + strings.Repeat("\x06", 64))
	p.code(pc, addRet)
	p.code(codeAt+0x200, callTo(codeAt+0x200, distant))
	row := arch.Row{}
	if !new(Stepper).returns(p.amd64Cursor(pc), pc, false, &row) || row.Followed != arch.NoPath {
		t.Errorf("a call of a distant function: got %s, path %d", row.Format(p.arch), row.Followed)
	}
	if _, ok := calledBefore(p.amd64Cursor(pc), ra, pc); ok {
		t.Error("a distant function is near")
	}
	if new(Stepper).calledByStack(p.amd64Cursor(pc), stackAt+8, pc, &row) {
		t.Error("a call of a distant function led here")
	}
	if new(Stepper).calledByLR(p.amd64Cursor(pc), ra, pc, &row) {
		t.Error("a call of a distant function left its address in a register")
	}
}

// The way to a return needs to know where SP and the return address are there.
func TestToReturn(t *testing.T) {
	const pc = codeAt + 0x10
	for _, tt := range []struct {
		name string
		arch *arch.Arch
		code string
		inLR bool
		want string // "" if there is none
	}{
		{"ret", arch.AMD64, "\xc3", false, "cfa=rsp+8 ra=*(c-8) fp=rbp"},
		{"mov %rax,%rsp; ret", arch.AMD64, "\x48\x89\xc4\xc3", false, ""},
		{"hlt", arch.AMD64, "\xf4", false, ""},
		{"ret with the link register", arch.AArch64, insns(ret), true, "cfa=sp ra=x30 fp=x29"},
		{"ret without it", arch.AArch64, insns(ret), false, ""},
		{"ldp; ret", arch.AArch64, insns(ldpFrame, ret), false, "cfa=sp+32 ra=*(sp+8) fp=*(sp)"},
	} {
		p := newProcess(tt.arch)
		p.code(pc, tt.code)
		row := arch.Row{CFA: arch.RegOffset(1, 1)} // of another attempt
		got := new(Stepper).toReturn(p.cursor(pc, new(arch.Regs)), pc, tt.inLR, &row)
		if got != (tt.want != "") || got && row.Format(tt.arch) != tt.want {
			t.Errorf("%s: got %v, %s; want %s", tt.name, got, row.Format(tt.arch), tt.want)
		}
	}
}

// Code that takes the frame pointer's frame down leads to its caller: by leave and a
// return or a pop, or by loading the frame pointer, moving SP and jumping on.
func TestLeaves(t *testing.T) {
	const pc, load, add48 = codeAt + 0x10, "\x48\x8b\x6d\x00", "\x48\x83\xc4\x48"
	for _, tt := range []struct {
		name string
		code string
		want bool
	}{
		{"leave; ret", "\xc9\xc3", true},
		{"leave; pop", "\xc9\x59", true},
		{"leave; test; ret", "\xc9\x85\xc0\xc3", true},
		{"leave; jmp *%rcx", "\xc9\xff\xe1", false},
		{"leave; push; ret", "\xc9\x50\xc3", false},
		{"leave; push; pop; ret", "\xc9\x50\x58\xc3", false},
		{"endbr64; leave; ret", "\xf3\x0f\x1e\xfa\xc9\xc3", false},
		{"ret", "\xc3", false},
		{"pop; ret", "\x59\xc3", false},
		{"lea 8(%rbp),%rsp; ret", "\x48\x8d\x65\x08\xc3", false},
		{"lea 16(%rbp),%rsp; mov (%rbp),%rbp; sub $8,%rsp; ret", "\x48\x8d\x65\x10" + load + "\x48\x83\xec\x08\xc3", false},
		{"mov %rax,%rbp; leave; ret", "\x48\x89\xc5\xc9\xc3", false},
		{"mov (%rbp),%rbp; add $0x48,%rsp; jmp *%rcx", load + add48 + "\xff\xe1", true},
		{"mov (%rbp),%rbp; add $0x48,%rsp; no instruction", load + add48 + "\x06", false},
		{"mov (%rbp),%rbp; add $0x40,%rsp; jmp *%rcx", load + "\x48\x83\xc4\x40\xff\xe1", false},
		{"mov (%rbp),%rbp; mov %rax,%rsp; jmp *%rcx", load + "\x48\x89\xc4\xff\xe1", false},
		{"no instruction", "\x06", false},
	} {
		p := newCodeProcess()
		p.code(pc, tt.code+"\x06")
		c := p.cursor(pc, p.regs(map[arch.Reg]uint64{16: pc, 7: stackAt, 6: stackAt + 0x40}))
		row := arch.Row{}
		got := new(Stepper).leaves(c, pc, &row)
		if got != tt.want || got && row.Format(p.arch) != p.arch.FramePointer.Format(p.arch) {
			t.Errorf("%s: got %v, %s", tt.name, got, row.Format(p.arch))
		}
	}
	// SP has to be known to tell whether it gets to the frame.
	p := newCodeProcess()
	p.code(pc, load+add48+"\xff\xe1")
	for _, known := range []map[arch.Reg]uint64{{7: 1<<64 - 0x40}, {6: 0x40}} {
		if new(Stepper).leaves(p.cursor(pc, p.regs(known)), pc, new(arch.Row)) {
			t.Errorf("a frame of which only %v is known is left", known)
		}
	}
	// A back chain is no frame pointer.
	p = newProcess(arch.S390X)
	p.code(pc, s390(t, "e3f0 b008 0071 e3b0 b000 0004 07fe")) // lay %r15,8(%r11); lg %r11,0(%r11); br %r14
	if new(Stepper).leaves(p.cursor(pc, p.regs(map[arch.Reg]uint64{15: stackAt, 11: stackAt + 0x40})), pc, new(arch.Row)) {
		t.Error("a frame of s390x was left by its frame pointer")
	}
}

// Only words of a stack that is aligned are looked at, up to the end of its memory, and
// what another attempt left in the row does not count.
func TestCalledByStack(t *testing.T) {
	const start = codeAt + 0x10
	find := func(code string, sp, at uint64, change func(p *process)) bool {
		p := newCodeProcess()
		pc := p.code(start, code)
		p.code(pc, "\x06")
		ra := p.code(codeAt+0x100, callTo(codeAt+0x100, start))
		p.order().PutUint64(p.mem.Segs[stackAt][at-stackAt:], ra)
		if change != nil {
			change(p)
		}
		row := arch.Row{CFA: arch.RegOffset(7, int64(at-sp)+8), RA: arch.AtCFA(-8)} // of another attempt
		return new(Stepper).calledByStack(p.cursor(pc, p.regs(map[arch.Reg]uint64{7: sp})), sp, pc, &row)
	}
	const push2 = "\x53\x51"
	if !find(push2, stackAt, stackAt+16, nil) || !find(push2, stackAt+8, stackAt+24, nil) {
		t.Error("a return address was not found")
	}
	for n := uint64(1); n < 8; n++ {
		if find(push2, stackAt+n, stackAt+n+16, nil) {
			t.Errorf("a return address was found behind SP+%d", n)
		}
	}
	if find(push2, stackAt, stackAt+16, func(p *process) { p.mem.Faults = map[uint64]int{stackAt + 8: 0} }) {
		t.Error("a return address was found behind what cannot be read")
	}
	if find("\x53\xc3\x51", stackAt, stackAt+16, nil) {
		t.Error("the code does not lead here")
	}
	if find(push2, stackAt, stackAt+24, nil) {
		t.Error("the code puts the return address elsewhere")
	}
}

// A function that called has its own pc in the link register, which tells nothing. If
// the register holds something else, the thread did not begin here.
func TestRowWithLinkRegister(t *testing.T) {
	const start, pc, caller = codeAt + 0x10, codeAt + 0x24, codeAt + 0x100
	a := arch.AArch64
	for _, tt := range []struct {
		name string
		lr   uint64
		base bool // whether the caller ends the thread
		want bool
	}{
		{"the way around a call of itself", pc, false, false},
		{"the base of a stack", pc, true, true},
		{"the base of a stack, but something in the register", dataAt, true, false},
	} {
		p := newLinkProcess(a)
		p.code(start, insns(b(start, pc)))
		p.code(pc-4, insns(bl(pc-4, start), brk))
		if tt.base {
			ra := p.code(caller, insns(blrX1))
			p.code(ra, insns(movExit, svc))
			p.poke(stackAt+8, ra)
		}
		c := p.cursor(pc, p.regs(map[arch.Reg]uint64{a.PC: pc, a.SP: stackAt, a.LR: tt.lr, a.FP: 0}))
		var row arch.Row
		if got, err := new(Stepper).Row(c, &row); got != tt.want || err != nil {
			t.Errorf("%s: got %v, %s, %v", tt.name, got, row.Format(a), err)
		}
	}
}

// The first function of a process has no caller, whatever its return address is.
func TestReturnsToNoProcess(t *testing.T) {
	const pc, entry = codeAt + 0x10, codeAt + 0x400
	p := newCodeProcess()
	p.module.Entry = entry
	p.code(pc, addRet)
	p.poke(stackAt+8, 0, 1, dataAt, 0, 0, 9, entry)
	var row arch.Row
	if !new(Stepper).returns(p.amd64Cursor(pc), pc, false, &row) || row.Format(p.arch) != "cfa=rsp+16 ra=u fp=u" || !row.Evaluated {
		t.Errorf("got %s, evaluated %v", row.Format(p.arch), row.Evaluated)
	}
}

// The link register leads to a caller only if a call is before the address in it, and
// the code from its target on left it there.
func TestCalledByLR(t *testing.T) {
	const start, pc, call = codeAt + 0x10, codeAt + 0x14, codeAt + 0x100
	for _, tt := range []struct {
		name string
		code []uint32 // from start on
		call uint32
		want bool
	}{
		{"a leaf", []uint32{nop}, bl(call, start), true},
		{"the register was saved", []uint32{pushLink}, bl(call, start), false},
		{"the register was changed", []uint32{clearLink}, bl(call, start), false},
		{"SP was changed", []uint32{subSPx1}, bl(call, start), false},
		{"the code does not get there", []uint32{ret}, bl(call, start), false},
		{"a call of another function", []uint32{nop}, bl(call, start+0x40), false},
		{"a call by a register", []uint32{nop}, blrX1, false},
		{"no call", []uint32{nop}, nop, false},
	} {
		p := newLinkProcess(arch.AArch64)
		a := p.arch
		p.code(start, insns(append(tt.code, nop)...))
		lr := p.code(call, insns(tt.call))
		c := p.cursor(pc, p.regs(map[arch.Reg]uint64{a.PC: pc, a.SP: stackAt, a.LR: lr}))
		var row arch.Row
		if got := new(Stepper).calledByLR(c, lr, pc, &row); got != tt.want || got && row.Followed != arch.FromCall {
			t.Errorf("%s: got %v, %s", tt.name, got, row.Format(a))
		}
	}
}

// A jump to an address in a register or in memory is one; other instructions, and none,
// are not.
func TestJumpsOn(t *testing.T) {
	p := newCodeProcess()
	for code, want := range map[string]bool{"\xff\xe0": true, "\xff\x23": true, "\xeb\x00": false, "\xc3": false, "\xf4": false} {
		p.code(codeAt, code)
		if got := new(Stepper).jumpsOn(p.amd64Cursor(codeAt), codeAt); got != want {
			t.Errorf("% x: got %v", code, got)
		}
	}
	if new(Stepper).jumpsOn(p.amd64Cursor(codeAt), 0x40000) {
		t.Error("there is a jump where no code is")
	}
}

// What code of an architecture knows of its registers at the start of a function.
func TestStartValue(t *testing.T) {
	for _, tt := range []struct {
		arch *arch.Arch
		reg  arch.Reg
		want string
	}{
		{arch.AMD64, 7, "c-8"},
		{arch.AMD64, 6, "rbp"},
		{arch.AMD64, 3, "rbx"},
		{arch.AArch64, 31, "c+0"},
		{arch.AArch64, 30, "x30"},
		{arch.AArch64, 29, "x29"},
		{arch.S390X, 15, "c-160"},
		{arch.S390X, 14, "r14"},
	} {
		if rule := startValue(tt.arch, tt.reg); rule.Format(tt.arch) != tt.want {
			t.Errorf("%s, %d: got %s, want %s", tt.arch.Name, tt.reg, rule.Format(tt.arch), tt.want)
		}
	}
}

// A value in terms of SP, FP and the link register is one in terms of what these are.
// What was loaded cannot be loaded from again.
func TestValue(t *testing.T) {
	a := arch.AArch64
	p := state{sp: arch.Rule{Base: arch.CFA, Off: -32}, fp: arch.AtReg(31, 16), ra: arch.Rule{}}
	for _, tt := range []struct{ of, want arch.Rule }{
		{arch.SameValue(a.SP), arch.Rule{Base: arch.CFA, Off: -32}},
		{arch.RegOffset(a.SP, 8), arch.Rule{Base: arch.CFA, Off: -24}},
		{arch.AtReg(a.SP, 8), arch.AtCFA(-24)},
		{arch.SameValue(a.FP), arch.AtReg(31, 16)},
		{arch.RegOffset(a.FP, 8), arch.Rule{}},
		{arch.AtReg(a.FP, 0), arch.Rule{}},
		{arch.SameValue(a.LR), arch.Rule{}},
		{arch.RegOffset(a.LR, 8), arch.Rule{}},
		{arch.SameValue(19), arch.SameValue(19)},
		{arch.AtReg(19, 8), arch.AtReg(19, 8)},
		{arch.Rule{}, arch.Rule{}},
		{arch.Rule{Reg: a.SP}, arch.Rule{}},
	} {
		if got := p.value(a, tt.of); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.of.Format(a), got.Format(a), tt.want.Format(a))
		}
	}
}

// The stepper needs PC and SP, and does not look at the program's first function, or at
// the link register of a frame that called.
func TestRow(t *testing.T) {
	const pc = codeAt + 0x10
	for _, tt := range []struct {
		name   string
		forget []arch.Reg
		entry  uint64
		want   bool
	}{
		{"both", nil, 0, true},
		{"no SP", []arch.Reg{7}, 0, false},
		{"no PC", []arch.Reg{16}, 0, false},
		{"neither", []arch.Reg{7, 16}, 0, false},
		{"the first function", nil, pc, false},
	} {
		p := newCodeProcess()
		p.module.Entry = tt.entry
		p.code(pc, addRet)
		p.poke(stackAt+8, p.code(codeAt+0x200, "\x90\x90\x90\xff\xd0"))
		c := p.amd64Cursor(pc)
		for _, r := range tt.forget {
			c.Regs.Forget(r)
		}
		if got, err := new(Stepper).Row(c, new(arch.Row)); got != tt.want || err != nil {
			t.Errorf("%s: got %v, %v", tt.name, got, err)
		}
	}
	if new(Stepper).Method() != unwind.Code {
		t.Error("the method is not that of code")
	}
}
