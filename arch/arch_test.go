package arch

import (
	"slices"
	"testing"
	"unsafe"
)

// all are the architectures by the name of a test.
var all = map[string]*Arch{"amd64": AMD64, "aarch64": AArch64, "aarch64be": AArch64BE, "s390x": S390X}

func TestForMachine(t *testing.T) {
	tests := []struct {
		machine   uint16
		bigEndian bool
		want      *Arch
	}{
		{EMX86_64, false, AMD64},
		{EMX86_64, true, nil},
		{EMAArch64, false, AArch64},
		{EMAArch64, true, AArch64BE},
		{EMS390, true, S390X},
		{EMS390, false, nil},
		{243, false, nil}, // EM_RISCV
	}
	for _, tt := range tests {
		got, ok := ForMachine(tt.machine, tt.bigEndian)
		if got != tt.want || ok != (tt.want != nil) {
			t.Errorf("ForMachine(%d, %v): got %v, %v", tt.machine, tt.bigEndian, got, ok)
		}
	}
}

func TestNamed(t *testing.T) {
	for name, a := range all {
		if got, ok := Named(a.Name, a.BigEndian); got != a || !ok {
			t.Errorf("%s: got %v, %v", name, got, ok)
		}
	}
	if got, ok := Named("amd64", true); ok {
		t.Errorf("big-endian amd64: got %v", got)
	}
	if got, want := Names(), "amd64, aarch64 and s390x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := slices.Collect(All()); len(got) != len(all) {
		t.Errorf("got %d architectures, want %d", len(got), len(all))
	}
}

func TestFromDWARF(t *testing.T) {
	tests := []struct {
		arch *Arch
		n    uint64
		want string // "" if the register cannot be tracked
	}{
		{AMD64, 0, "rax"},
		{AMD64, 1, "rdx"},
		{AMD64, 7, "rsp"},
		{AMD64, 16, "rip"},
		{AMD64, 17, ""}, // xmm0
		{AArch64, 29, "x29"},
		{AArch64, 31, "sp"},
		{AArch64, 32, ""}, // reserved; the slot of pc
		{AArch64, 34, ""}, // RA_SIGN_STATE
		{S390X, 15, "r15"},
		{S390X, 17, "f2"},
		{S390X, 31, "f15"},
		{S390X, 32, ""}, // cr0; the slot of pc
		{S390X, 65, ""}, // PSW address
		{S390X, 1<<63 + 15, ""},
	}
	for _, tt := range tests {
		reg, ok := tt.arch.FromDWARF(tt.n)
		if ok != (tt.want != "") || ok && tt.arch.RegName(reg) != tt.want {
			t.Errorf("%s register %d: got %s, %v, want %q", tt.arch.Name, tt.n, tt.arch.RegName(reg), ok, tt.want)
		}
	}
}

func TestRegName(t *testing.T) {
	if got, want := AMD64.RegName(33), "r33?"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := AMD64.RegName(NoReg), "r255?"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The offsets are those of the kernel's structures: struct elf_prstatus with
// user_regs_struct (x86), user_pt_regs (arm64) and s390_regs; elf_fpregset_t.
func TestNoteLayout(t *testing.T) {
	tests := []struct {
		name string
		arch *Arch
		locs []RegLoc
		want map[string]uint16
		size uint16 // of the descriptor
	}{
		{"amd64 prstatus", AMD64, AMD64.PrStatus, map[string]uint16{"r15": 112, "rbp": 144, "rbx": 152, "rax": 192, "rdi": 224, "rip": 240, "rsp": 264}, 336},
		{"aarch64 prstatus", AArch64, AArch64.PrStatus, map[string]uint16{"x0": 112, "x29": 344, "x30": 352, "sp": 360, "pc": 368}, 392},
		{"s390x prstatus", S390X, S390X.PrStatus, map[string]uint16{"pc": 120, "r0": 128, "r14": 240, "r15": 248}, 336},
		{"s390x fpregset", S390X, S390X.FPRegSet, map[string]uint16{"f0": 8, "f1": 16, "f2": 24, "f8": 72, "f15": 128}, 136},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := map[string]uint16{}
			for _, l := range tt.locs {
				name := tt.arch.RegName(l.Reg)
				if _, twice := at[name]; twice {
					t.Errorf("%s is there twice", name)
				}
				at[name] = l.Off
				if l.Off%8 != 0 || l.Off > tt.size-8 {
					t.Errorf("%s at %d in %d bytes", name, l.Off, tt.size)
				}
			}
			for name, off := range tt.want {
				if got, ok := at[name]; !ok || got != off {
					t.Errorf("%s: got %d, %v, want %d", name, got, ok, off)
				}
			}
		})
	}
}

