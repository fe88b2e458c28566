package unwind

import (
	"errors"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/sframe"
)

// Stepper finds rows. It cannot change registers: every row of every stepper
// is applied, and checked, by the [Unwinder].
type Stepper interface {
	// Method is how frames are found that its rows lead to.
	Method() Method
	// Row fills in how the caller of the frame at the cursor is found. It
	// returns false if it knows nothing of that place, and an error if what it
	// knows is damaged. What row refers to is valid until the next call.
	Row(c *Cursor, row *arch.Row) (found bool, err error)
}

// Cursor is the frame whose caller is sought. It is the Unwinder's: a [Stepper]
// neither changes nor keeps it.
type Cursor struct {
	Arch *arch.Arch
	// Mem reads stack and data, Code below instructions: two readers, since
	// each remembers where it read last.
	Mem *memreader.Words
	// Module contains PC; nil if no module does.
	Module *Module
	// PC is the lookup pc: within the instruction being executed.
	PC   uint64
	Regs *arch.Regs
	// Code reads instructions.
	Code *memreader.Words
	// Exact is as in [Frame].
	Exact bool
	// Find tells what is at an address; a zero Place if nothing is mapped.
	Find func(addr uint64) Place
	// PACMask are the bits of a return address that a pointer authentication code
	// may occupy.
	PACMask uint64
	// Walk tells the stacks apart that one Unwinder walks.
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
		*row = c.Arch.SignalFrames[0].Row // there is one kind on a given kernel, but for old s390x programs
		found, err = true, nil
	}
	row.Uncertain = c.Module.Writable
	return found, err
}

// NewCFI returns a stepper that evaluates the module's call frame information. Of
// several sections the first that covers the place decides.
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
// pointer; on s390x, that it keeps a back chain.
func NewFramePointer() Stepper { return framePointerStepper{} }

// NewPromisedFramePointer returns NewFramePointer's stepper for modules whose
// .sframe has SFRAME_F_FRAME_POINTER, and for no others.
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

// marksOutermost reports whether the SFrame version that describes f says
// which frames have no caller: before V3 an outermost frame looks like others.
func marksOutermost(f *Frame) bool {
	if f.Module == nil || f.Module.SFrame == nil {
		return true
	}
	fn, found, err := f.Module.SFrame.Lookup(f.LookupPC())
	return err != nil || !found || fn.Table().Version >= sframe.V3
}
