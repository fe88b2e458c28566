package arch_test

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

func TestRuleEval(t *testing.T) {
	const cfa, at, stored = 0x7000, 0x6ff0, 0x1234
	var regs arch.Regs
	regs.Set(3, 0x5000)
	tests := []struct {
		name string
		rule arch.Rule
		want uint64
		err  error
	}{
		{"same value", arch.SameValue(3), 0x5000, nil},
		{"register and offset", arch.RegOffset(3, -16), 0x4ff0, nil},
		{"CFA", arch.Rule{Base: arch.CFA, Off: 8}, 0x7008, nil},
		{"at the CFA", arch.AtCFA(-16), stored, nil},
		{"at a register", arch.AtReg(3, at-0x5000), stored, nil},
		{"stored, and added to", arch.Rule{Base: arch.CFA, Off: -16, Deref: true, Add: 160}, stored + 160, nil},
		{"nothing added to what is not stored", arch.Rule{Base: arch.CFA, Add: 160}, cfa, nil},
		{"absolute", arch.Rule{Base: arch.Absolute, Off: -1}, ^uint64(0), nil},
		{"at an address", arch.Rule{Base: arch.Absolute, Off: at, Deref: true}, stored, nil},
		{"undefined", arch.Rule{}, 0, arch.ErrUndefined},
		{"undefined, whatever else it says", arch.Rule{Off: at, Deref: true}, 0, arch.ErrUndefined},
		{"unknown register", arch.SameValue(4), 0, arch.UnknownRegister(4)},
		{"at an unknown register", arch.AtReg(4, 8), 0, arch.UnknownRegister(4)},
		{"no memory", arch.AtCFA(0), 0, new(memreader.FaultError)},
	}
	for _, bigEndian := range []bool{false, true} {
		word := []byte{0x34, 0x12, 0, 0, 0, 0, 0, 0}
		if bigEndian {
			word = []byte{0, 0, 0, 0, 0, 0, 0x12, 0x34}
		}
		mem := &memreader.Words{R: &testkit.Memory{Segs: map[uint64][]byte{at: word}}, BigEndian: bigEndian}
		for _, tt := range tests {
			got, err := tt.rule.Eval(&regs, cfa, mem)
			if _, fault := errors.AsType[*memreader.FaultError](tt.err); fault {
				if found, ok := errors.AsType[*memreader.FaultError](err); !ok || found.Addr != cfa {
					t.Errorf("%s: got %#x, %v; want the fault at %#x", tt.name, got, err, uint64(cfa))
				}
				continue
			}
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%s: got %#x, %v; want %#x, %v", tt.name, got, err, tt.want, tt.err)
			}
		}
	}
}

func TestRuleEvalDoesNotAllocate(t *testing.T) {
	var regs arch.Regs
	rules := []arch.Rule{{}, arch.SameValue(40), arch.AtCFA(0)}
	mem := &memreader.Words{R: &testkit.Memory{Segs: map[uint64][]byte{0x7000: make([]byte, 8)}}}
	if n := testing.AllocsPerRun(100, func() {
		for i := range rules {
			_, _ = rules[i].Eval(&regs, 0x7000, mem)
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
