package codewalk

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
)

// text describes a state: the rules of SP, FP and the link register, where registers
// are, and the sets of registers that are not empty.
func (p *state) text(a *arch.Arch) string {
	words := []string{"sp=" + p.sp.Format(a), "fp=" + p.fp.Format(a)}
	if a.LR != arch.NoReg {
		words = append(words, "ra="+p.ra.Format(a))
	}
	for reg, rule := range p.moved {
		if rule.Base != arch.Undefined {
			words = append(words, a.RegName(arch.Reg(reg))+"="+rule.Format(a))
		}
	}
	for _, set := range []struct {
		name string
		regs arch.RegSet
	}{{"late", p.late}, {"lost", p.lost}, {"kept", p.kept}} {
		for reg := range arch.Reg(arch.NumRegs) {
			if set.regs.Has(reg) {
				words = append(words, set.name+":"+a.RegName(reg))
			}
		}
	}
	return strings.Join(words, " ")
}

// What is known after some instructions, from the start of a function or from a pc in
// the middle. A register that was saved at the start has the caller's value where it
// was saved first. From a pc on, one that is loaded has it where it is loaded from,
// unless the code stored something there after pc.
func TestState(t *testing.T) {
	for _, tt := range []struct {
		name      string
		arch      *arch.Arch
		fromStart bool
		code      string
		want      string
	}{
		{"push %rbx", arch.AMD64, true, "53", "sp=c-16 fp=rbp rbx=*(c-16)"},
		{"push %rbx, twice", arch.AMD64, true, "53 53", "sp=c-24 fp=rbp rbx=*(c-16)"},
		{"push %rbp", arch.AMD64, true, "55", "sp=c-16 fp=rbp rbp=*(c-16)"},
		{"xor %ebp,%ebp; push %rbp", arch.AMD64, true, "31 ed 55", "sp=c-16 fp=u"},
		{"push %rbp; mov %rsp,%rbp; push %rbx; push %rbp", arch.AMD64, true, "55 48 89 e5 53 55", "sp=c-32 fp=c-16 rbx=*(c-24) rbp=*(c-16)"},
		{"push %rbp; mov %rsp,%rbp; push %rbx; pop %rbx; pop %rbp", arch.AMD64, true, "55 48 89 e5 53 5b 5d", "sp=c-8 fp=rbp"},
		{"push %rbx; pop %rax", arch.AMD64, true, "53 58", "sp=c-8 fp=rbp rbx=*(c-16)"},
		{"push %rbx; mov (%rax),%rbx", arch.AMD64, true, "53 48 8b 18", "sp=c-16 fp=rbp rbx=*(c-16) lost:rbx"},
		{"push %rbx; mov (%rax),%rbx; pop %rbx", arch.AMD64, true, "53 48 8b 18 5b", "sp=c-8 fp=rbp"},
		{"push %rbx; push %rcx; pop %rbx", arch.AMD64, true, "53 51 5b", "sp=c-16 fp=rbp rcx=*(c-24) rbx=*(c-16)"},
		{"mov %rbx,(%rax)", arch.AMD64, true, "48 89 18", "sp=c-8 fp=rbp"},
		{"push %rbp; mov %rsp,%rbp; leave", arch.AMD64, true, "55 48 89 e5 c9", "sp=c-8 fp=rbp"},
		{"and $-16,%rsp; push %rbx", arch.AMD64, true, "48 83 e4 f0 53", "sp=u fp=rbp"},
		{"push %rbp; mov (%rax),%rbp; push %rbp", arch.AMD64, true, "55 48 8b 28 55", "sp=c-24 fp=u rbp=*(c-16) lost:rbp"},
		{"pop %rbx", arch.AMD64, false, "5b", "sp=rsp+8 fp=rbp rbx=*(rsp)"},
		{"pop %rbp", arch.AMD64, false, "5d", "sp=rsp+8 fp=*(rsp) rbp=*(rsp)"},
		{"pop %rsp", arch.AMD64, false, "5c", "sp=u fp=rbp"},
		{"pop %rbp; mov 8(%rbp),%rbx", arch.AMD64, false, "5d 48 8b 5d 08", "sp=rsp+8 fp=*(rsp) rbp=*(rsp) lost:rbx"},
		{"pop %rbp; mov %rbx,8(%rbp)", arch.AMD64, false, "5d 48 89 5d 08", "sp=rsp+8 fp=*(rsp) rbp=*(rsp)"},
		{"pop %rbp; mov %rbp,%rsp", arch.AMD64, false, "5d 48 89 ec", "sp=*(rsp) fp=*(rsp) rbp=*(rsp)"},
		{"pop %rbp; push %rbp", arch.AMD64, false, "5d 55", "sp=rsp fp=*(rsp) rbp=*(rsp) late:rbp"},
		{"push %rbx; pop %rbx", arch.AMD64, false, "53 5b", "sp=rsp fp=rbp"},
		{"push %rbx; pop %rbx; pop %rbx", arch.AMD64, false, "53 5b 5b", "sp=rsp+8 fp=rbp rbx=*(rsp)"},
		{"push %rbx, twice", arch.AMD64, false, "53 53", "sp=rsp-16 fp=rbp rbx=*(rsp-8) late:rbx kept:rbx"},
		{"push %rbx, twice; pop %rbx", arch.AMD64, false, "53 53 5b", "sp=rsp-8 fp=rbp late:rbx lost:rbx"},
		{"pop %rbx; push %rbx", arch.AMD64, false, "5b 53", "sp=rsp fp=rbp rbx=*(rsp) late:rbx"},
		{"pop %rbx; push %rbx; pop %rbx", arch.AMD64, false, "5b 53 5b", "sp=rsp+8 fp=rbp late:rbx lost:rbx"},
		{"push %rbx; mov 8(%rsp),%rbx", arch.AMD64, false, "53 48 8b 5c 24 08", "sp=rsp-8 fp=rbp late:rbx lost:rbx"},
		{"push %rbx; mov 8(%rsp),%rbx; pop %rbx", arch.AMD64, false, "53 48 8b 5c 24 08 5b", "sp=rsp fp=rbp late:rbx lost:rbx"},
		{"push %rcx; push %rbx; pop %rcx; pop %rbx", arch.AMD64, false, "51 53 59 5b", "sp=rsp fp=rbp late:rcx late:rbx lost:rcx lost:rbx"},
		{"push %rbp; pop %rbp", arch.AMD64, false, "55 5d", "sp=rsp fp=rbp"},
		{"push %rbp; mov %rsp,%rbp; pop %rbp", arch.AMD64, false, "55 48 89 e5 5d", "sp=rsp fp=rbp"},
		{"mov %rax,%rbp; push %rbp; pop %rbp", arch.AMD64, false, "48 89 c5 55 5d", "sp=rsp fp=u late:rbp lost:rbp"},
		{"leave", arch.AMD64, false, "c9", "sp=rbp+8 fp=*(rbp) rbp=*(rbp)"},
		{"mov (%rax),%rbx", arch.AMD64, false, "48 8b 18", "sp=rsp fp=rbp lost:rbx"},
		{"mov (%rax),%rbp", arch.AMD64, false, "48 8b 28", "sp=rsp fp=u lost:rbp"},
		{"stp x29,x30,[sp,-16]!", arch.AArch64, true, "fd 7b bf a9", "sp=c-16 fp=x29 ra=x30 x29=*(c-16) x30=*(c-8)"},
		{"stp x29,x30,[sp,-32]!; str x19,[sp,16]", arch.AArch64, true, "fd 7b be a9 f3 0b 00 f9", "sp=c-32 fp=x29 ra=x30 x19=*(c-16) x29=*(c-32) x30=*(c-24)"},
		{"stp; mov x29,sp; ldp x29,x30,[sp],16", arch.AArch64, true, "fd 7b bf a9 fd 03 00 91 fd 7b c1 a8", "sp=c+0 fp=x29 ra=x30"},
		{"stp; ldr x30,[x1]", arch.AArch64, true, "fd 7b bf a9 3e 00 40 f9", "sp=c-16 fp=x29 ra=u x29=*(c-16) x30=*(c-8) lost:x30"},
		{"ldr x30,[x1]; stp", arch.AArch64, true, "3e 00 40 f9 fd 7b bf a9", "sp=c-16 fp=x29 ra=u x29=*(c-16) lost:x30"},
		{"ldp x29,x30,[sp],16", arch.AArch64, false, "fd 7b c1 a8", "sp=sp+16 fp=*(sp) ra=*(sp+8) x29=*(sp) x30=*(sp+8)"},
		{"stp; ldp", arch.AArch64, false, "fd 7b bf a9 fd 7b c1 a8", "sp=sp fp=x29 ra=x30"},
		{"mov sp,x29; ldp", arch.AArch64, false, "bf 03 00 91 fd 7b c1 a8", "sp=x29+16 fp=*(x29) ra=*(x29+8) x29=*(x29) x30=*(x29+8)"},
		{"stmg %r6,%r15; lay", arch.S390X, true, "eb6ff0300024 e3f0ff60ff71", "sp=c-320 fp=r11 ra=r14 r6=*(c-112) r7=*(c-104) r8=*(c-96) r9=*(c-88) r10=*(c-80) r11=*(c-72) r12=*(c-64) r13=*(c-56) r14=*(c-48) r15=*(c-40)"},
		{"lmg %r6,%r15,208", arch.S390X, false, "eb6ff0d00004", "sp=*(r15+280) fp=*(r15+248) ra=*(r15+272) r6=*(r15+208) r7=*(r15+216) r8=*(r15+224) r9=*(r15+232) r10=*(r15+240) r11=*(r15+248) r12=*(r15+256) r13=*(r15+264) r14=*(r15+272) r15=*(r15+280)"},
		{"stmg; lmg", arch.S390X, false, "eb6ff0300024 eb6ff0300004", "sp=r15 fp=r11 ra=r14"},
	} {
		t.Run(tt.arch.Name+" "+tt.name, func(t *testing.T) {
			code, err := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			a := tt.arch
			p := &state{sp: arch.SameValue(a.SP), fp: arch.SameValue(a.FP), ra: a.Entry.RA}
			if tt.fromStart {
				p = &state{sp: startValue(a, a.SP), fp: a.Entry.FP, ra: a.Entry.RA}
			}
			for len(code) > 0 {
				f := disasm.FlowOf(a, code, codeAt)
				if f.Size == 0 {
					t.Fatalf("% x is no instruction", code)
				}
				p.execute(a, &f)
				code = code[f.Size:]
			}
			if got := p.text(a); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
