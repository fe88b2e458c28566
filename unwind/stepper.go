package unwind

import (
	"errors"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/sframe"
)

// Stepper finds rows. It cannot change registers: the [Unwinder] applies and
// checks every row of every stepper.
type Stepper interface {
	// Method returns the method of the frames that its rows lead to.
	Method() Method
	// Row fills in the row that leads from the frame at the cursor to its caller.
	// It returns false if it knows nothing about the code there, and an error if
	// its source of rows is damaged. Everything that row refers to is valid until
	// the next call.
	Row(c *Cursor, row *arch.Row) (found bool, err error)
}

// Cursor describes the frame whose caller the walk looks for. It belongs to the
// Unwinder: a [Stepper] neither changes nor keeps it.
type Cursor struct {
	Arch *arch.Arch
	// Mem reads stack and data; Code, below, reads instructions. They are
	// separate because each remembers where it read last.
	Mem *memreader.Words
	// Module contains PC; nil if no module does.
	Module *Module
	// PC is the address to look up in tables. It is within the instruction that
	// the frame was executing.
	PC   uint64
	Regs *arch.Regs
	// Code reads instructions.
	Code *memreader.Words
	// Exact is as in [Frame].
	Exact bool
	// Find tells what is at an address. It returns a zero Place if nothing is
	// mapped there.
	Find func(addr uint64) Place
	// PACMask are the bits of a return address that a pointer authentication code
	// may occupy.
	PACMask uint64
	// Unapplied is the row of a table that needs SP, if SP is not known in this
	// frame. It is nil if there is no such row.
	Unapplied *arch.Row
	// Walk is the number of the walk, by which a stepper tells apart the stacks
	// that one Unwinder walks.
	Walk uint64

	spent *spending
}

// NewSFrame returns the stepper that looks rows up in the module's .sframe.
func NewSFrame() Stepper { return sframeStepper{} }

type sframeStepper struct{}

func (sframeStepper) Method() Method { return SFrame }

func (sframeStepper) Row(c *Cursor, row *arch.Row) (bool, error) {
	if c.Module == nil || c.Module.SFrame == nil {
		return false, nil
	}
	rows := 0
	found, err := c.Module.SFrame.FindCounting(c.PC, row, &rows)
	c.Spend(rows)
	if errors.Is(err, sframe.ErrSignalContext) {
		*row = c.Arch.SignalFrames[0].Row // a kernel has one kind only, except for old s390x programs
		found, err = true, nil
	}
	row.Uncertain = c.Module.Writable
	return found, err
}

// NewCFI returns a stepper that evaluates the module's call frame information. If
// there are several sections, the first one that covers the pc decides.
func NewCFI() Stepper { return new(cfiStepper) }

type cfiStepper struct{ machine cfi.Machine }

func (*cfiStepper) Method() Method { return CFI }

func (s *cfiStepper) Row(c *Cursor, row *arch.Row) (found bool, err error) {
	if c.Module == nil {
		return false, nil
	}
	before := s.machine.Work
	for _, section := range c.Module.CFI {
		found, e := s.machine.Find(section, c.PC, c.Regs, c.Mem, row)
		if found {
			c.Spend(s.machine.Work - before)
			row.Uncertain = c.Module.Writable
			return true, nil
		}
		if err == nil {
			err = e
		}
	}
	c.Spend(s.machine.Work - before)
	return false, err
}

// NewFramePointer returns the stepper that assumes that the code keeps a frame
// pointer. On s390x, it assumes a back chain.
func NewFramePointer() Stepper { return framePointerStepper{} }

// NewPromisedFramePointer returns a stepper like that of [NewFramePointer]. It
// has rows only for modules whose .sframe has SFRAME_F_FRAME_POINTER, and only for
// frames that made a call. The flag promises that functions preserve the frame
// pointer. It does not promise that a frame is set up at every instruction: a
// function may be in its prologue, or have no frame [SFrame 2, 2.1.3].
func NewPromisedFramePointer() Stepper { return framePointerStepper{promised: true} }

type framePointerStepper struct{ promised bool }

func (framePointerStepper) Method() Method { return FramePointer }

func (s framePointerStepper) Row(c *Cursor, row *arch.Row) (bool, error) {
	if s.promised && (c.Exact || !promisesFramePointers(c.Arch, c.Module)) {
		return false, nil
	}
	*row = c.Arch.FramePointer
	if c.Unapplied != nil {
		placeRecord(row, c.Unapplied, c.Arch.FP)
	}
	return true, nil
}

// placeRecord completes the row of the frame-pointer convention by the row of a
// table. The table says where in the frame the return address and the frame pointer
// were saved. If that is a frame record, the frame pointer is its address, so the
// CFA is known.
func placeRecord(row, table *arch.Row, fp arch.Reg) {
	saved := arch.AtCFA(table.FP.Off)
	if table.FP == saved && table.RA == arch.AtCFA(table.FP.Off+row.RA.Off-row.FP.Off) {
		*row = arch.Row{
			CFA: arch.RegOffset(fp, row.CFA.Off+row.FP.Off-table.FP.Off), RA: table.RA, FP: table.FP,
		}
	}
}

// promisesFramePointers reports whether .sframe promises that all functions of a
// module preserve the frame pointer, and the convention finds callers by it. On
// s390x, it finds them by the back chain, which nothing promises.
func promisesFramePointers(a *arch.Arch, m *Module) bool {
	return m != nil && m.SFrame != nil && m.SFrame.FramePointers() && a.FramePointer.CFA.Reg == a.FP
}

// marksOutermost reports whether the SFrame version that describes f marks the
// frames that have no caller. Before V3, an outermost frame looks like any other.
func marksOutermost(f *Frame) bool {
	if f.Module == nil || f.Module.SFrame == nil {
		return true
	}
	fn, found, err := f.Module.SFrame.Lookup(f.LookupPC())
	return err != nil || !found || fn.Table().Version >= sframe.V3
}
