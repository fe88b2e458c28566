package disasm

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/arch"
)

// flowText describes a Flow: where it goes if that is not to the next
// instruction, and what becomes of registers.
func flowText(a *arch.Arch, f *Flow) string {
	names := [...]string{"nowhere", "", "call", "system", "branch", "jump", "return", "halt", "exit"}
	words := []string{names[f.Next]}
	if f.Target != 0 {
		words = append(words, fmt.Sprintf("%#x", f.Target))
	}
	if f.Entry {
		words = append(words, "entry")
	}
	if f.Leaves {
		words = append(words, "leaves")
	}
	for _, r := range []struct {
		reg  arch.Reg
		rule arch.Rule
	}{{a.SP, f.SP}, {a.FP, f.FP}, {a.LR, f.LR}} {
		if r.rule != arch.SameValue(r.reg) {
			words = append(words, a.RegName(r.reg)+"="+r.rule.Format(a))
		}
	}
	for _, m := range f.Moves {
		if m.Num == 0 {
			continue
		}
		verb := "store"
		if m.Load {
			verb = "load"
		}
		words = append(words, fmt.Sprintf("%s %d %s %s", verb, m.Num, a.RegName(m.First), m.At.Format(a)))
	}
	return strings.TrimSpace(strings.Join(words, " "))
}
