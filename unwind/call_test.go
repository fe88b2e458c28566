package unwind

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// Functions of the program of these tests, each 64 bytes: the frame is there
// from byte 16 to byte 48.
const (
	callee = codeAt + 0x100 // whose return address is looked at
	cold   = codeAt + 0x800 // a part of a function that begins with its frame
	called = codeAt + 0x200
	middle = codeAt + 0x300
	stub   = codeAt + 0x400 // in the middle of what tables take for a function
)

func callProcess(t *testing.T) (*process, *Module) {
	t.Helper()
	p := newProcess(arch.AMD64)
	entry := arch.Row{CFA: arch.RegOffset(p.arch.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(p.arch.FP)}
	inside := arch.Row{CFA: arch.RegOffset(p.arch.SP, 40), RA: arch.AtCFA(-8), FP: arch.SameValue(p.arch.FP)}
	b := sframe.Builder{Version: sframe.V2, ABI: sframe.AMD64LE, FixedRA: -8}
	for _, start := range []uint64{callee, called, middle, stub - 16} {
		b.Funcs = append(b.Funcs, sframe.FuncRows{Start: start, Size: 64, Rows: []sframe.RowAt{{At: 0, Row: entry}, {At: 16, Row: inside}, {At: 48, Row: entry}}})
	}
	b.Funcs = append(b.Funcs, sframe.FuncRows{Start: cold, Size: 64, Rows: []sframe.RowAt{{At: 0, Row: inside}}})
	data, err := b.Append(nil, dataAt)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sframe.Parse(data, dataAt, sframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p, &Module{Lo: codeAt, Hi: codeAt + areaSize, SFrame: s}
}

// jump returns a jump of five bytes from one address to another.
func jump(from, to uint64) string {
	return string(binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(to-from-5)))
}

func TestCalls(t *testing.T) {
	const jmpRAX, jmpSlot = "\xff\xe0", "\xff\x25\x00\x10\x00\x00"
	const bare = codeAt + 0xa00
	nops := strings.Repeat("\x90", 100)
	tests := []struct {
		name   string
		target uint64
		pc     uint64
		code   map[uint64]string
		want   answer
	}{
		{"the function", callee, callee + 20, nil, yes},
		{"another entry of the function", callee + 4, callee + 20, nil, yes},
		{"another function", called, callee + 20, nil, no},
		{"a tail call", called, callee + 20, map[uint64]string{called + 50: jump(called+50, callee)}, yes},
		{"a jump with the frame in place", called, callee + 20, map[uint64]string{called + 20: jump(called+20, callee)}, no},
		{"two tail calls", called, callee + 20, map[uint64]string{called + 50: jump(called+50, middle), middle + 48: jump(middle+48, callee)}, yes},
		{"a circle of tail calls", called, callee + 20, map[uint64]string{called + 50: jump(called+50, middle), middle + 48: jump(middle+48, called)}, no},
		{"a tail call by a register", called, callee + 20, map[uint64]string{called + 50: jmpRAX}, yes},
		{"a switch", called, callee + 20, map[uint64]string{called + 20: jmpRAX}, no},
		{"a linkage table", stub, callee + 20, map[uint64]string{stub - 16: jmpSlot}, yes},
		{"a tail call by a linkage table", called, callee + 20, map[uint64]string{called + 50: jump(called+50, stub+32), stub + 32: jmpSlot}, yes},
		{"a jump into the middle", called, callee + 20, map[uint64]string{called + 20: jump(called+20, stub)}, no},
		{"a cold part", called, cold + 20, map[uint64]string{called + 20: jump(called+20, cold+8)}, yes},
		{"a cold part without the frame", called, cold + 20, map[uint64]string{called: jump(called, cold+8)}, no},
		{"a long-branch veneer that nothing describes", codeAt + 0xa00, callee + 20, map[uint64]string{codeAt + 0xa00: jump(codeAt+0xa00, callee)}, yes},
		{"undescribed code with a jump far on", bare, callee + 20, map[uint64]string{bare: nops, bare + 100: jump(bare+100, callee)}, yes},
		{"undescribed code with a jump by a register far on", bare, callee + 20, map[uint64]string{bare: nops, bare + 100: jmpRAX}, yes},
		{"undescribed code with a branch", bare, callee + 20, map[uint64]string{bare: "\x74\x10\xc3", bare + 18: jump(bare+18, callee)}, yes},
		{"undescribed code that returns", bare, callee + 20, map[uint64]string{bare: nops, bare + 100: "\xc3"}, no},
		{"undescribed code with a jump that nothing leads to", bare, callee + 20, map[uint64]string{bare: "\xc3" + jump(bare+1, callee)}, no},
		{"undescribed code in a circle", bare, callee + 20, map[uint64]string{bare: "\xeb\xfe"}, no},
		{"undescribed code, then a tail call", bare, callee + 20, map[uint64]string{bare: jump(bare, called), called + 50: jump(called+50, callee)}, yes},
		{"undescribed code without an end", bare, callee + 20, map[uint64]string{bare: strings.Repeat("\x90", maxPath+1)}, unknown},
		{"undescribed code that is no code", bare, callee + 20, map[uint64]string{bare: "\x06"}, unknown},
		{"code that is not in memory", dataAt + areaSize, callee + 20, nil, yes},
		{"nothing is known of the frame", called, codeAt + 0xc00, nil, yes},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, m := callProcess(t)
			for at, code := range tt.code {
				p.code(at, code)
			}
			u := p.unwinder()
			find := u.Find
			u.Find = func(addr uint64) Place {
				place := find(addr)
				place.Module = m
				return place
			}
			u.start()
			c := call{known: true, target: tt.target}
			for range 2 { // the second time, it is remembered
				if got := u.calls(&c, &Frame{PC: tt.pc, Exact: true, Module: m}); got != tt.want {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}

// The work for all calls of a walk is bounded.
func TestCallsBounded(t *testing.T) {
	p, m := callProcess(t)
	p.code(called+50, jump(called+50, callee))
	u := p.unwinder()
	u.start()
	u.tails.steps = maxTailSteps
	if u.calls(&call{known: true, target: called}, &Frame{PC: callee, Exact: true, Module: m}) != unknown {
		t.Error("a jump was found without looking")
	}
}

// A return address that was overwritten by another one, behind a call to another
// function, takes full trust from the frame and those above it.
func TestCallMismatch(t *testing.T) {
	p, regs := amd64Stack()
	_, m := callProcess(t)
	for _, target := range []uint64{callee, called} {
		p.code(codeAt+0x200, "\xe8"+jump(codeAt+0x200, target)[1:])
		regs.Set(p.arch.PC, callee+0x10)
		p.rows[callee+0x10] = p.rows[codeAt+0x10]
		p.rows[codeAt+0x204] = arch.Row{}
		p.poke(stackAt+24, codeAt+0x205)
		u := p.unwinder()
		find := u.Find
		u.Find = func(addr uint64) Place {
			place := find(addr)
			place.Module = m
			return place
		}
		frames, _ := u.Unwind(nil, regs)
		if len(frames) != 2 {
			t.Fatalf("got %d frames, want 2", len(frames))
		}
		want, evidence := Full, Evidence(0)
		if target != callee {
			want, evidence = Checked, CallMismatch
		}
		if f := &frames[1]; f.Trust != want || f.Evidence&CallMismatch != evidence {
			t.Errorf("call to %#x: got %v, evidence %#x; want %v", target, f.Trust, f.Evidence, want)
		}
	}
}

// The description of a function may end before the function does.
func TestMayCallBeyondDescription(t *testing.T) {
	p, m := callProcess(t)
	for pc, want := range map[uint64]bool{callee + 64: true, callee + 64 + maxRunOut - 1: true, callee + 64 + maxRunOut: false, callee - 4: false} {
		u := p.unwinder()
		find := u.Find
		u.Find = func(addr uint64) Place {
			place := find(addr)
			place.Module = m
			return place
		}
		u.start()
		if got := u.mayCall(&call{known: true, target: callee}, pc); got != want {
			t.Errorf("%#x: got %v", pc, got)
		}
	}
}
