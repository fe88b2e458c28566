package process

import (
	"encoding/hex"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/internal/funcname"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// instructionsBefore and instructionsAfter are how many instructions are shown
	// around the one that was being executed.
	instructionsBefore, instructionsAfter = 6, 4
	// maxCode is how far behind the beginning of a function its instructions are decoded
	// from there, in bytes.
	maxCode = 256 << 10
)

// AddScene adds where the thread of s stopped to r, which Describe made from s. It recovers
// the registers of s.
func (w *Walker) AddScene(s *Stack, r *report.Thread) { w.recover(s, r) }

func (w *Walker) addScene(s *Stack, r *report.Thread) {
	p := w.process
	regs, scene := &s.Frames[0].Regs, &report.Scene{Registers: []report.Register{}}
	targets := w.newTargets(s)
	current := w.addInstructions(scene, &s.Frames[0])
	used := arch.Set(p.img.Arch.PC)
	for i := range current.Operands {
		o := &current.Operands[i]
		if o.Base != arch.NoReg {
			used |= arch.Set(o.Base)
		}
		if addr, ok := o.Address(regs); ok {
			scene.Accesses = append(scene.Accesses, report.Access{
				Address: report.Addr(addr), Size: o.Size, Read: o.Read, Write: o.Write, Target: targets.of(addr, true),
			})
		}
	}
	for _, reg := range generalRegisters(p.img.Arch) {
		if v, ok := regs.Get(reg); ok {
			scene.Registers = append(scene.Registers, report.Register{
				Name: p.img.Arch.RegName(reg), Value: report.Addr(v), Target: targets.of(v, used.Has(reg)),
			})
		}
	}
	r.Scene = scene
}

// generalRegisters are the registers that hold integers, pc first.
func generalRegisters(a *arch.Arch) []arch.Reg {
	if a.Order != nil {
		return a.Order
	}
	regs := []arch.Reg{a.PC}
	for reg := range arch.Reg(arch.NumRegs) {
		if a.Regs[reg] != "" && reg != a.PC && !a.Floats.Has(reg) {
			regs = append(regs, reg)
		}
	}
	return regs
}

// addInstructions adds the instructions around that of a frame, and returns what that one
// may fail at.
func (w *Walker) addInstructions(scene *report.Scene, f *unwind.Frame) (current disasm.Effect) {
	a := w.process.img.Arch
	words := &memreader.Words{R: w.process.Memory(), BigEndian: a.BigEndian}
	at, pc := w.instructionsBefore(words, f), f.LookupPC()
	function, _ := w.codeName(pc)
	for after := 0; after <= instructionsAfter; {
		code := codeFrom(words, at)
		inst := disasm.Decode(a, code, at, w.shortCodeName)
		if inst.Size <= 0 || inst.Size > len(code) {
			break
		}
		in := report.Instruction{Address: report.Addr(at), Bytes: hex.EncodeToString(code[:inst.Size]), Text: inst.Text}
		name, start := w.codeName(at)
		if at > pc && name != function {
			break
		}
		if name != "" {
			in.Function, in.Offset = name, report.Known(at-start)
		}
		if pc >= at && pc-at < uint64(inst.Size) {
			in.Current = true
			current = disasm.EffectOf(a, code, at)
		}
		scene.Instructions = append(scene.Instructions, in)
		if at += uint64(inst.Size); at > pc {
			after++
		}
	}
	return current
}

// instructionsBefore returns the address of an instruction some before that of a frame:
// they are known only from the beginning of the function.
func (w *Walker) instructionsBefore(words *memreader.Words, f *unwind.Frame) uint64 {
	pc := f.LookupPC()
	name, at := w.codeName(pc)
	if name == "" || pc-at > maxCode {
		return f.PC
	}
	var last [instructionsBefore + 1]uint64 // the addresses of the last ones, in turn
	for n := 0; ; n++ {
		last[n%len(last)] = at
		code := codeFrom(words, at)
		if len(code) == 0 {
			return f.PC
		}
		size, _ := disasm.Measure(w.process.img.Arch, code)
		switch {
		case size <= 0:
			return f.PC
		case pc-at < uint64(size):
			return last[max(0, n-instructionsBefore)%len(last)]
		}
		at += uint64(size)
	}
}

// codeFrom returns what can be read of an instruction at an address, valid until words is
// used again.
func codeFrom(words *memreader.Words, at uint64) []byte {
	code, err := words.Bytes(at, disasm.MaxSize)
	if err == nil {
		return code
	}
	code = make([]byte, disasm.MaxSize)
	n, _ := words.R.ReadMem(code, at)
	return code[:n]
}

// codeName returns the function at an address and where it begins; "" if it has no name.
func (w *Walker) codeName(addr uint64) (string, uint64) {
	names := w.name(addr).names
	if len(names) == 0 {
		return "", 0
	}
	n := &names[len(names)-1]
	return n.demangled, addr - n.Offset
}

// shortCodeName is codeName for sentences, which have no room for parameters.
func (w *Walker) shortCodeName(addr uint64) (string, uint64) {
	name, start := w.codeName(addr)
	return funcname.Short(name), start
}
