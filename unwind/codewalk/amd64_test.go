package codewalk

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/unwind"
)

// callTo returns a call of five bytes from one address to another.
func callTo(from, to uint64) string { return "\xe8" + jump(from, to)[1:] }

// newCodeProcess returns a process whose code is that of a module without
// tables.
func newCodeProcess() *process {
	p := newProcess(arch.AMD64)
	p.module = new(unwind.Module)
	p.steps = []unwind.Stepper{p.rows, new(Stepper)}
	return p
}

// A function that no table describes is left by its code. Its frame is that of
// rustc's main: it begins at codeAt+0x10, calls at +0x14, and the return
// address is 16 bytes above SP.
func TestCode(t *testing.T) {
	const start, pc, caller = codeAt + 0x10, codeAt + 0x19, codeAt + 0x100
	tests := []struct {
		name   string
		code   string // from pc on
		call   string // before the return address
		frame  uint64 // where that is, from SP
		rbx    uint64 // that the caller has; the frame has 3 at SP, 4 above
		damage func(*process, *arch.Regs)
		want   bool
	}{
		{name: "pop; ret", code: "\x59\xc3", frame: 8, rbx: 0xb, want: true},
		{name: "add $8,%rsp; ret", code: "\x48\x83\xc4\x08\xc3", frame: 8, rbx: 0xb, want: true},
		{name: "sub $-0x80,%rsp; lea 8(%rsp),%rsp; ret", code: "\x48\x83\xec\x80\x48\x8d\x64\x24\x08\xc3", frame: 0x88, rbx: 0xb, want: true},
		{name: "pop %rax; pop %rbx; pop %rcx; ret", code: "\x58\x5b\x59\xc3", frame: 24, rbx: 4, want: true},
		{name: "leave; ret", code: "\xc9\xc3", frame: 0x48, rbx: 0xb, want: true},
		{name: "lea -8(%rbp),%rsp; pop %rbx; pop %rbp; ret", code: "\x48\x8d\x65\xf8\x5b\x5d\xc3", frame: 0x48, rbx: 0x77, want: true},
		{name: "mov 8(%rsp),%rbx; add $24,%rsp; ret", code: "\x48\x8b\x5c\x24\x08\x48\x83\xc4\x18\xc3", frame: 24, rbx: 4, want: true},
		{name: "mov -8(%rbp),%rbx; leave; ret", code: "\x48\x8b\x5d\xf8\xc9\xc3", frame: 0x48, rbx: 0x77, want: true},
		{name: "mov %rax,%rbx; mov (%rsp),%rbx; pop; ret", code: "\x48\x89\xc3\x48\x8b\x1c\x24\x59\xc3", frame: 8, rbx: 3, want: true},
		{name: "mov (%rax),%rbx; pop; ret", code: "\x48\x8b\x18\x59\xc3", frame: 8, rbx: 0, want: true},
		{name: "call; test; je; jmp; pop; ret", code: "\xe8\x00\x00\x00\x00\x85\xc0\x74\x02\xeb\x02\x0f\x0b\x59\xc3", frame: 8, rbx: 0xb, want: true},
		{name: "mov %rsp,%rdi; pop; ret", code: "\x48\x89\xe7\x59\xc3", frame: 8, rbx: 0xb, want: true},
		{name: "an indirect call", code: "\x59\xc3", call: "\x90\x90\x90\xff\xd0", frame: 8, rbx: 0xb, want: true},

		{name: "no call", code: "\x59\xc3", call: "\x90\x90\x90\x90\x90", frame: 8},
		{name: "a call elsewhere", code: "\x59\xc3", call: callTo(caller, codeAt+0x800), frame: 8},
		{name: "a call to what is far before", code: "\x59\xc3", call: callTo(caller, start-unwind.MaxUndescribed), frame: 8},
		{name: "no ABI has the CFA there", code: "\xc3", call: "\x90\x90\x90\xff\xd0", frame: 0},
		{name: "ud2", code: "\x0f\x0b\x59\xc3", frame: 8},
		{name: "hlt", code: "\xf4\x59\xc3", frame: 8},
		{name: "the next function", code: "\xf3\x0f\x1e\xfa\x59\xc3", frame: 8},
		{name: "push", code: "\x50\x59\x59\xc3", frame: 8},
		{name: "sub $16,%rsp", code: "\x48\x83\xec\x10\x48\x83\xc4\x18\xc3", frame: 8},
		{name: "and $-16,%rsp", code: "\x48\x83\xe4\xf0\x59\xc3", frame: 8},
		{name: "pop %rsp", code: "\x5c\xc3", frame: 8},
		{name: "mov %rax,%rsp", code: "\x48\x89\xc4\x59\xc3", frame: 8},
		{name: "xchg %rax,%rsp", code: "\x48\x94\x59\xc3", frame: 8},
		{name: "pop %rbp; leave", code: "\x5d\xc9\xc3", frame: 0x48},
		{name: "mov %rax,%rbp", code: "\x48\x89\xc5\x59\xc3", frame: 8, rbx: 0xb, want: true},
		{name: "push %rax; leave; ret", code: "\x50\xc9\xc3", frame: 0x48, want: true},
		{name: "push %rax; leave; test; pop %rcx; jmp *%rcx", code: "\x50\xc9\x85\xc0\x59\xff\xe1", frame: 0x48, want: true},
		{name: "mov (%rbp),%rbp; add $0x48,%rsp; jmp *%rcx", code: "\x48\x8b\x6d\x00\x48\x83\xc4\x48\xff\xe1", frame: 0x48, want: true},
		{name: "mov (%rbp),%rbp; add $0x50,%rsp; jmp *%rcx", code: "\x48\x8b\x6d\x00\x48\x83\xc4\x50\xff\xe1", frame: 0x48},
		{name: "add $0x48,%rsp; jmp *%rcx", code: "\x48\x83\xc4\x48\xff\xe1", frame: 0x48},
		{name: "mov (%rbp),%rbp; add $0x48,%rsp; hlt", code: "\x48\x8b\x6d\x00\x48\x83\xc4\x48\xf4", frame: 0x48},
		{name: "push %rax; leave; lea -8(%r10),%rsp; ret", code: "\x50\xc9\x49\x8d\x62\xf8\xc3", frame: 0x48},
		{name: "push %rax; mov %rax,%rbp; leave; ret", code: "\x50\x48\x89\xc5\xc9\xc3", frame: 0x48},
		{name: "jmp *%rax", code: "\xff\xe0\x59\xc3", frame: 8},
		{name: "jmp to itself", code: "\xeb\xfe\x59\xc3", frame: 8},
		{name: "no instruction", code: "\x06\x59\xc3", frame: 8},
		{
			name: "in no module", code: "\x59\xc3", frame: 8, rbx: 0xb, want: true,
			damage: func(p *process, _ *arch.Regs) { p.module = nil },
		},
		{
			name: "in the program's first function", code: "\x59\xc3", frame: 8,
			damage: func(p *process, _ *arch.Regs) { p.module.Entry = start },
		},
		{
			name: "a table has a row", code: "\x59\xc3", frame: 8,
			damage: func(p *process, _ *arch.Regs) {
				p.rows[pc-1] = arch.Row{CFA: arch.RegOffset(7, 0x100), RA: arch.AtCFA(-8)}
				p.poke(stackAt+0xf8, 0xdead)
			},
		},
		{name: "SP is not known", code: "\x59\xc3", frame: 8, damage: func(_ *process, r *arch.Regs) { r.Forget(7) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newCodeProcess()
			p.code(pc, tt.code)
			trust := unwind.Guess
			if tt.call == "" {
				tt.call, trust = callTo(caller, start), unwind.Checked // by the call of the very function
			}
			ra := p.code(caller, tt.call)
			p.rows[ra-1] = arch.Row{}
			p.poke(stackAt, 3, 4)
			p.poke(stackAt+0x38, 0x77, 0xbb)
			p.poke(stackAt+tt.frame, ra)
			// The frame is an inner one's caller, so that its pc is a return address.
			const inner = codeAt + 0x600
			p.rows[inner] = arch.Row{CFA: arch.RegOffset(7, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(6), CalleeSaved: true}
			p.code(pc-5, callTo(pc-5, inner))
			p.mem.Segs[stackAt-areaSize] = make([]byte, areaSize)
			p.poke(stackAt-8, pc)
			regs := p.regs(map[arch.Reg]uint64{p.arch.PC: inner, 7: stackAt - 8, 6: stackAt + 0x40, 3: 0xb})
			if tt.damage != nil {
				tt.damage(p, regs)
			}
			frames, stop := p.unwinder().Unwind(nil, regs)
			if !tt.want {
				if len(frames) > 2 || stop.Complete() && p.module.Entry == 0 {
					t.Errorf("got %d frames, %v (%v); want at most 2, not complete", len(frames), stop.Reason, stop.Detail)
				}
				return
			}
			if len(frames) != 3 || frames[2].PC != ra || frames[2].Method != unwind.Code {
				t.Fatalf("got %d frames, %v (%v); want 3, the last by code", len(frames), stop.Reason, stop.Detail)
			}
			if frames[2].Trust != trust {
				t.Errorf("got trust %v (%v), want %v", frames[2].Trust, frames[2].Evidence, trust)
			}
			if rbx, _ := frames[2].Regs.Get(3); rbx != tt.rbx || frames[1].CFA != stackAt+tt.frame+8 {
				t.Errorf("got rbx %#x, CFA %#x; want %#x, %#x", rbx, frames[1].CFA, tt.rbx, stackAt+tt.frame+8)
			}
		})
	}
}

// The function that the first one of a thread calls by a pointer does not return
// there: musl's start ends with a call of pthread_exit. The return address is
// found where no other is before it, if the code there ends the thread or is the
// program's first.
func TestCodeAtBase(t *testing.T) {
	const (
		pc, caller, other = codeAt + 0x10, codeAt + 0x100, codeAt + 0x200
		exit              = "\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4" // mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall; hlt
	)
	tests := []struct {
		name   string
		after  string // behind the call in the caller
		at     uint64 // where the return address is, from SP
		damage func(*process)
		want   bool
	}{
		{name: "clone", after: exit, at: 0x18, want: true},
		{name: "_start", after: "\xc3", at: 0x18, damage: func(p *process) { p.module.Entry = caller - 0x10 }, want: true},
		{name: "returns", after: "\xc3", at: 0x18},
		{name: "exit; ret", after: exit[:8] + "\xc3", at: 0x18},
		{name: "call; hlt", after: "\xe8\x00\x00\x00\x00\xf4", at: 0x18},
		{name: "two system calls", after: "\x0f\x05\x0f\x05\xf4", at: 0x18},
		{name: "je", after: "\x74\x00" + exit, at: 0x18},
		{name: "no ABI has the CFA there", after: exit, at: 0x10},
		{name: "another return address is nearer", after: exit, at: 0x18, damage: func(p *process) { p.poke(stackAt+8, p.call(other)) }},
		{name: "in data", after: exit, at: 0x18, want: true, damage: func(p *process) {
			p.poke(dataAt+0x20, 0x13ff)
			p.poke(stackAt+8, dataAt+0x22)
		}},
		{name: "far", after: exit, at: maxBase + 8},
		{name: "in no module", after: exit, at: 0x18, damage: func(p *process) { p.module = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newCodeProcess()
			p.code(pc, "\x48\x89\xc7\xe8\x00\x00\x00\x00\x48\x83\xec\x10\xc3") // mov %rax,%rdi; call; the next function
			ra := p.code(caller, "\xff\x13")                                   // call *(%rbx)
			p.code(ra, tt.after)
			p.poke(stackAt, 0, dataAt, 1)
			p.poke(stackAt+tt.at, ra)
			if tt.damage != nil {
				tt.damage(p)
			}
			frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{p.arch.PC: pc, 7: stackAt}))
			if tt.want != stop.Complete() || tt.want != (len(frames) == 2) {
				t.Fatalf("got %d frames, %v (%v)", len(frames), stop.Reason, stop.Detail)
			}
			if tt.want && (frames[1].PC != ra || frames[1].Trust != unwind.Guess || frames[0].CFA != stackAt+0x20) {
				t.Errorf("got %#x with trust %v, CFA %#x", frames[1].PC, frames[1].Trust, frames[0].CFA)
			}
		})
	}
}

