package codewalk

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/unwind"
)

// Instructions of aarch64.
const (
	stpFrame  = 0xa9be_7bfd // stp x29, x30, [sp, #-32]!
	ldpFrame  = 0xa8c2_7bfd // ldp x29, x30, [sp], #32
	pushLink  = 0xf81f_0ffe // str x30, [sp, #-16]!
	popLink   = 0xf841_07fe // ldr x30, [sp], #16
	movFrame  = 0x9100_03fd // mov x29, sp
	movSP     = 0x9100_03bf // mov sp, x29
	subSP     = 0xd100_c3ff // sub sp, sp, #48
	subSPx1   = 0xcb21_63ff // sub sp, sp, x1
	stpX19    = 0xa902_7bf3 // stp x19, x30, [sp, #32]
	strX19    = 0xf900_0bf3 // str x19, [sp, #16]
	ldrX19    = 0xf940_0bf3 // ldr x19, [sp, #16]
	ldpX19    = 0xa941_53f3 // ldp x19, x20, [sp, #16]
	clearLink = 0xd280_001e // mov x30, #0
	paciasp   = 0xd503_233f
	btiC      = 0xd503_245f
	ret       = 0xd65f_03c0
	retaa     = 0xd65f_0bff
	brk       = 0xd420_0020
	brX16     = 0xd61f_0200
	blrX1     = 0xd63f_0020
	svc       = 0xd400_0001
	movExit   = 0xd280_0ba8 // mov x8, #93
	nop       = 0xd503_201f
)

// insns returns the code of instructions of aarch64.
func insns(words ...uint32) string {
	var code []byte
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return string(code)
}

// bl returns a call from one address to another, b a jump.
func bl(from, to uint64) uint32 { return 0x9400_0000 | uint32(to-from)>>2&0x3ff_ffff }
func b(from, to uint64) uint32  { return bl(from, to) &^ (1 << 31) }

// newLinkProcess is newCodeProcess for aarch64.
func newLinkProcess(a *arch.Arch) *process {
	p := newProcess(a)
	p.module = new(unwind.Module)
	p.steps = []unwind.Stepper{p.rows, new(Stepper)}
	return p
}

