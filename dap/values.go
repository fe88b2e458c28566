package dap

import (
	"fmt"

	godap "github.com/google/go-dap"
)

// value writes a number: in hexadecimal with the name of the code it points
// into, or also in decimal if it is not an address.
func (s *snapshot) value(v uint64, format *godap.ValueFormat) string {
	hex := address(v)
	if name, start := s.symbol(v); name != "" && s.executable(v) {
		if v == start {
			return fmt.Sprintf("%s <%s>", hex, oneLine(name))
		}
		return fmt.Sprintf("%s <%s+%d>", hex, oneLine(name), v-start)
	}
	if v < 10 || format != nil && format.Hex || s.mapped(v) {
		return hex
	}
	return fmt.Sprintf("%s (%d)", hex, int64(v))
}

func (s *snapshot) executable(addr uint64) bool {
	m := s.process.Image().Mapping(addr)
	return m != nil && m.Exec
}

func (s *snapshot) mapped(addr uint64) bool { return s.process.Image().Mapping(addr) != nil }

// pointer returns a memory reference if v points into memory, else "".
func (s *snapshot) pointer(v uint64) string {
	if !s.mapped(v) {
		return ""
	}
	return address(v)
}

// word makes a variable of a number.
func (s *snapshot) word(name string, v uint64, format *godap.ValueFormat) godap.Variable {
	return godap.Variable{Name: name, Value: s.value(v, format), MemoryReference: s.pointer(v)}
}

func text(name, value string) godap.Variable {
	return godap.Variable{
		Name: name, Value: oneLine(value),
		PresentationHint: &godap.VariablePresentationHint{Attributes: []string{"readOnly"}},
	}
}
