package cfi

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
)

// TestRowsDelve compares every row with delve's interpreter, for the CFA and
// for all registers. What delve 1.27.2 does not do is left out: big-endian
// data, pointer authentication, DW_CFA_restore of a register that has a rule
// by the CIE, DW_CFA_val_offset, and other FDE encodings than absptr and
// pcrel. It has no rule that tells undefined from unspecified.
func TestRowsDelve(t *testing.T) {
	for _, name := range []string{"proepi.amd64", "lld.amd64", "cxx.amd64", "libc.amd64", "debugframe.amd64", "corrupt.aarch64"} {
		t.Run(name, func(t *testing.T) {
			s := openSection(t, name)
			oracle := parseDelve(t, openELF(t, name))
			var m Machine
			rows := 0
			for f, err := range s.FDEs() {
				if err != nil {
					t.Fatal(err)
				}
				fde, err := oracle.FDEForPC(f.Start)
				if err != nil || fde.Begin() != f.Start || fde.End() != f.Start+f.Size {
					t.Fatalf("FDE at %#x: delve has %v, %v", f.Off, fde, err)
				}
				for row, err := range m.Rows(s, f) {
					if err != nil {
						t.Fatal(err)
					}
					want, err := fde.EstablishFrame(row.Lo)
					if err != nil {
						t.Fatal(err)
					}
					compareDelve(t, s.arch, &row, want)
					rows++
				}
			}
			if rows == 0 {
				t.Error("no rows")
			}
		})
	}
}

func parseDelve(t *testing.T, f *elfx.File) frame.FrameDescriptionEntries {
	t.Helper()
	data, addr := sectionData(f, ".eh_frame")
	if data == nil {
		data, _ = sectionData(f, ".debug_frame")
	}
	parsed, err := frame.Parse(data, binary.LittleEndian, 0, addrSize, addr)
	if err != nil {
		t.Fatal(err)
	}
	return frame.FrameDescriptionEntries{}.Append(parsed) // which sorts them
}

// compareDelve compares a row with delve's at the same pc.
func compareDelve(t *testing.T, a *arch.Arch, row *Row, want *frame.FrameContext) {
	t.Helper()
	check := func(of arch.Reg, got arch.Rule, want frame.DWRule) {
		t.Helper()
		var code []byte
		for _, e := range row.Exprs {
			if e.Reg == of {
				code = e.Code
			}
		}
		ok := false
		switch want.Rule {
		case frame.RuleUndefined, frame.RuleSameVal:
			ok = code == nil && (got.Base == arch.Undefined || got == arch.SameValue(of))
		case frame.RuleOffset:
			ok = got == arch.AtCFA(want.Offset)
		case frame.RuleRegister:
			ok = got == arch.SameValue(arch.Reg(want.Reg))
		case frame.RuleCFA:
			ok = got == arch.RegOffset(arch.Reg(want.Reg), want.Offset)
		case frame.RuleExpression, frame.RuleValExpression:
			ok = code != nil && bytes.Equal(code, want.Expression)
		}
		if !ok {
			t.Errorf("at %#x, %s: got %s (expression % x), delve has %+v", row.Lo, a.RegName(of), got.Format(a), code, want)
		}
	}
	check(arch.NoReg, row.CFA, want.CFA)
	ra := row.RA
	if a.LR != arch.NoReg && ra == arch.SameValue(a.LR) {
		ra = arch.Rule{}
	}
	check(a.PC, ra, want.Regs[want.RetAddrReg])
	check(a.FP, row.FP, want.Regs[uint64(a.FP)])
	seen := arch.Set(a.RA(), a.FP)
	for _, e := range row.Extra {
		check(e.Reg, e.Rule, want.Regs[uint64(e.Reg)])
		seen |= arch.Set(e.Reg)
	}
	for n, rule := range want.Regs {
		if reg, ok := a.FromDWARF(n); ok && !seen.Has(reg) {
			check(reg, arch.Rule{}, rule)
		}
	}
}