// A function that a direct call led to is left by the code from its start to pc,
// where BRK is. The frame has 3, 4, 5, ... at SP, but for the return address.
func TestCodeLinkFromStart(t *testing.T) {
	const (
		start, caller, other = codeAt + 0x10, codeAt + 0x100, codeAt + 0x300
		inLink               = 1 << 20
		fp                   = stackAt + 0x40
	)
	tests := []struct {
		name     string
		code     []uint32 // from start to pc
		call     uint64   // where the call goes
		at       uint64   // where the return address is, from SP; or inLink
		cfa      uint64   // from SP
		x19, x29 uint64   // that the caller has
		more     map[uint64]string
		want     bool
	}{
		{name: "nothing", call: start, at: inLink, x19: 0xb, x29: fp, want: true},
		{name: "paciasp", code: []uint32{paciasp}, call: start, at: inLink, x19: 0xb, x29: fp, want: true},
		{name: "stp x29, x30", code: []uint32{stpFrame}, call: start, at: 8, cfa: 32, x19: 0xb, x29: 3, want: true},
		{name: "sub sp; stp x19, x30", code: []uint32{subSP, stpX19}, call: start, at: 40, cfa: 48, x19: 7, x29: fp, want: true},
		{name: "paciasp; str x30; bl", code: []uint32{paciasp, pushLink, bl(start+8, other)}, call: start, at: 0, cfa: 16, x19: 0xb, x29: fp, want: true},
		{name: "stp; mov x29; sub sp, x1", code: []uint32{stpFrame, movFrame, subSPx1}, call: start, at: 0x48, cfa: 0x60, x19: 0xb, x29: 11, want: true},
		{name: "stp; ldp", code: []uint32{stpFrame, ldpFrame}, call: start, at: inLink, x19: 0xb, x29: fp, want: true},
		{name: "str x30; mov x30", code: []uint32{pushLink, clearLink}, call: start, at: 0, cfa: 16, x19: 0xb, x29: fp, want: true},
		{name: "cbz over a return", code: []uint32{pushLink, 0xb400_0060, popLink, ret}, call: start, at: 0, cfa: 16, x19: 0xb, x29: fp, want: true},
		{name: "a tail call", code: []uint32{pushLink}, call: other, more: map[uint64]string{other: insns(b(other, start))}, at: 0, cfa: 16, x19: 0xb, x29: fp, want: true},

		{name: "another depth", code: []uint32{pushLink}, call: start, at: 8},
		{name: "a call elsewhere", code: []uint32{pushLink}, call: other, at: 0},
		{name: "saved, and what is in the register is old", code: []uint32{pushLink}, call: start, at: inLink},
		{name: "not saved, and the stack has an old one", call: start, at: 0},
		{name: "bl before it is saved", code: []uint32{bl(start, other)}, call: start, at: inLink},
		{name: "bl before it is stored", code: []uint32{bl(start, other), pushLink}, call: start, at: 0},
		{name: "mov x30, #0", code: []uint32{clearLink}, call: start, at: inLink},
		{name: "mov x30, #0; str x30", code: []uint32{clearLink, pushLink}, call: start, at: 0},
		{name: "sub sp, x1", code: []uint32{pushLink, subSPx1}, call: start, at: 0},
		{name: "brk", code: []uint32{pushLink, brk}, call: start, at: 0},
		{name: "br x16", code: []uint32{pushLink, brX16}, call: start, at: 0},
		{name: "no instruction", code: []uint32{pushLink, 0}, call: start, at: 0},
	}
	for _, a := range []*arch.Arch{arch.AArch64, arch.AArch64BE} {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				p := newLinkProcess(a)
				pc := p.code(start, insns(tt.code...))
				p.code(pc, insns(brk))
				p.code(other, insns(brk))
				for at, code := range tt.more {
					p.code(at, code)
				}
				ra := p.code(caller, insns(bl(caller, tt.call)))
				p.rows[ra-1] = arch.Row{}
				p.poke(stackAt, 3, 4, 5, 6, 7, 8, 9, 10, 11)
				regs := p.regs(map[arch.Reg]uint64{a.PC: pc, a.SP: stackAt, a.FP: fp, 19: 0xb, a.LR: dataAt})
				const signature = 0x2a << 48
				if tt.at == inLink {
					regs.Set(a.LR, ra|signature)
				} else {
					p.poke(stackAt+tt.at, ra|signature)
				}
				frames, stop := p.unwinder().Unwind(nil, regs)
				if !tt.want {
					ledNowhere(t, frames, stop)
					return
				}
				ledTo(t, ra, unwind.Checked, frames, stop)
				x19, _ := frames[1].Regs.Get(19)
				x29, _ := frames[1].Regs.Get(a.FP)
				if cfa := frames[0].CFA - stackAt; cfa != tt.cfa || x19 != tt.x19 || x29 != tt.x29 {
					t.Errorf("got CFA %#x, x19 %#x, x29 %#x; want %#x, %#x, %#x", cfa, x19, x29, tt.cfa, tt.x19, tt.x29)
				}
			})
		}
	}
}

