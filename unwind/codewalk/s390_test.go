package codewalk

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/unwind"
)

// s390 returns the code of instructions of s390x, in hexadecimal.
func s390(t *testing.T, text string) string {
	t.Helper()
	code, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return string(code)
}

// brasl returns a call from one address to another.
func brasl(from, to uint64) string {
	return "\xc0\xe5" + string(binary.BigEndian.AppendUint32(nil, uint32(int64(to-from)/2)))
}

// A function of s390x is left by its code, from its start where a direct call led
// to it, otherwise from pc. Frames have room for the registers of callees below.
func TestCodeS390X(t *testing.T) {
	const (
		start, caller, sp = codeAt + 0x10, codeAt + 0x100, stackAt
		stmg              = "eb6ff0300024" // stmg %r6,%r15,48(%r15)
		lay               = "e3f0ff60ff71" // lay %r15,-160(%r15)
		lmg               = "eb6ff0d00004" // lmg %r6,%r15,208(%r15)
		inLink            = 1 << 20
	)
	tests := []struct {
		name          string
		before, after string // pc
		at            uint64 // where the return address is, from SP, and 8 above SP itself; or inLink
		cfa           uint64 // from SP
		r7, r11       uint64 // that the caller has; 0 if not known
		byPointer     bool   // whether the call does not tell where it goes
		want          bool
	}{
		{name: "nothing", after: "0000", at: inLink, cfa: 160, r7: 7, r11: 0xb, want: true},
		{name: "stmg; lay", before: stmg + lay, after: "0000", at: 272, cfa: 320, r7: 0x77, r11: 0xbb, want: true},
		{name: "ldgr r11", before: "b3c1000b", after: "0000", at: inLink, cfa: 160, r7: 7, want: true},
		{name: "br", after: "07fe", at: inLink, cfa: 160, r7: 7, r11: 0xb, byPointer: true, want: true},
		{name: "lmg; br", before: stmg + lay, after: lmg + "07fe", at: 272, cfa: 320, r7: 0x77, r11: 0xbb, byPointer: true, want: true},
		{name: "lgdr r11; br", after: "b3cd00b0 07fe", at: inLink, cfa: 160, r7: 7, byPointer: true, want: true},

		{name: "ahi r15", before: "a7faff60", after: "0000", at: inLink},
		{name: "lghi r14", before: "a7e90001", after: "0000", at: inLink},
		{name: "another depth", before: stmg + lay, after: "0000", at: 264},
		{name: "the next function", after: stmg + lay + lmg + "07fe", at: 272, byPointer: true},
		{name: "br r1", before: stmg + lay, after: lmg + "07f1", at: 272, byPointer: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProcess(arch.S390X)
			a := p.arch
			p.module = new(unwind.Module)
			p.steps = []unwind.Stepper{p.rows, new(Stepper)}
			pc := p.code(start, s390(t, tt.before))
			p.code(pc, s390(t, tt.after))
			call := brasl(caller, start)
			trust := unwind.Checked
			if tt.byPointer { // but the code is being executed, and calls nothing
				call = "\x07\x07\x07\x07\x0d\xe1" // basr %r14,%r1
			}
			ra := p.code(caller, call)
			p.rows[ra-1] = arch.Row{}
			regs := p.regs(map[arch.Reg]uint64{a.PC: pc, a.SP: sp, a.FP: 0xb, 7: 7, a.LR: dataAt})
			if tt.at == inLink {
				regs.Set(a.LR, ra)
			} else {
				p.poke(sp+tt.at-112+56, 0x77)
				p.poke(sp+tt.at-112+88, 0xbb)
				p.poke(sp+tt.at, ra, sp+160)
			}
			frames, stop := p.unwinder().Unwind(nil, regs)
			if !tt.want {
				ledNowhere(t, frames, stop)
				return
			}
			ledTo(t, ra, trust, frames, stop)
			r7, _ := frames[1].Regs.Get(7)
			r11, _ := frames[1].Regs.Get(a.FP)
			if cfa := frames[0].CFA - sp; cfa != tt.cfa || r7 != tt.r7 || r11 != tt.r11 {
				t.Errorf("got CFA %#x, r7 %#x, r11 %#x; want %#x, %#x, %#x", cfa, r7, r11, tt.cfa, tt.r7, tt.r11)
			}
		})
	}
}

// The first function of a process may return to what the dynamic linker left in
// the link register. Nobody called it.
func TestCodeS390XStartsProcess(t *testing.T) {
	const pc, inner, cfa = codeAt + 0x16, codeAt + 0x600, stackAt + 320
	for _, entry := range []uint64{codeAt + 0x400, codeAt + 0x402} {
		p := newProcess(arch.S390X)
		a := p.arch
		p.module = &unwind.Module{Entry: codeAt + 0x400}
		p.steps = []unwind.Stepper{p.rows, new(Stepper)}
		p.code(pc-6, "\x07\x07\x07\x07\x0d\xe1"+s390(t, "eb6ff0d00004 07fe")) // lmg %r6,%r15,208(%r15); br %r14
		p.poke(cfa-48, p.call(codeAt+0x200), cfa-160)
		p.poke(cfa, 1, cfa+0x80, 0, 0, auxEntry, entry)
		p.rows[inner] = arch.Row{CFA: arch.RegOffset(a.SP, 160), RA: arch.SameValue(a.LR), FP: arch.SameValue(a.FP), CalleeSaved: true}
		frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: inner, a.SP: stackAt, a.LR: pc}))
		if stop.Complete() != (entry == p.module.Entry) || len(frames) != 2 {
			t.Errorf("entry %#x: got %d frames, %v (%v)", entry, len(frames), stop.Reason, stop.Detail)
		}
	}
}

// Where a thread of musl begins, what the caller saved tells its frame.
func TestCodeS390XAtBase(t *testing.T) {
	const pc, inner, caller, cfa = codeAt + 0x16, codeAt + 0x600, codeAt + 0x100, stackAt + 320
	for _, tt := range []struct {
		name  string
		after string // behind the call in the caller
		saved uint64
		want  bool
	}{
		{"clone", "0a01", cfa - 160, true},
		{"returns", "07fe", cfa - 160, false},
		{"another SP", "0a01", cfa, false},
	} {
		p := newProcess(arch.S390X)
		a := p.arch
		p.module = new(unwind.Module)
		p.steps = []unwind.Stepper{p.rows, new(Stepper)}
		p.code(pc-6, "\x07\x07\x07\x07\x0d\xe1"+brasl(pc, pc+8)) // and nothing
		ra := p.code(caller, "\x07\x07\x07\x07\x0d\xe1")
		p.code(ra, s390(t, tt.after))
		p.poke(stackAt+112, pc, stackAt) // what the function before saved
		p.poke(cfa-48, ra, tt.saved)
		p.rows[inner] = arch.Row{CFA: arch.RegOffset(a.SP, 160), RA: arch.SameValue(a.LR), FP: arch.SameValue(a.FP), CalleeSaved: true}
		frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: inner, a.SP: stackAt, a.LR: pc}))
		if found := len(frames) == 3 && frames[2].PC == ra && frames[1].CFA == cfa && stop.Complete(); found != tt.want {
			t.Errorf("%s: got %d frames, %v (%v)", tt.name, len(frames), stop.Reason, stop.Detail)
		}
	}
}
