package dap

import (
	"fmt"
	"math"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
)

// notRecovered is the value of a register that is not known in a frame.
const notRecovered = "not recovered"

// The groups of registers.
const (
	groupGeneral = iota
	groupFloat
	groupFlags
	groupVector
)

var groupNames = [...]string{"general", "floating point", "flags", "vector"}

func (s *snapshot) groupVariables(st *stack, r ref) []godap.Variable {
	var vars []godap.Variable
	raw := rawRegsOf[s.process.Image().Arch.Machine]
	for g, size := range []int{len(s.registersIn(groupGeneral)), len(s.registersIn(groupFloat)), len(raw.flags), len(raw.vector)} {
		if size == 0 {
			continue
		}
		note := fmt.Sprintf("%d registers", size)
		if st.physical[r.frame] > 0 && g >= groupFlags {
			note = notRecovered + ": known only where the thread stopped"
		}
		vars = append(vars, godap.Variable{
			Name: groupNames[g], Value: note, NamedVariables: size,
			VariablesReference: s.refs.id(ref{kind: refGroup, thread: r.thread, frame: r.frame, item: g}),
		})
	}
	return vars
}

// amd64Order is the order in which people list the registers of amd64, by
// DWARF number.
var amd64Order = []arch.Reg{16, 0, 3, 2, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// registersIn returns the registers with a rule that are in a group, the PC
// first.
func (s *snapshot) registersIn(group int) []arch.Reg {
	a := s.process.Image().Arch
	if a.Machine == arch.EMX86_64 && group == groupGeneral {
		return amd64Order
	}
	var regs []arch.Reg
	if group == groupGeneral {
		regs = append(regs, a.PC)
	}
	for reg := range arch.Reg(arch.NumRegs) {
		name := a.Regs[reg]
		if name != "" && reg != a.PC && (name[0] == 'f') == (group == groupFloat) {
			regs = append(regs, reg)
		}
	}
	return regs
}

func (s *snapshot) registerVariables(st *stack, r ref, format *godap.ValueFormat) []godap.Variable {
	a := s.process.Image().Arch
	var vars []godap.Variable
	if r.item < groupFlags {
		f := st.frame(r.frame)
		for _, reg := range s.registersIn(r.item) {
			v := godap.Variable{Name: a.Regs[reg], Value: notRecovered, EvaluateName: "$" + a.Regs[reg]}
			if value, ok := f.Regs.Get(reg); ok {
				v.Value, v.MemoryReference = s.value(value, format), s.pointer(value)
			}
			vars = append(vars, v)
		}
		return vars
	}
	raw := rawRegsOf[a.Machine].flags
	if r.item == groupVector {
		raw = rawRegsOf[a.Machine].vector
	}
	for i := range raw {
		v := godap.Variable{Name: raw[i].name, Value: notRecovered, EvaluateName: "$" + raw[i].name}
		if st.physical[r.frame] == 0 {
			s.rawVariable(&v, st.walked.Thread, &raw[i], format)
			if r.item == groupVector && v.Type != "" {
				v.VariablesReference = s.refs.id(ref{kind: refVector, thread: r.thread, frame: r.frame, item: i})
			}
		}
		vars = append(vars, v)
	}
	return vars
}

// rawVariable fills in the value of a register from a note.
func (s *snapshot) rawVariable(v *godap.Variable, th *core.Thread, r *rawReg, format *godap.ValueFormat) {
	b, ok := r.bytes(th, s.process.Image().Arch.BigEndian)
	switch {
	case !ok:
		v.Value = "not in the core file"
	case len(b) > 8:
		b = widen(b, th, r)
		v.Value, v.Type = hexBytes(b), fmt.Sprintf("%d bits", 8*len(b))
	case r.bits != nil:
		v.Value = flagText(littleEndian(b), r.bits)
	default:
		v.Value, v.MemoryReference = s.value(littleEndian(b), format), s.pointer(littleEndian(b))
	}
}

const (
	xstateFeatures = 512 // XSTATE_BV in the header of the XSAVE area
	xstateAVX      = 1 << 2
	xstateYMM      = 576 // the upper halves of ymm0 to ymm15 [Intel SDM 1, 13.4.3; CPUID leaf 0xd has the same on all processors]
)

// widen makes an xmm register of amd64 the ymm register that it is the lower
// half of, if the image has the upper half.
func widen(b []byte, th *core.Thread, r *rawReg) []byte {
	upper := xstateYMM + (r.off - 160)
	if r.note != fpRegSet || r.name[0] != 'x' || upper+16 > len(th.XState) || th.XState[xstateFeatures]&xstateAVX == 0 {
		return b
	}
	return append(b, th.XState[upper:upper+16]...)
}

// vectorElements shows a vector register as numbers of each type.
func (s *snapshot) vectorElements(st *stack, r ref, _ *godap.ValueFormat) []godap.Variable {
	raw := &rawRegsOf[s.process.Image().Arch.Machine].vector[r.item]
	b, ok := raw.bytes(st.walked.Thread, s.process.Image().Arch.BigEndian)
	if !ok {
		return nil
	}
	b = widen(b, st.walked.Thread, raw)
	var vars []godap.Variable
	for _, t := range []struct {
		name string
		size int
		text func(v uint64) string
	}{
		{"float32", 4, func(v uint64) string { return fmt.Sprint(math.Float32frombits(uint32(v))) }},
		{"float64", 8, func(v uint64) string { return fmt.Sprint(math.Float64frombits(v)) }},
		{"uint8", 1, func(v uint64) string { return fmt.Sprintf("0x%02x", v) }},
		{"uint16", 2, func(v uint64) string { return fmt.Sprintf("0x%04x", v) }},
		{"uint32", 4, func(v uint64) string { return fmt.Sprintf("0x%08x", v) }},
		{"uint64", 8, func(v uint64) string { return fmt.Sprintf("0x%016x", v) }},
	} {
		var list []byte
		for at := 0; at < len(b); at += t.size {
			list = append(list, ' ')
			list = append(list, t.text(littleEndian(b[at:at+t.size]))...)
		}
		vars = append(vars, text(t.name, "["+string(list[1:])+"]"))
	}
	return vars
}