// A function that was called by a pointer is left by the code from pc to where
// it returns. The frame has 3, 4, 5, ... at SP, but for the return address.
func TestCodeLinkReturns(t *testing.T) {
	const (
		pc, caller, inner = codeAt + 0x14, codeAt + 0x100, codeAt + 0x600
		inLink            = 1 << 20
		fp                = stackAt + 0x40
	)
	tests := []struct {
		name     string
		code     []uint32 // from pc on
		called   bool     // whether pc is behind a call
		at       uint64   // where the return address is, from SP; or inLink
		cfa      uint64
		x19, x29 uint64 // that the caller has; 0 if not known
		want     bool
	}{
		{name: "ret", code: []uint32{ret}, at: inLink, x19: 0xb, x29: fp, want: true},
		{name: "svc; ret", code: []uint32{svc, ret}, at: inLink, x19: 0xb, x29: fp, want: true},
		{name: "ldp x29, x30; ret", code: []uint32{ldpFrame, ret}, called: true, at: 8, cfa: 32, x19: 0xb, x29: 3, want: true},
		{name: "ldp x19; ldp x29; retaa", code: []uint32{ldpX19, ldpFrame, retaa}, called: true, at: 8, cfa: 32, x19: 5, x29: 3, want: true},
		{name: "ldr x30; ret", code: []uint32{popLink, ret}, called: true, at: 0, cfa: 16, x19: 0xb, x29: fp, want: true},
		{name: "bl; ldr x30; ret", code: []uint32{bl(pc, inner), popLink, ret}, at: 0, cfa: 16, x19: 0xb, x29: fp, want: true},
		{name: "mov sp, x29; ldp; ret", code: []uint32{movSP, ldpFrame, ret}, called: true, at: 0x48, cfa: 0x60, x19: 0xb, x29: 11, want: true},
		{name: "str x19; ldr x19; ldr x30; ret", code: []uint32{strX19, ldrX19, popLink, ret}, called: true, at: 0, cfa: 16, x19: 0xb, x29: fp, want: true},
		{name: "stp; ldp; ret at the start", code: []uint32{stpFrame, ldpFrame, ret}, at: inLink, x19: 0xb, x29: fp, want: true},
		{name: "paciasp; ret at the start", code: []uint32{paciasp, ret}, at: inLink, x19: 0xb, x29: fp, want: true},

		{name: "ret behind a call", code: []uint32{ret}, called: true, at: inLink},
		{name: "bl; ret", code: []uint32{bl(pc, inner), ret}, at: inLink},
		{name: "mov x30, #0; ret", code: []uint32{clearLink, ret}, at: inLink},
		{name: "stp; ldp; ret", code: []uint32{stpFrame, ldpFrame, ret}, called: true, at: 8},
		{name: "paciasp; ldp; ret", code: []uint32{paciasp, ldpFrame, ret}, called: true, at: 8},
		{name: "bti c; ldp; ret", code: []uint32{btiC, ldpFrame, ret}, called: true, at: 8},
		{name: "brk; ldp; ret", code: []uint32{brk, ldpFrame, ret}, called: true, at: 8},
		{name: "br x16; ldp; ret", code: []uint32{brX16, ldpFrame, ret}, called: true, at: 8},
		{name: "sub sp, x1; ldp; ret", code: []uint32{subSPx1, ldpFrame, ret}, called: true, at: 8},
		{name: "ldr x30, [x0]; ret", code: []uint32{0xf940_001e, ret}, at: inLink},
		{name: "str x30; ldr x30, [sp, #8]; ret", code: []uint32{0xf900_07fe, 0xf940_07fe, ret}, called: true, at: 8},
		{name: "no ABI has the CFA there", code: []uint32{0xf840_87fe, ret}, called: true, at: 0}, // ldr x30, [sp], #8
	}
	for _, a := range []*arch.Arch{arch.AArch64, arch.AArch64BE} {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				p := newLinkProcess(a)
				p.code(pc-4, insns(blrX1))
				p.code(pc, insns(tt.code...))
				ra := p.code(caller, insns(blrX1))
				p.rows[ra-1] = arch.Row{}
				p.poke(stackAt, 3, 4, 5, 6, 7, 8, 9, 10, 11)
				values := map[arch.Reg]uint64{a.PC: pc, a.SP: stackAt, a.FP: fp, 19: 0xb, a.LR: ra}
				if tt.at != inLink {
					p.poke(stackAt+tt.at, ra)
					values[a.LR] = dataAt
				}
				if tt.called { // from a function that has no frame
					p.rows[inner] = arch.Row{CFA: arch.RegOffset(a.SP, 0), RA: arch.SameValue(a.LR), FP: arch.SameValue(a.FP), CalleeSaved: true}
					values[a.PC], values[a.LR] = inner, pc
				}
				frames, stop := p.unwinder().Unwind(nil, p.regs(values))
				if tt.called && len(frames) > 1 {
					frames = frames[1:]
				}
				if !tt.want {
					ledNowhere(t, frames, stop)
					return
				}
				trust := unwind.Guess
				switch {
				case strings.HasPrefix(tt.name, "mov sp, x29"): // the frame pointer agrees
					trust = unwind.Checked
				case !tt.called && !strings.HasPrefix(tt.name, "bl"): // it is being executed, and calls nothing
					trust = unwind.Checked
				}
				ledTo(t, ra, trust, frames, stop)
				x19, _ := frames[1].Regs.Get(19)
				x29, _ := frames[1].Regs.Get(a.FP)
				if cfa := frames[0].CFA - stackAt; cfa != tt.cfa || x19 != tt.x19 || x29 != tt.x29 {
					t.Errorf("got CFA %#x, x19 %#x, x29 %#x; want %#x, %#x, %#x", cfa, x19, x29, tt.cfa, tt.x19, tt.x29)
				}
			})
		}
	}
}

