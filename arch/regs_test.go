package arch

import (
	"maps"
	"testing"
)

func TestRegs(t *testing.T) {
	var r Regs
	if v, ok := r.Get(3); ok || v != 0 {
		t.Errorf("the zero Regs knows register 3: %d", v)
	}
	r.Set(3, 0) // known to be zero is not unknown
	r.Set(33, 5)
	r.Set(7, 9)
	r.Set(NumRegs, 1)
	r.Set(NoReg, 1)
	want := map[Reg]uint64{3: 0, 7: 9, 33: 5}
	if got := maps.Collect(r.All()); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := r.Known(), Set(3, 7, 33); got != want {
		t.Errorf("known: got %b, want %b", got, want)
	}
	if _, ok := r.Get(NoReg); ok {
		t.Error("NoReg has a value")
	}

	r.Forget(7)
	r.Forget(NoReg)
	if v, ok := r.Get(7); ok || v != 0 {
		t.Errorf("register 7 was forgotten: got %d, %v", v, ok)
	}
	r.Keep(Set(33, 12))
	want = map[Reg]uint64{33: 5}
	if got := maps.Collect(r.All()); !maps.Equal(got, want) {
		t.Errorf("after Keep: got %v, want %v", got, want)
	}
	if got, want := r.Known(), Set(33); got != want {
		t.Errorf("after Keep: got %#x known, want %#x", got, want)
	}
	r.Set(7, 1)
	if v, ok := r.Get(7); !ok || v != 1 {
		t.Errorf("register 7 was set again: got %d, %v", v, ok)
	}
}

// Registers come in ascending order, each once.
func TestRegsAllInOrder(t *testing.T) {
	var r Regs
	for reg := range Reg(NumRegs) {
		r.Set(NumRegs-1-reg, uint64(reg))
	}
	next := Reg(0)
	for reg, v := range r.All() {
		if reg != next || v != uint64(NumRegs-1-reg) {
			t.Fatalf("got register %d with %d, want register %d", reg, v, next)
		}
		next++
	}
	if next != NumRegs {
		t.Errorf("got %d registers, want %d", next, NumRegs)
	}
}

func TestRegsAllStops(t *testing.T) {
	var r Regs
	r.Set(1, 1)
	r.Set(2, 2)
	n := 0
	for range r.All() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d registers, want 1", n)
	}
}

func TestRegSet(t *testing.T) {
	tests := []struct {
		name string
		set  RegSet
		in   []Reg
		out  []Reg
	}{
		{"empty", Set(), nil, []Reg{0, 33, NoReg}},
		{"of registers", Set(0, 33), []Reg{0, 33}, []Reg{1, 32, 34, NoReg}},
		{"range", Range(6, 13), []Reg{6, 10, 13}, []Reg{5, 14, NoReg}},
		{"range of all", Range(0, 33), []Reg{0, 33}, []Reg{34}},
		{"no register", Set(NoReg), nil, []Reg{0, NoReg}},
		{"bits without registers", ^RegSet(0), []Reg{0, 33}, []Reg{34, 63, NoReg}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range tt.in {
				if !tt.set.Has(r) {
					t.Errorf("%d is missing", r)
				}
			}
			for _, r := range tt.out {
				if tt.set.Has(r) {
					t.Errorf("%d is in it", r)
				}
			}
		})
	}
}

func TestFormat(t *testing.T) {
	tests := []struct {
		arch *Arch
		rule Rule
		want string
	}{
		{AMD64, Rule{}, "u"},
		{AMD64, RegOffset(7, 16), "rsp+16"},
		{AMD64, RegOffset(6, -40), "rbp-40"},
		{AMD64, SameValue(6), "rbp"},
		{AMD64, AtCFA(-8), "*(c-8)"},
		{AMD64, Rule{Base: CFA}, "c+0"},
		{AMD64, Rule{Base: CFA, Off: -8}, "c-8"},
		{AMD64, AtReg(6, 0), "*(rbp)"},
		{AMD64, Rule{Base: Absolute, Off: 0x401000}, "0x401000"},
		{AMD64, Rule{Base: Absolute, Off: -1, Deref: true}, "*(0xffffffffffffffff)"},
		{S390X, S390X.FramePointer.CFA, "*(r15)+160"},
	}
	for _, tt := range tests {
		if got := tt.rule.Format(tt.arch); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.rule, got, tt.want)
		}
	}

	row := Row{CFA: RegOffset(31, 16), FP: AtCFA(-16), Extra: []RegRule{{Reg: 19, Rule: AtCFA(-24)}}, Signal: true, SignedRA: true}
	if got, want := row.Format(AArch64), "cfa=sp+16 ra=u fp=*(c-16) x19=*(c-24) signal signed-ra"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !row.Outermost() {
		t.Error("a row without a return address is not the outermost")
	}
}
