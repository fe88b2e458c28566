package main

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/funcname"
	"github.com/sfcore/sfcore/report"
)

// scene appends where a thread stopped.
func (w *textFormat) scene(b []byte, s *report.Scene) []byte {
	if s == nil {
		return b
	}
	b = w.instructions(b, s.Instructions)
	for i := range s.Accesses {
		b = w.access(b, &s.Accesses[i])
	}
	b = append(b, "  registers\n"...)
	for i := 0; i < len(s.Registers); {
		n := 1
		for n < registersInLine && i+n < len(s.Registers) && s.Registers[i].Text == "" && s.Registers[i+n].Text == "" {
			n++
		}
		b = append(b, "   "...)
		for j := range s.Registers[i : i+n] {
			b = w.register(b, &s.Registers[i+j], j+1 < n)
		}
		b = append(b, '\n')
		i += n
	}
	return b
}

// registersInLine is how many registers a line has that point to nothing.
const registersInLine = 3

func (w *textFormat) register(b []byte, r *report.Register, padded bool) []byte {
	start := len(b)
	b = append(append(b, ' '), plain(r.Name)...)
	b = append(pad(b, start, 6), ' ')
	start = len(b)
	value := fmt.Sprintf("%#x", uint64(r.Value))
	b = w.paint.end(append(w.paint.begin(b, colorAddress), value...))
	if padded || r.Text != "" {
		b = pad(b, start, len("0x")+16+len(b)-start-len(value))
	}
	if r.Text != "" {
		b = w.target(append(b, "  "...), &r.Target, targetIndent)
	}
	return b
}

// targetIndent is where the text about a register begins.
const targetIndent = len("    rip   0x0000000000000000  ")

// target appends what is at an address, behind so many columns.
func (w *textFormat) target(b []byte, t *report.Target, at int) []byte {
	if t.Kind != report.KindFreed && t.Kind != report.KindUnmapped {
		return w.wrap(b, at, targetIndent, plain(t.Text))
	}
	return w.paint.end(w.wrap(w.paint.begin(b, colorBad), at, targetIndent, plain(t.Text)))
}

func (w *textFormat) access(b []byte, a *report.Access) []byte {
	does := "accesses"
	switch {
	case a.Read && !a.Write:
		does = "reads"
	case a.Write && !a.Read:
		does = "writes"
	}
	if a.Size != 0 {
		does += " " + countOf(a.Size, "byte", "bytes") + " at"
	}
	does = fmt.Sprintf("  it %s %#x: ", does, uint64(a.Address))
	return append(w.target(append(b, does...), &a.Target, len(does)), '\n')
}

func (w *textFormat) instructions(b []byte, all []report.Instruction) []byte {
	if len(all) == 0 {
		return append(b, "  no instructions are known at the pc\n"...)
	}
	b = append(b, "  instructions"...)
	if name := all[0].Function; name != "" {
		b = append(append(b, " of "...), plain(funcname.Short(name))...)
	}
	b = append(b, '\n')
	for i := range all {
		b = w.instruction(b, &all[i])
	}
	return b
}

func (w *textFormat) instruction(b []byte, in *report.Instruction) []byte {
	mark := "  "
	if in.Current {
		mark = w.paint.bad("=>")
	}
	b = append(append(append(b, "   "...), mark...), ' ')
	where := fmt.Sprintf("%#x", uint64(in.Address))
	if in.Function != "" {
		where = fmt.Sprintf("%s  +%#x", where, uint64(in.Offset.Addr))
	}
	b = w.paint.end(append(w.paint.begin(b, colorAddress), where...))
	b = pad(b, len(b), len("0x7ffff7dd1234  +0x123")-len(where))
	return append(append(append(b, "  "...), plain(in.Text)...), '\n')
}