// A call from another module goes by a slot.
func TestCodeSlot(t *testing.T) {
	const start, pc, caller, entry, slot = codeAt + 0x10, codeAt + 0x19, codeAt + 0x100, codeAt + 0x200, dataAt + 0x10
	plt := "\xff\x25" + jump(entry+1, slot)[1:] // jmp *slot(%rip)
	for _, call := range []string{
		callTo(caller, entry),
		"\xff\x15" + jump(caller+1, slot)[1:], // call *slot(%rip)
	} {
		for _, to := range []uint64{start, codeAt + 0x800} {
			p := newCodeProcess()
			p.code(start, "\x50\xe8\x00\x00\x00\x00\x0f\x1f\x00\x0f\x0b") // push; call; nop; ud2: only its start tells
			p.code(entry, plt)
			p.poke(slot, to)
			ra := p.code(caller, call)
			p.rows[ra-1] = arch.Row{}
			p.poke(stackAt, 3, ra)
			frames, _ := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{p.arch.PC: pc, 7: stackAt}))
			if found := len(frames) == 2 && frames[1].PC == ra; found != (to == start) {
				t.Errorf("%x to %#x: got %d frames", call, to, len(frames))
			}
		}
	}
}

// Code that is being executed returns to where its instructions lead, from the start
// of the function on, as long as it calls nothing.
func TestCodeExact(t *testing.T) {
	const pc, indirect = codeAt + 0x10, "\x90\x90\x90\xff\xd0"
	for name, tt := range map[string]struct {
		code  string
		rbp   uint64
		trust unwind.Trust
		want  bool
	}{
		"push %rbp; mov; pop; ret":       {"\x55\x48\x89\xe5\x5d\xc3", 0xf0f0, unwind.Checked, true},
		"endbr64; push; mov; leave; ret": {"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xc9\xc3", 0xf0f0, unwind.Checked, true},
		"push %rbp; pop %rax; ret":       {"\x55\x58\xc3", 0xf0f0, unwind.Checked, true},
		"push; push; pop %rbp; pop; ret": {"\x55\x53\x5d\x5b\xc3", 0, unwind.Checked, true},
		"push; call; pop; ret":           {"\x55\xe8\x00\x01\x00\x00\x5d\xc3", 0xf0f0, unwind.Guess, true},
		"call; push; pop; ret":           {"\xe8\x00\x01\x00\x00\x55\x5d\xc3", 0, unwind.Guess, false},
		"push; jmp *%rax":                {"\x55\xff\xe0", 0, unwind.Guess, false},
		"push; mov %rax,%rsp; pop; ret":  {"\x55\x48\x89\xc4\x5d\xc3", 0, unwind.Guess, false},
	} {
		p := newCodeProcess()
		p.code(pc, tt.code)
		ra := p.code(codeAt+0x400, indirect)
		p.rows[ra-1] = arch.Row{}
		p.poke(stackAt+8, ra, 3)
		frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{p.arch.PC: pc, 7: stackAt + 8, 6: 0xf0f0}))
		if !tt.want {
			if len(frames) != 1 {
				t.Errorf("%s: got %d frames, want 1", name, len(frames))
			}
			continue
		}
		if len(frames) != 2 || frames[1].PC != ra || frames[1].Method != unwind.Code || frames[1].Trust != tt.trust {
			t.Errorf("%s: got %d frames, %v; the last %+v", name, len(frames), stop, frames[len(frames)-1])
			continue
		}
		if rbp, _ := frames[1].Regs.Get(6); rbp != tt.rbp {
			t.Errorf("%s: got rbp %#x, want %#x", name, rbp, tt.rbp)
		}
	}
}

