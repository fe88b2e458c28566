package disasm

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// stored and loaded are the moves of one register.
func stored(reg, base arch.Reg, off int64) [2]Move {
	return [2]Move{{First: reg, Num: 1, At: arch.RegOffset(base, off)}}
}

func loaded(reg, base arch.Reg, off int64) [2]Move {
	return [2]Move{{First: reg, Num: 1, Load: true, At: arch.RegOffset(base, off)}}
}

// somewhere is a load from where nobody knows.
func somewhere(reg arch.Reg) [2]Move { return [2]Move{{First: reg, Num: 1, Load: true}} }

func TestFlowOf(t *testing.T) {
	const rbx, rbp, rsp = 3, 6, 7
	sp, fp := arch.SameValue(rsp), arch.SameValue(rbp)
	unknown, lr, none := arch.Rule{}, arch.SameValue(arch.NoReg), [2]Move{}
	push, pop := stored(rbx, rsp, -8), loaded(rbx, rsp, 0)
	tests := []struct {
		name, code string
		want       Flow
	}{
		{"ret", "\xc3", Flow{Return, 1, 0, false, false, sp, fp, lr, none}},
		{"ret $8", "\xc2\x08\x00", Flow{Return, 3, 0, false, false, sp, fp, lr, none}},
		{"call", "\xe8\xfb\x0f\x00\x00", Flow{Call, 5, 0x2000, false, false, sp, fp, lr, none}},
		{"call *%rax", "\xff\xd0", Flow{Call, 2, 0, false, false, sp, fp, lr, none}},
		{"jmp", "\xeb\x0e", Flow{Jump, 2, 0x1010, false, false, sp, fp, lr, none}},
		{"jmp *%rax", "\xff\xe0", Flow{Nowhere, 2, 0, false, false, sp, fp, lr, none}},
		{"je", "\x74\xfe", Flow{Branch, 2, 0x1000, false, false, sp, fp, lr, none}},
		{"syscall", "\x0f\x05", Flow{System, 2, 0, false, false, sp, fp, lr, none}},
		{"hlt", "\xf4", Flow{Halt, 1, 0, false, false, sp, fp, lr, none}},
		{"endbr64", "\xf3\x0f\x1e\xfa", Flow{Through, 4, 0, true, false, sp, fp, lr, none}},
		{"push %rbx", "\x53", Flow{Through, 1, 0, false, false, arch.RegOffset(rsp, -8), fp, lr, push}},
		{"push $1", "\x6a\x01", Flow{Through, 2, 0, false, false, arch.RegOffset(rsp, -8), fp, lr, none}},
		{"push %ax", "\x66\x50", Flow{Through, 2, 0, false, false, unknown, fp, lr, none}},
		{"pop %rbx", "\x5b", Flow{Through, 1, 0, false, false, arch.RegOffset(rsp, 8), fp, lr, pop}},
		{"pop %rbp", "\x5d", Flow{Through, 1, 0, false, false, arch.RegOffset(rsp, 8), arch.AtReg(rsp, 0), lr, loaded(rbp, rsp, 0)}},
		{"pop %rsp", "\x5c", Flow{Through, 1, 0, false, false, unknown, fp, lr, none}},
		{"pop (%rax)", "\x8f\x00", Flow{Through, 2, 0, false, false, arch.RegOffset(rsp, 8), fp, lr, none}},
		{"popw (%rax)", "\x66\x8f\x00", Flow{Through, 3, 0, false, false, unknown, fp, lr, none}},
		{"leave", "\xc9", Flow{Through, 1, 0, false, false, arch.RegOffset(rbp, 8), arch.AtReg(rbp, 0), lr, loaded(rbp, rbp, 0)}},
		{"sub $0x20,%rsp", "\x48\x83\xec\x20", Flow{Through, 4, 0, false, false, arch.RegOffset(rsp, -0x20), fp, lr, none}},
		{"add $0x100,%rsp", "\x48\x81\xc4\x00\x01\x00\x00", Flow{Through, 7, 0, false, false, arch.RegOffset(rsp, 0x100), fp, lr, none}},
		{"sub %rax,%rsp", "\x48\x29\xc4", Flow{Through, 3, 0, false, false, unknown, fp, lr, none}},
		{"add $1,%esp", "\x83\xc4\x01", Flow{Through, 3, 0, false, false, unknown, fp, lr, none}},
		{"and $-16,%rsp", "\x48\x83\xe4\xf0", Flow{Through, 4, 0, false, false, unknown, fp, lr, none}},
		{"xchg %rax,%rsp", "\x48\x94", Flow{Through, 2, 0, false, false, unknown, fp, lr, none}},
		{"mov %rbx,%rsp", "\x48\x89\xdc", Flow{Through, 3, 0, false, true, unknown, fp, lr, none}},
		{"mov %rbp,%rsp", "\x48\x89\xec", Flow{Through, 3, 0, false, false, arch.RegOffset(rbp, 0), fp, lr, none}},
		{"mov (%rbx),%rsp", "\x48\x8b\x23", Flow{Through, 3, 0, false, false, unknown, fp, lr, none}},
		{"mov %rsp,%rbp", "\x48\x89\xe5", Flow{Through, 3, 0, false, false, sp, arch.RegOffset(rsp, 0), lr, none}},
		{"mov %rsp,%rdi", "\x48\x89\xe7", Flow{Through, 3, 0, false, false, sp, fp, lr, none}},
		{"lea 8(%rsp),%rbp", "\x48\x8d\x6c\x24\x08", Flow{Through, 5, 0, false, false, sp, arch.RegOffset(rsp, 8), lr, none}},
		{"lea -8(%rbp),%rsp", "\x48\x8d\x65\xf8", Flow{Through, 4, 0, false, false, arch.RegOffset(rbp, -8), fp, lr, none}},
		{"lea (%rsp,%rax),%rsp", "\x48\x8d\x24\x04", Flow{Through, 4, 0, false, false, unknown, fp, lr, none}},
		{"xor %ebp,%ebp", "\x31\xed", Flow{Through, 2, 0, false, false, sp, unknown, lr, none}},
		{"mov %al,%bpl", "\x40\x88\xc5", Flow{Through, 3, 0, false, false, sp, unknown, lr, none}},
		{"cmp %rsp,%rbp", "\x48\x39\xe5", Flow{Through, 3, 0, false, false, sp, fp, lr, none}},
		{"mov %rbx,(%rsp)", "\x48\x89\x1c\x24", Flow{Through, 4, 0, false, false, sp, fp, lr, stored(rbx, rsp, 0)}},
		{"mov %ebx,(%rsp)", "\x89\x1c\x24", Flow{Through, 3, 0, false, false, sp, fp, lr, none}},
		{"mov $1,(%rsp)", "\x48\xc7\x04\x24\x01\x00\x00\x00", Flow{Through, 8, 0, false, false, sp, fp, lr, none}},
		{"mov %rbx,(%rax)", "\x48\x89\x18", Flow{Through, 3, 0, false, false, sp, fp, lr, none}},
		{"mov 8(%rsp),%rbx", "\x48\x8b\x5c\x24\x08", Flow{Through, 5, 0, false, false, sp, fp, lr, loaded(rbx, rsp, 8)}},
		{"mov -8(%rbp),%rbx", "\x48\x8b\x5d\xf8", Flow{Through, 4, 0, false, false, sp, fp, lr, loaded(rbx, rbp, -8)}},
		{"mov 8(%rsp),%rbp", "\x48\x8b\x6c\x24\x08", Flow{Through, 5, 0, false, false, sp, arch.AtReg(rsp, 8), lr, loaded(rbp, rsp, 8)}},
		{"mov (%rsp,%rax),%rbx", "\x48\x8b\x1c\x04", Flow{Through, 4, 0, false, false, sp, fp, lr, somewhere(rbx)}},
		{"mov %fs:8(%rsp),%rbx", "\x64\x48\x8b\x5c\x24\x08", Flow{Through, 6, 0, false, false, sp, fp, lr, somewhere(rbx)}},
		{"mov (%rax),%rbx", "\x48\x8b\x18", Flow{Through, 3, 0, false, false, sp, fp, lr, somewhere(rbx)}},
		{"mov 8(%rsp),%ebx", "\x8b\x5c\x24\x08", Flow{Through, 4, 0, false, false, sp, fp, lr, none}},
		{"no instruction", "\x06", Flow{Nowhere, 0, 0, false, false, sp, fp, lr, none}},
		{"cut off", "\xe8\x00", Flow{Nowhere, 0, 0, false, false, sp, fp, lr, none}},
		{"nothing", "", Flow{Nowhere, 0, 0, false, false, sp, fp, lr, none}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := FlowOf(arch.AMD64, []byte(tt.code), 0x1000)
			if got.Next != Call && got.Next != Jump && got.Next != Branch || tt.want.Target == 0 {
				got.Target = 0
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// FuzzFlowOf checks that an instruction has the size that Measure finds, and that
// code leads somewhere only by instructions.
func FuzzFlowOf(f *testing.F) {
	f.Add([]byte("\x48\x83\xec\x20"))
	f.Add([]byte("\xf3\x0f\x1e\xfa"))
	f.Fuzz(func(t *testing.T, code []byte) {
		got := FlowOf(arch.AMD64, code, 0x1000)
		size, valid := Measure(arch.AMD64, code)
		if valid && got.Size != size || !valid && (got.Size != 0 || got.Next != Nowhere) {
			t.Fatalf("% x: got %+v, measured %d, %v", code, got, size, valid)
		}
		if got.Moves[1] != (Move{}) || got.Moves[0].Num > 1 {
			t.Fatalf("% x: got %+v", code, got)
		}
	})
}
