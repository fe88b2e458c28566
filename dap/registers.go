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
	raw := rawRegsOf(s.process.Image().Arch)
	for g, size := range []int{len(s.registersIn(groupGeneral)), len(s.registersIn(groupFloat)), len(raw.flags), len(raw.vector)} {
		if size == 0 {
			continue
		}
		note := fmt.Sprintf("%d registers", size)
		if !st.innermost(r.frame) && g >= groupFlags {
			note = notRecovered + ": known only where the thread stopped"
		}
		vars = append(vars, godap.Variable{
			Name: groupNames[g], Value: note, NamedVariables: size,
			VariablesReference: s.refs.id(ref{kind: refGroup, thread: r.thread, frame: r.frame, item: g}),
		})
	}
	return vars
}

// registersIn returns the registers with a rule that are in a group, the PC
// first.
func (s *snapshot) registersIn(group int) []arch.Reg {
	a := s.process.Image().Arch
	if a.Order != nil && group == groupGeneral {
		return a.Order
	}
	var regs []arch.Reg
	if group == groupGeneral {
		regs = append(regs, a.PC)
	}
	for reg := range arch.Reg(arch.NumRegs) {
		if a.Regs[reg] != "" && reg != a.PC && a.Floats.Has(reg) == (group == groupFloat) {
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
	raw := rawRegsOf(a)
	list := raw.flags
	if r.item == groupVector {
		list = raw.vector
	}
	for i := range list {
		v := godap.Variable{Name: list[i].Name, Value: notRecovered, EvaluateName: "$" + list[i].Name}
		switch {
		case !st.innermost(r.frame):
		case r.item != groupVector:
			s.rawVariable(&v, st.walked.Thread, &list[i], format)
		case s.vectorVariable(&v, st.walked.Thread, i, &list[i]):
			v.VariablesReference = s.refs.id(ref{kind: refVector, thread: r.thread, frame: r.frame, item: i})
		}
		vars = append(vars, v)
	}
	return vars
}

const notInCore = "not in the core file"

// rawVariable fills in the value of a register from a note.
func (s *snapshot) rawVariable(v *godap.Variable, th *core.Thread, r *arch.RawReg, format *godap.ValueFormat) {
	b, ok := rawBytes(s.process.Image().Arch, r, th)
	switch {
	case !ok:
		v.Value = notInCore
	case r.Bits != nil:
		v.Value = flagText(littleEndian(b), r.Bits)
	default:
		v.Value, v.MemoryReference = s.value(littleEndian(b), format), s.pointer(littleEndian(b))
	}
}

// vectorVariable fills in the value of vector register i, if it is known.
func (s *snapshot) vectorVariable(v *godap.Variable, th *core.Thread, i int, r *arch.RawReg) bool {
	b, ok := vectorBytes(s.process.Image().Arch, i, r, th)
	if !ok {
		v.Value = notInCore
		return false
	}
	v.Value, v.Type = hexBytes(b), fmt.Sprintf("%d bits", 8*len(b))
	return true
}

// vectorElements shows a vector register as numbers of each type.
func (s *snapshot) vectorElements(st *stack, r ref, _ *godap.ValueFormat) []godap.Variable {
	a := s.process.Image().Arch
	b, ok := vectorBytes(a, r.item, &rawRegsOf(a).vector[r.item], st.walked.Thread)
	if !ok {
		return nil
	}
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