// Generated code may have been jumped to from where no call is, by code that
// keeps a frame pointer.
func TestCodeGenerated(t *testing.T) {
	const pc, noCall = codeAt + 0x10, codeAt + 0x80
	for _, chain := range []bool{true, false} {
		p := newCodeProcess()
		p.module = nil
		p.steps = append(p.steps, unwind.NewFramePointer())
		p.code(pc, "\x59\xc3") // pop %rcx; ret
		ra := p.call(codeAt + 0x100)
		p.poke(stackAt, 3, noCall)
		p.poke(stackAt+0x40, 0, ra)
		regs := p.regs(map[arch.Reg]uint64{p.arch.PC: pc, 7: stackAt, 6: stackAt + 0x40})
		want := 3
		if !chain {
			p.poke(stackAt+0x48, dataAt)
			want = 1
		}
		frames, stop := p.unwinder().Unwind(nil, regs)
		if len(frames) != want || stop.Complete() != chain {
			t.Fatalf("chain %v: got %d frames, %v (%v), want %d", chain, len(frames), stop.Reason, stop.Detail, want)
		}
		if chain && (frames[1].PC != noCall || frames[1].Method != unwind.Code || frames[1].Trust != unwind.Guess) {
			t.Errorf("got %#x by %v, %v, want %#x, a guess by code", frames[1].PC, frames[1].Method, frames[1].Trust, uint64(noCall))
		}
	}
}

