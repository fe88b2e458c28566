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
	// Walk is the number of the walk, by which a stepper tells apart the stacks
	// that one Unwinder walks.
	Walk uint64
}

// NewSFrame returns the stepper that looks rows up in the module's .sframe.
func NewSFrame() Stepper { return sframeStepper{} }

type sframeStepper struct{}

func (sframeStepper) Method() Method { return SFrame }

func (sframeStepper) Row(c *Cursor, row *arch.Row) (bool, error) {
	if c.Module == nil || c.Module.SFrame == nil {
		return false, nil
	}
	found, err := c.Module.SFrame.Find(c.PC, row)
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
	for _, section := range c.Module.CFI {
		found, e := s.machine.Find(section, c.PC, c.Regs, c.Mem, row)
		if found {
			row.Uncertain = c.Module.Writable
			return true, nil
		}
		if err == nil {
			err = e
		}
	}
	return false, err
}

// NewFramePointer returns the stepper that assumes that the code keeps a frame
// pointer. On s390x, it assumes a back chain.
func NewFramePointer() Stepper { return framePointerStepper{} }

// NewPromisedFramePointer returns a stepper like that of [NewFramePointer]. It
// has rows only for modules whose .sframe has SFRAME_F_FRAME_POINTER.
func NewPromisedFramePointer() Stepper { return framePointerStepper{promised: true} }

type framePointerStepper struct{ promised bool }

func (framePointerStepper) Method() Method { return FramePointer }

func (s framePointerStepper) Row(c *Cursor, row *arch.Row) (bool, error) {
	if s.promised && !promisesFramePointers(c.Module) {
		return false, nil
	}
	*row = c.Arch.FramePointer
	return true, nil
}

func promisesFramePointers(m *Module) bool {
	return m != nil && m.SFrame != nil && m.SFrame.FramePointers()
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