func TestTables(t *testing.T) {
	for name, a := range all {
		t.Run(name, func(t *testing.T) {
			known := Set(a.PC, a.SP, a.FP)
			for _, l := range a.PrStatus {
				known |= Set(l.Reg)
			}
			for _, r := range []Reg{a.PC, a.SP, a.FP, a.RA()} {
				if a.RegName(r) != a.Regs[r] {
					t.Errorf("register %d has no name", r)
				}
			}
			if !a.CalleeSaved.Has(a.FP) {
				t.Error("the frame pointer is not callee-saved")
			}
			for _, row := range append([]Row{a.FramePointer, a.Entry}, signalRows(a)...) {
				for _, rule := range []Rule{row.CFA, row.RA, row.FP} {
					if rule.Base == Undefined || rule.Base == Register && !known.Has(rule.Reg) {
						t.Errorf("row %s uses a register that no thread has", row.Format(a))
					}
				}
			}
		})
	}
}

func signalRows(a *Arch) []Row {
	var rows []Row
	for _, s := range a.SignalFrames {
		rows = append(rows, s.Row)
	}
	return rows
}

// The offsets are those of struct rt_sigframe, from the SP that its trampoline
// sees, as the kernel's asm-offsets and gdb's tdep files have them.
func TestSignalRows(t *testing.T) {
	tests := []struct {
		name string
		arch *Arch
		row  Row
		want string // CFA, RA and FP
		regs map[string]string
	}{
		{"amd64", AMD64, AMD64.SignalFrames[0].Row, "cfa=*(rsp+160) ra=*(rsp+168) fp=*(rsp+120)", map[string]string{"r8": "*(rsp+40)", "rcx": "*(rsp+152)", "rsp": "*(rsp+160)"}},
		{"aarch64", AArch64, AArch64.SignalFrames[0].Row, "cfa=*(sp+560) ra=*(sp+568) fp=*(sp+544)", map[string]string{"x0": "*(sp+312)", "x30": "*(sp+552)", "sp": "*(sp+560)"}},
		{"s390x rt", S390X, S390X.SignalFrames[0].Row, "cfa=*(r15+472)+160 ra=*(r15+344) fp=*(r15+440)", map[string]string{"r15": "*(r15+472)", "f0": "*(r15+552)", "f15": "*(r15+672)"}},
		{"s390x", S390X, S390X.SignalFrames[1].Row, "cfa=*(r15+312)+160 ra=*(r15+184) fp=*(r15+280)", map[string]string{"r14": "*(r15+304)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plain := Row{CFA: tt.row.CFA, RA: tt.row.RA, FP: tt.row.FP}
			if got := plain.Format(tt.arch); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if !tt.row.Signal {
				t.Error("not marked as a signal frame")
			}
			rules := map[string]string{}
			for _, e := range tt.row.Extra {
				rules[tt.arch.RegName(e.Reg)] = e.Rule.Format(tt.arch)
			}
			for name, want := range tt.regs {
				if rules[name] != want {
					t.Errorf("%s: got %q, want %q", name, rules[name], want)
				}
			}
		})
	}
}

// Every frame of every thread holds these by value.
func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want uintptr
	}{
		{"Rule", unsafe.Sizeof(Rule{}), 16},
		{"Row", unsafe.Sizeof(Row{}), 80},
		{"Regs", unsafe.Sizeof(Regs{}), 280},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %d bytes, want %d", tt.name, tt.got, tt.want)
		}
	}
}
