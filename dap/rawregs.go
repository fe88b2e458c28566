package dap

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
)

// note is one of the notes of a thread.
type note uint8

const (
	prStatus note = iota // NT_PRSTATUS
	fpRegSet             // NT_FPREGSET
)

func (n note) of(th *core.Thread) []byte {
	if n == fpRegSet {
		return th.FPRegSet
	}
	return th.PrStatus
}

// rawReg is a register that no rule recovers. It is known only in the innermost
// frame, from a note.
type rawReg struct {
	name string
	note note
	off  int // in the note's descriptor, in bytes
	size int // in bytes
	bits []flagBit
}

// flagBit is a bit, or a field of several, with a meaning of its own.
type flagBit struct {
	name  string
	shift uint
	width uint // 0 for a single bit, which is named if set
}

// rawRegs are the registers of an architecture that arch.Regs lacks.
type rawRegs struct {
	flags  []rawReg
	vector []rawReg
}

var rawRegsOf = map[uint16]rawRegs{
	arch.EMX86_64:  amd64Raw(),
	arch.EMAArch64: aarch64Raw(),
	arch.EMS390:    s390xRaw(),
}

// Struct user_regs_struct at pr_reg, and the FXSAVE area [linux
// arch/x86/include/asm/user_64.h; Intel SDM 1, table 10-2].
func amd64Raw() rawRegs {
	reg := func(n int) int { return arch.PrStatusRegs + 8*n }
	r := rawRegs{flags: []rawReg{
		{name: "eflags", off: reg(18), size: 8, bits: []flagBit{
			{name: "CF"},
			{name: "PF", shift: 2},
			{name: "AF", shift: 4},
			{name: "ZF", shift: 6},
			{name: "SF", shift: 7},
			{name: "TF", shift: 8},
			{name: "IF", shift: 9},
			{name: "DF", shift: 10},
			{name: "OF", shift: 11},
		}},
		{name: "orig_rax", off: reg(15), size: 8},
		{name: "fs_base", off: reg(21), size: 8},
		{name: "gs_base", off: reg(22), size: 8},
	}}
	for i, n := range []int{17, 20, 23, 24, 25, 26} {
		r.flags = append(r.flags, rawReg{name: []string{"cs", "ss", "ds", "es", "fs", "gs"}[i], off: reg(n), size: 8})
	}
	r.flags = append(r.flags, rawReg{name: "mxcsr", note: fpRegSet, off: 24, size: 4})
	for i := range 16 {
		r.vector = append(r.vector, rawReg{name: fmt.Sprintf("xmm%d", i), note: fpRegSet, off: 160 + 16*i, size: 16})
	}
	return r
}

// Struct user_pt_regs at pr_reg; struct user_fpsimd_state [linux
// arch/arm64/include/uapi/asm/ptrace.h].
func aarch64Raw() rawRegs {
	r := rawRegs{flags: []rawReg{
		{name: "pstate", off: arch.PrStatusRegs + 8*33, size: 8, bits: []flagBit{
			{name: "N", shift: 31}, {name: "Z", shift: 30}, {name: "C", shift: 29}, {name: "V", shift: 28},
		}},
		{name: "fpsr", note: fpRegSet, off: 512, size: 4},
		{name: "fpcr", note: fpRegSet, off: 516, size: 4},
	}}
	for i := range 32 {
		r.vector = append(r.vector, rawReg{name: fmt.Sprintf("v%d", i), note: fpRegSet, off: 16 * i, size: 16})
	}
	return r
}

// Struct s390_regs at pr_reg; s390_fp_regs [linux
// arch/s390/include/uapi/asm/ptrace.h]. The condition code is bits 18 and 19
// of the PSW, counted from the left.
func s390xRaw() rawRegs {
	return rawRegs{flags: []rawReg{
		{name: "pswm", off: arch.PrStatusRegs, size: 8, bits: []flagBit{{name: "cc", shift: 44, width: 2}}},
		{name: "fpc", note: fpRegSet, off: 0, size: 4},
	}}
}

// bytes returns the register's bytes, the least significant first.
func (r *rawReg) bytes(th *core.Thread, bigEndian bool) ([]byte, bool) {
	desc := r.note.of(th)
	if r.off+r.size > len(desc) {
		return nil, false
	}
	b := make([]byte, r.size)
	for i := range b {
		from := i
		if bigEndian {
			from = r.size - 1 - i
		}
		b[i] = desc[r.off+from]
	}
	return b, true
}

// littleEndian returns up to 8 bytes, the least significant first, as a number.
func littleEndian(b []byte) uint64 {
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// hexBytes writes bytes, the least significant first, as a number.
func hexBytes(b []byte) string {
	var s strings.Builder
	s.WriteString("0x")
	for i := len(b) - 1; i >= 0; i-- {
		fmt.Fprintf(&s, "%02x", b[i])
	}
	return s.String()
}

// flagText lists the bits that are set: "0x246 [PF ZF IF]".
func flagText(v uint64, bits []flagBit) string {
	var set []string
	for _, b := range bits {
		switch field := v >> b.shift & (1<<b.width - 1); {
		case b.width > 0:
			set = append(set, fmt.Sprintf("%s=%d", b.name, field))
		case v>>b.shift&1 != 0:
			set = append(set, b.name)
		}
	}
	return fmt.Sprintf("%#x [%s]", v, strings.Join(set, " "))
}
