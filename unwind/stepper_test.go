package unwind

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/sframe"
)

// cursorAt is the cursor of a frame at pc in a module.
func cursorAt(p *process, m *Module, pc uint64) *Cursor {
	words := func() *memreader.Words { return &memreader.Words{R: p.mem, BigEndian: p.arch.BigEndian} }
	regs := p.regs(map[arch.Reg]uint64{p.arch.PC: pc, p.arch.SP: stackAt})
	return &Cursor{Arch: p.arch, Module: m, PC: pc, Regs: regs, Mem: words(), Code: words(), Find: p.unwinder().Find, spent: new(spending)}
}

// The steppers of tables have a row where a table of the module has one. What the
// process could write to does not count as certain, and what a row costs counts.
func TestTableSteppers(t *testing.T) {
	a := arch.AMD64
	both := disputed(t, sframe.V2, arch.Row{CFA: arch.RegOffset(a.SP, 24), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}, 16, 0).module
	bad := cfiOf(t, a, codeAt, 0x3f) // no such instruction
	for _, tt := range []struct {
		name      string
		stepper   Stepper
		module    *Module
		pc        uint64
		cfa       int64 // from SP; 0 if there is no row
		uncertain bool
		fails     bool
		spent     bool
	}{
		{".sframe", NewSFrame(), both, codeAt, 24, false, false, true},
		{".sframe that can be written to", NewSFrame(), &Module{SFrame: both.SFrame, Writable: true}, codeAt, 24, true, false, true},
		{"not in .sframe", NewSFrame(), both, codeAt + 0x100, 0, false, false, false},
		{"no .sframe", NewSFrame(), &Module{CFI: both.CFI}, codeAt, 0, false, false, false},
		{"no module, for .sframe", NewSFrame(), nil, codeAt, 0, false, false, false},
		{"CFI", NewCFI(), both, codeAt, 16, false, false, true},
		{"CFI that can be written to", NewCFI(), &Module{CFI: both.CFI, Writable: true}, codeAt, 16, true, false, true},
		{"the second section", NewCFI(), &Module{CFI: []*cfi.Section{emptyCFI(t), both.CFI[0]}}, codeAt, 16, false, false, true},
		{"a damaged section, and a good one", NewCFI(), &Module{CFI: []*cfi.Section{bad, both.CFI[0]}}, codeAt, 16, false, false, true},
		{"a damaged section", NewCFI(), &Module{CFI: []*cfi.Section{bad}}, codeAt, 0, false, true, true},
		{"a damaged section, and one without", NewCFI(), &Module{CFI: []*cfi.Section{bad, emptyCFI(t)}}, codeAt, 0, false, true, true},
		{"not in CFI, whose CIE was read", NewCFI(), both, codeAt + 0x100, 0, false, false, true},
		{"no module, for CFI", NewCFI(), nil, codeAt, 0, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := cursorAt(newProcess(a), tt.module, tt.pc)
			var row arch.Row
			found, err := tt.stepper.Row(c, &row)
			if found != (tt.cfa != 0) || (err != nil) != tt.fails {
				t.Fatalf("got %v, %v", found, err)
			}
			if found && (row.CFA != arch.RegOffset(a.SP, tt.cfa) || row.Uncertain != tt.uncertain) {
				t.Errorf("got %+v, uncertain %v", row.CFA, row.Uncertain)
			}
			if (c.spent.steps > 0) != tt.spent {
				t.Errorf("it counts as %d steps", c.spent.steps)
			}
		})
	}
	if NewSFrame().Method() != SFrame || NewCFI().Method() != CFI || NewFramePointer().Method() != FramePointer {
		t.Error("a stepper has another method")
	}
}

// A stepper outside of a walk has no budget to take from.
func TestSpendWithoutWalk(t *testing.T) {
	(&Cursor{}).Spend(5)
	c := &Cursor{spent: new(spending)}
	c.Spend(5)
	c.Spend(2)
	if c.spent.steps != 7 {
		t.Errorf("got %d steps, want 7", c.spent.steps)
	}
}

// From V3 on, .sframe marks the trampoline of a signal, and the frames that have no
// caller.
func TestSFrameSignalAndOutermost(t *testing.T) {
	a := arch.AMD64
	row := arch.Row{CFA: arch.RegOffset(a.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}
	for _, version := range []sframe.Version{sframe.V2, sframe.V3} {
		m := disputed(t, version, row, 8, 0).module
		for _, tt := range []struct {
			name   string
			module *Module
			pc     uint64
			want   bool
		}{
			{"described", m, codeAt, version == sframe.V3},
			{"not described", m, codeAt + 0x100, true},
			{"no .sframe", new(Module), codeAt, true},
			{"no module", nil, codeAt, true},
		} {
			if got := marksOutermost(&Frame{PC: tt.pc, Exact: true, Module: tt.module}); got != tt.want {
				t.Errorf("version %d, %s: got %v", version, tt.name, got)
			}
		}
	}
}

// The frame pointer is followed in every frame, or only where the module promises it
// and the frame has made a call. If a table says where the record is in the frame, the
// CFA is known.
func TestFramePointerRow(t *testing.T) {
	a := arch.AArch64
	table := arch.Row{CFA: arch.RegOffset(a.SP, 48), RA: arch.AtCFA(-40), FP: arch.AtCFA(-48)}
	placed := arch.Row{CFA: arch.RegOffset(a.FP, 48), RA: arch.AtCFA(-40), FP: arch.AtCFA(-48)}
	promise := promising(t, a)
	for _, tt := range []struct {
		name      string
		stepper   Stepper
		module    *Module
		exact     bool
		unapplied *arch.Row
		want      *arch.Row
	}{
		{"any frame", NewFramePointer(), nil, true, nil, &a.FramePointer},
		{"a promise", NewPromisedFramePointer(), promise, false, nil, &a.FramePointer},
		{"a promise, but no call", NewPromisedFramePointer(), promise, true, nil, nil},
		{"no promise", NewPromisedFramePointer(), new(Module), false, nil, nil},
		{"no module", NewPromisedFramePointer(), nil, false, nil, nil},
		{"a record", NewFramePointer(), nil, false, &table, &placed},
		{"a promise and a record", NewPromisedFramePointer(), promise, false, &table, &placed},
		{"no record", NewFramePointer(), nil, false, &arch.Row{CFA: table.CFA, RA: arch.AtCFA(-8), FP: table.FP}, &a.FramePointer},
		{"a record in a register", NewFramePointer(), nil, false, &arch.Row{CFA: table.CFA, RA: table.RA, FP: arch.SameValue(a.FP)}, &a.FramePointer},
	} {
		c := cursorAt(newProcess(a), tt.module, codeAt)
		c.Exact, c.Unapplied = tt.exact, tt.unapplied
		var row arch.Row
		found, err := tt.stepper.Row(c, &row)
		if found != (tt.want != nil) || err != nil {
			t.Errorf("%s: got %v, %v", tt.name, found, err)
			continue
		}
		if found && (row.Format(a) != tt.want.Format(a)) {
			t.Errorf("%s: got %s, want %s", tt.name, row.Format(a), tt.want.Format(a))
		}
	}
}