// A function that does not return is left by the code before pc, if a direct
// call led there. pc is exact, in front of ud2.
func TestCodeFromStart(t *testing.T) {
	const start, other, caller = codeAt + 0x10, codeAt + 0x300, codeAt + 0x100
	tests := []struct {
		name  string
		code  string // from start to pc
		call  uint64 // where the call goes
		more  map[uint64]string
		frame uint64 // where the return address is, from SP
		rbp   uint64 // that the caller has; the frame has 3, 4, 5, ... at SP
		rbx   uint64
		want  bool
	}{
		{name: "nothing", call: start, frame: 0, rbp: stackAt + 0x40, rbx: 0xb, want: true},
		{name: "endbr64; push %rbx; sub $16,%rsp", code: "\xf3\x0f\x1e\xfa\x53\x48\x83\xec\x10", call: start, frame: 24, rbp: stackAt + 0x40, rbx: 5, want: true},
		{name: "push %rbp; mov %rsp,%rbp; push %rbx; and $-32,%rsp", code: "\x55\x48\x89\xe5\x53\x48\x83\xe4\xe0", call: start, frame: 0x48, rbp: 11, rbx: 10, want: true},
		{name: "push %rbp; push %rbx; xor %ebp,%ebp", code: "\x55\x53\x31\xed", call: start, frame: 16, rbp: 4, rbx: 3, want: true},
		{name: "push %rbx; je; pop %rbx; ret; push %rcx", code: "\x53\x74\x02\x5b\xc3\x51", call: start, frame: 16, rbp: stackAt + 0x40, rbx: 4, want: true},
		{name: "push %rbx; pop %rbx", code: "\x53\x5b", call: start, frame: 0, rbp: stackAt + 0x40, rbx: 0xb, want: true},
		{name: "a tail call", code: "\x53", call: other, more: map[uint64]string{other: "\x51\x59" + jump(other+2, start)}, frame: 8, rbp: stackAt + 0x40, rbx: 3, want: true},

		{name: "another depth", code: "\x53", call: start, frame: 16},
		{name: "a call elsewhere", code: "\x53", call: other, frame: 8},
		{name: "a call that does not lead there", code: "\x53\x0f\x0b", call: start, frame: 8},
		{name: "and $-16,%rsp", code: "\x48\x83\xe4\xf0", call: start, frame: 0},
		{name: "mov %rax,%rsp", code: "\x48\x89\xc4", call: start, frame: 0},
		{name: "xchg %rax,%rsp", code: "\x48\x94", call: start, frame: 0},
		{name: "jmp *%rax", code: "\xff\xe0", call: start, frame: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newCodeProcess()
			pc := p.code(start, tt.code)
			p.code(pc, "\x0f\x0b")
			p.code(other, "\x0f\x0b")
			for at, code := range tt.more {
				p.code(at, code)
			}
			ra := p.code(caller, callTo(caller, tt.call))
			p.rows[ra-1] = arch.Row{}
			p.poke(stackAt, 3, 4, 5, 6, 7, 8, 9, 10, 11)
			p.poke(stackAt+tt.frame, ra)
			regs := p.regs(map[arch.Reg]uint64{p.arch.PC: pc, 7: stackAt, 6: stackAt + 0x40, 3: 0xb})
			frames, stop := p.unwinder().Unwind(nil, regs)
			if !tt.want {
				ledNowhere(t, frames, stop)
				return
			}
			ledTo(t, ra, unwind.Checked, frames, stop)
			rbx, _ := frames[1].Regs.Get(3)
			rbp, _ := frames[1].Regs.Get(6)
			if cfa := frames[0].CFA; cfa != stackAt+tt.frame+8 || rbx != tt.rbx || rbp != tt.rbp {
				t.Errorf("got CFA %#x, rbx %#x, rbp %#x; want %#x, %#x, %#x", cfa, rbx, rbp, stackAt+tt.frame+8, tt.rbx, tt.rbp)
			}
		})
	}
}

