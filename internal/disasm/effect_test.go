package disasm

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
)

func TestEffect(t *testing.T) {
	const none = arch.NoReg
	for _, tt := range []struct {
		arch *arch.Arch
		code string
		want Operand // the last one
		n    int
	}{
		{arch.AMD64, "\x8b\x40\x08", Operand{Base: 0, Index: none, Scale: 0, Disp: 8, Size: 4, Read: true}, 1},
		{arch.AMD64, "\xc7\x04\x90\x01\x00\x00\x00", Operand{Base: 0, Index: 1, Scale: 4, Size: 4, Write: true}, 1},
		{arch.AMD64, "\x01\x00", Operand{Base: 0, Index: none, Size: 4, Read: true, Write: true}, 1},
		{arch.AMD64, "\x39\x00", Operand{Base: 0, Index: none, Size: 4, Read: true}, 1},
		{arch.AMD64, "\x50", Operand{Base: 7, Index: none, Disp: ^uint64(7), Size: 8, Write: true, Implied: true}, 1},
		{arch.AMD64, "\x0f\x29\x00", Operand{Base: 0, Index: none, Size: 16, Write: true, Aligned: 16}, 1},
		{arch.AMD64, "\xc6\x05\x10\x00\x00\x00\x01", Operand{Base: none, Index: none, Disp: 0x1017, Size: 1, Write: true}, 1},
		{arch.AMD64, "\x89\xbd\xcc\xfe\xff\xff", Operand{Base: 6, Index: none, Disp: ^uint64(0x133), Size: 4, Write: true}, 1},                     // mov %edi,-0x134(%rbp)
		{arch.AMD64, "\x0f\xbe\x84\xf7\x18\xfc\xff\xff", Operand{Base: 5, Index: 4, Scale: 8, Disp: ^uint64(0x3e7), Size: 1, Read: true}, 1},       // movsbl -0x3e8(%rdi,%rsi,8),%eax
		{arch.AMD64, "\x8b\x05\xf0\xff\xff\xff", Operand{Base: none, Index: none, Disp: 0xff6, Size: 4, Read: true}, 1},                            // mov -0x10(%rip),%eax
		{arch.AMD64, "\x8b\x04\x25\x00\x00\x60\xff", Operand{Base: none, Index: none, Scale: 1, Disp: 0xffffffffff600000, Size: 4, Read: true}, 1}, // mov 0xffffffffff600000,%eax
		{arch.AMD64, "\xa1\x00\x00\x00\x80\x00\x00\x00\x00", Operand{Base: none, Index: none, Disp: 0x80000000, Size: 4, Read: true}, 1},           // movabs 0x80000000,%eax
		{arch.AMD64, "\x64\x8b\x00", Operand{}, 0}, // mov %fs:(%rax),%eax
		{arch.AMD64, "\x8d\x40\x08", Operand{}, 0}, // lea 0x8(%rax),%eax
		{arch.AMD64, "\x67\x8b\x00", Operand{}, 0}, // mov (%eax),%eax
		{arch.AMD64, "\x06", Operand{}, 0},
		{arch.AMD64, "", Operand{}, 0},
		{arch.AArch64, "\x01\x08\x40\xf9", Operand{Base: 0, Index: none, Disp: 16, Read: true}, 1},      // ldr x1,[x0,#16]
		{arch.AArch64, "\xe1\x03\x00\xf9", Operand{Base: 31, Index: none, Write: true}, 1},              // str x1,[sp]
		{arch.AArch64, "\x01\x84\x40\xf8", Operand{}, 0},                                                // ldr x1,[x0],#8
		{arch.AArch64, "\x01\x68\x62\xf8", Operand{}, 0},                                                // ldr x1,[x0,x2]
		{arch.S390X, "\xe3\x10\x20\x08\x00\x04", Operand{Base: 2, Index: none, Disp: 8, Read: true}, 1}, // lg %r1,8(%r2)
		{arch.S390X, "\x92\x2a\x10\x00", Operand{Base: 1, Index: none, Write: true}, 1},                 // mvi 0(%r1),42
	} {
		e := EffectOf(tt.arch, []byte(tt.code), 0x1000)
		if len(e.Operands) != tt.n {
			t.Errorf("%s % x: got %+v, want %d operands", tt.arch.Name, tt.code, e, tt.n)
			continue
		}
		if tt.n > 0 && e.Operands[tt.n-1] != tt.want {
			t.Errorf("%s % x: got %+v, want %+v", tt.arch.Name, tt.code, e.Operands[tt.n-1], tt.want)
		}
	}
	for code, want := range map[string]Effect{
		"\xf7\xf9":     {Divides: true, Divisor: 2, DivisorSize: 4},
		"\x48\xf7\xf9": {Divides: true, Divisor: 2, DivisorSize: 8},
		"\x41\xf6\xf0": {Divides: true, Divisor: 8, DivisorSize: 1},
		"\xf6\xf4":     {Divisor: none, DivisorSize: 0}, // div %ah
		"\xf4":         {Privileged: true},
		"\x0f\x0b":     {Undefined: true},
	} {
		got := EffectOf(arch.AMD64, []byte(code), 0)
		if got.Divides != want.Divides || got.Divisor != want.Divisor || got.DivisorSize != want.DivisorSize || got.Privileged != want.Privileged || got.Undefined != want.Undefined {
			t.Errorf("% x: got %+v, want %+v", code, got, want)
		}
	}
}

// Any bytes have an effect, whose operands have registers of the architecture.
func FuzzEffect(f *testing.F) {
	f.Add([]byte("\xc7\x04\x90\x01\x00\x00\x00"))
	f.Add([]byte("\x01\x08\x40\xf9"))
	f.Add([]byte("\xe3\x10\x20\x08\x00\x04"))
	f.Fuzz(func(t *testing.T, code []byte) {
		for a := range arch.All() {
			e := EffectOf(a, code, 0x1000)
			for _, o := range e.Operands {
				for _, reg := range []arch.Reg{o.Base, o.Index} {
					if reg != arch.NoReg && reg >= arch.NumRegs {
						t.Errorf("%s % x: register %d", a.Name, code, reg)
					}
				}
			}
		}
	})
}

// Where calls, jumps and returns lead is in a register, or in the last operand.
func TestLeads(t *testing.T) {
	const none = arch.NoReg
	for code, want := range map[string]struct {
		leads   Next
		target  arch.Reg
		pointer bool
	}{
		"\xff\xd0":             {Call, 0, false},       // call *%rax
		"\xff\x50\x18":         {Call, none, true},     // call *0x18(%rax)
		"\xff\xe0":             {Jump, 0, false},       // jmp *%rax
		"\xff\x20":             {Jump, none, true},     // jmp *(%rax)
		"\xc3":                 {Return, none, true},   // ret
		"\x64\xff\x10":         {Call, none, false},    // call *%fs:(%rax)
		"\xe8\x00\x00\x00\x00": {Nowhere, none, false}, // call
		"\xeb\x00":             {Nowhere, none, false}, // jmp
		"\x8b\x40\x08":         {Nowhere, none, true},  // mov 0x8(%rax),%eax
	} {
		e := EffectOf(arch.AMD64, []byte(code), 0x1000)
		_, pointer := e.Pointer()
		if e.Leads != want.leads || e.Target != want.target && e.Leads != Nowhere || pointer != want.pointer {
			t.Errorf("% x: got %v, %v, %v, want %+v", code, e.Leads, e.Target, pointer, want)
		}
	}
}
