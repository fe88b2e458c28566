package arch

import "testing"

// TestRequired tells whoever adds an architecture which fields are missing.
func TestRequired(t *testing.T) {
	seen := map[string]bool{}
	abis := map[uint8]string{0: "none"}
	for a := range All() {
		name := a.Name
		if a.BigEndian {
			name += ", big-endian"
		}
		t.Run(name, func(t *testing.T) {
			for field, ok := range map[string]bool{
				"Name":           a.Name != "" && !seen[name],
				"Machine":        a.Machine != 0,
				"BFD":            a.BFD != "",
				"ELF.HashWord":   a.ELF.HashWord == 4 || a.ELF.HashWord == 8,
				"ELF.Relocs":     len(a.ELF.Relocs) > 0,
				"ELF.IRelative":  a.ELF.IRelative != 0,
				"ELF.PLT":        a.ELF.PLT.EntrySize != 0 || a.ELF.PLT.MaxSize != 0 && uint64(len(a.ELF.PLT.Last)) == a.InsnAlign,
				"SFrame":         a.SFrame.ABI == 0 || abis[a.SFrame.ABI] == "" && a.SFrame.CFAFactor != 0,
				"PC":             a.PC < NumRegs && a.Regs[a.PC] != "",
				"SP":             a.SP < NumRegs && a.Regs[a.SP] != "",
				"FP":             a.FP < NumRegs && a.Regs[a.FP] != "" && a.CalleeSaved.Has(a.FP),
				"LR":             a.LR == NoReg || a.LR < NumRegs && a.Regs[a.LR] != "",
				"StackAlign":     a.StackAlign > 0,
				"PrStatus":       len(a.PrStatus) > 0,
				"Vector":         a.Vector.Num == 0 || a.Vector.Name != "" && a.Vector.First >= uint64(a.PC),
				"Order":          a.Order == nil || Set(a.Order...).Has(a.PC),
				"FramePointer":   !a.FramePointer.Outermost(),
				"Entry":          !a.Entry.Outermost(),
				"SignalFrames":   len(a.SignalFrames) > 0,
				"AltStackToSP":   a.AltStackToSP > 0,
				"PACMask":        a.PAC == (a.PACMask != 0),
				"InsnAlign":      a.InsnAlign > 0,
				"EndsInCall ...": a.EndsInCall != nil && a.CallTarget != nil && a.Jump != nil && a.Slot != nil,
			} {
				if !ok {
					t.Errorf("%s is missing or wrong", field)
				}
			}
		})
		seen[name] = true
		if a.SFrame.ABI != 0 {
			abis[a.SFrame.ABI] = name
		}
	}
}