// ledTo checks that a walk led to one caller by code.
func ledTo(t *testing.T, ra uint64, trust unwind.Trust, frames []unwind.Frame, stop unwind.Stop) {
	t.Helper()
	if len(frames) != 2 || frames[1].PC != ra || frames[1].Method != unwind.Code {
		t.Fatalf("got %d frames, %v (%v); want 2, the last by code, at %#x", len(frames), stop.Reason, stop.Detail, ra)
	}
	if frames[1].Trust != trust {
		t.Errorf("got trust %v (%v), want %v", frames[1].Trust, frames[1].Evidence, trust)
	}
}

// confirmed returns the trust that a frame found by code may have: what confirms the
// instructions makes it checked.
func confirmed(f *unwind.Frame) unwind.Trust {
	if f.Evidence&(unwind.Agreed|unwind.CalledHere|unwind.Returns) != 0 {
		return unwind.Checked
	}
	return unwind.Guess
}

// ledNowhere checks that a walk found no caller and did not take that for the end.
func ledNowhere(t *testing.T, frames []unwind.Frame, stop unwind.Stop) {
	t.Helper()
	if len(frames) != 1 || stop.Complete() {
		t.Errorf("got %d frames, %v (%v); want 1, not complete", len(frames), stop.Reason, stop.Detail)
	}
}