// A thread begins where musl's clone calls its function, and ends behind that.
// The frame pointer there is of another stack.
func TestCodeLinkAtBase(t *testing.T) {
	const pc, caller, parent = codeAt + 0x14, codeAt + 0x100, stackAt + 0x200
	for _, tt := range []struct {
		name  string
		after []uint32 // behind the call in the caller
		at    uint64   // where the return address is, from SP
		want  bool
	}{
		{"clone", []uint32{movExit, svc}, 8, true},
		{"nop", []uint32{nop, movExit, svc}, 8, true},
		{"returns", []uint32{popLink, ret}, 8, false},
		{"another call", []uint32{bl(0, 4), movExit, svc}, 8, false},
		{"another system call", []uint32{svc, nop}, 8, false},
		{"no ABI has a frame there", []uint32{movExit, svc}, 0, false},
		{"far", []uint32{movExit, svc}, maxBase + 8, false},
	} {
		p := newLinkProcess(arch.AArch64)
		a := p.arch
		p.steps = append(p.steps, unwind.NewFramePointer())
		p.code(pc-4, insns(blrX1, bl(pc, pc+8), nop, stpFrame)) // the last is the next function
		ra := p.code(caller, insns(blrX1))
		p.code(ra, insns(tt.after...))
		p.poke(stackAt+tt.at, ra)
		p.poke(parent, 0, p.code(codeAt+0x200, insns(blrX1)))
		// pc is behind a call.
		const inner = codeAt + 0x600
		p.rows[inner] = arch.Row{CFA: arch.RegOffset(a.SP, 0), RA: arch.SameValue(a.LR), FP: arch.SameValue(a.FP), CalleeSaved: true}
		frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: inner, a.SP: stackAt, a.LR: pc, a.FP: parent}))
		if found := len(frames) == 3 && frames[2].PC == ra && stop.Reason == unwind.Outermost && frames[2].Method == unwind.Code; found != tt.want {
			t.Errorf("%s: got %d frames, %v (%v)", tt.name, len(frames), stop.Reason, stop.Detail)
		}
	}
}

// The first function of a process has nowhere to return to, and above its frame
// is what the kernel put there.
func TestCodeStartsProcess(t *testing.T) {
	const pc, inner, vector, end = codeAt + 0x14, codeAt + 0x600, stackAt + 0x40, stackAt + 0x200
	for _, tt := range []struct {
		name   string
		damage func(*process)
		want   bool
	}{
		{"whole", func(*process) {}, true},
		{"no arguments", func(p *process) { p.poke(vector, 0) }, false},
		{"more arguments", func(p *process) { p.poke(vector, 3) }, false},
		{"many arguments", func(p *process) { p.poke(vector, maxArgs+1) }, false},
		{"an endless environment", func(p *process) { p.poke(vector+48, end) }, false},
		{"another entry", func(p *process) { p.poke(vector+80, pc) }, false},
		{"no entry", func(p *process) { p.poke(vector+72, 0) }, false},
		{"elsewhere", func(p *process) { p.module.Entry = 0 }, false},
		{"a return address is nearer", func(p *process) { p.poke(stackAt+8, p.code(codeAt+0x200, insns(blrX1))) }, false},
	} {
		p := newLinkProcess(arch.AArch64)
		a := p.arch
		p.module.Entry = codeAt + 0x400
		p.code(pc-4, insns(blrX1, bl(pc, pc+8), nop, stpFrame))
		p.poke(vector, 2, end, end, 0, end, end, 0, 6, 4096, auxEntry, p.module.Entry, 0, 0)
		tt.damage(p)
		p.rows[inner] = arch.Row{CFA: arch.RegOffset(a.SP, 0), RA: arch.SameValue(a.LR), FP: arch.SameValue(a.FP), CalleeSaved: true}
		frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: inner, a.SP: stackAt, a.LR: pc, a.FP: 0}))
		if len(frames) != 2 || stop.Complete() != tt.want {
			t.Errorf("%s: got %d frames, %v (%v)", tt.name, len(frames), stop.Reason, stop.Detail)
		}
	}
}

// FuzzCodeLink has a function of any code return to a place, in the register or
// on the stack; what is found has to be there.
func FuzzCodeLink(f *testing.F) {
	f.Add([]byte(insns(ldpFrame, ret)), uint16(8))
	f.Add([]byte(insns(pushLink, brk)), uint16(0))
	f.Add([]byte(insns(ret)), uint16(1))
	f.Fuzz(func(t *testing.T, code []byte, at uint16) {
		p := newLinkProcess(arch.AArch64)
		a := p.arch
		const caller, pc = codeAt + 0x800, codeAt + 8
		ra := p.code(caller, insns(bl(caller, codeAt)))
		p.rows[ra-1] = arch.Row{}
		copy(p.mem.Segs[codeAt][:0x800], code)
		regs := p.regs(map[arch.Reg]uint64{a.PC: pc, a.SP: stackAt, a.FP: stackAt + 0x40})
		where := stackAt + uint64(at)%(areaSize-8)&^7
		if at&1 != 0 {
			regs.Set(a.LR, ra)
		} else {
			p.poke(where, ra)
		}
		frames, _ := p.unwinder().Unwind(nil, regs)
		if len(frames) > 1 && (frames[1].PC != ra || frames[0].CFA%8 != 0 || frames[1].Trust != confirmed(&frames[1]) || at&1 == 0 && frames[0].CFA < stackAt) {
			t.Errorf("got %#x, CFA %#x, %v (%v); want %#x", frames[1].PC, frames[0].CFA, frames[1].Trust, frames[1].Evidence, ra)
		}
	})
}