// The work for all frames of an Unwinder is bounded.
func TestCodeBounded(t *testing.T) {
	p := newCodeProcess()
	p.code(codeAt, "\x59\xc3")
	p.poke(stackAt+8, dataAt)
	s := &Stepper{work: maxCodeWork}
	regs := p.regs(map[arch.Reg]uint64{p.arch.PC: codeAt, 7: stackAt})
	if ok, err := s.Row(p.cursor(codeAt, regs), new(arch.Row)); ok || err != nil {
		t.Errorf("got %v, %v without looking", ok, err)
	}
	s.work = 0
	if ok, _ := s.Row(p.cursor(codeAt, regs), new(arch.Row)); !ok {
		t.Error("nothing was found")
	}
}

// What looks like the arguments of a process is read as far as the work allows.
func TestStartsProcessBounded(t *testing.T) {
	p := newCodeProcess()
	p.poke(stackAt, 1, stackAt, 0)
	for i := range uint64(100) {
		p.poke(stackAt+24+8*i, stackAt)
	}
	s := new(Stepper)
	s.startsProcess(p.cursor(codeAt, nil), stackAt)
	if s.work < 100 {
		t.Errorf("reading 100 words counts as %d", s.work)
	}
	if s.work = maxCodeWork; s.startsProcess(p.cursor(codeAt, nil), stackAt) || s.work > maxCodeWork+1 {
		t.Errorf("got %d, want to stop at %d", s.work, maxCodeWork)
	}
}

// Code at the end of what is mapped is read as far as it goes.
func TestCodeAtEnd(t *testing.T) {
	p := newCodeProcess()
	const end = codeAt + areaSize - 2
	p.code(end, "\x59\xc3")
	p.poke(stackAt+8, dataAt)
	s := new(Stepper)
	regs := p.regs(map[arch.Reg]uint64{p.arch.PC: end, 7: stackAt})
	if ok, _ := s.Row(p.cursor(end, regs), new(arch.Row)); !ok {
		t.Error("nothing was found")
	}
	const leaves = "\x48\x8b\x6d\x00\x48\x83\xc4\x48" // mov (%rbp),%rbp; add $0x48,%rsp
	const at = uint64(codeAt + areaSize - len(leaves))
	p.code(at, leaves)
	regs.Set(p.arch.PC, at)
	if ok, _ := s.Row(p.cursor(at, regs), new(arch.Row)); ok {
		t.Error("code without an end was left")
	}
}

// FuzzCode has a function of any code return to a place; what is found has
// to be there, whatever the code.
func FuzzCode(f *testing.F) {
	f.Add([]byte("\x59\xc3"), uint16(8))
	f.Add([]byte("\x48\x83\xc4\x08\xc3"), uint16(8))
	f.Add([]byte("\xc9\xc3"), uint16(0x48))
	f.Fuzz(func(t *testing.T, code []byte, at uint16) {
		p := newCodeProcess()
		ra := p.call(codeAt + 0x800)
		binary.LittleEndian.PutUint32(p.mem.Segs[codeAt][0x801:], 0xfffff7fb) // to codeAt
		p.rows[ra-1] = arch.Row{}
		copy(p.mem.Segs[codeAt][:0x800], code)
		where := stackAt + uint64(at)%(areaSize-8)&^7
		p.poke(where, ra)
		frames, _ := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{p.arch.PC: codeAt, 7: stackAt, 6: stackAt + 0x40}))
		if len(frames) > 1 && (frames[1].PC != ra || frames[0].CFA != where+8 || frames[1].Trust != confirmed(&frames[1])) {
			t.Errorf("got %#x, CFA %#x, %v; want %#x, %#x", frames[1].PC, frames[0].CFA, frames[1].Trust, ra, where+8)
		}
	})
}
