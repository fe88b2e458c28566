package cfi

import (
	"sync"
	"sync/atomic"

	"github.com/sfcore/sfcore/arch"
)

// Section is the call frame information of one module. It is immutable and
// safe for concurrent use. It keeps the bytes it was made of.
type Section struct {
	arch    *arch.Arch
	data    []byte
	debug   bool // .debug_frame, not .eh_frame
	origin  origin
	table   table
	checked sync.Once // the table, on first use

	// index replaces the table once that has been found missing or wrong.
	scanned sync.Once
	index   atomic.Pointer[index]
}

// ParseEHFrame makes a Section of the contents of .eh_frame and .eh_frame_hdr.
// frameAddr and hdrAddr are the run-time addresses of their first bytes.
//
// frame may run on beyond the section, if that is known only by its start
// (see [FrameAddr]). hdr may be nil: the first lookup then reads all of frame
// to make an index. The same happens where the table in hdr is unusable or
// wrong, and [Section.Problem] says why.
//
// The error is a [*FormatError] for frame being too short to hold an entry.
func ParseEHFrame(a *arch.Arch, frame []byte, frameAddr uint64, hdr []byte, hdrAddr uint64, bases Bases) (*Section, error) {
	s := &Section{
		arch: a, data: frame,
		origin: origin{self: frameAddr, text: bases.Text, data: bases.Data},
	}
	if len(frame) < lengthSize {
		return nil, s.formatError(0, "length", "the section is too short for an entry")
	}
	s.table = table{data: hdr, addr: hdrAddr, big: a.BigEndian}
	return s, nil
}

// ParseDebugFrame makes a Section of the contents of .debug_frame. bias is
// what was added to the link-time addresses of the module when it was loaded.
// The first lookup reads all of data to make an index.
//
// The error is a [*FormatError] for data being too short to hold an entry.
func ParseDebugFrame(a *arch.Arch, data []byte, bias uint64) (*Section, error) {
	s := &Section{arch: a, data: data, debug: true, origin: origin{abs: bias}}
	if len(data) < lengthSize {
		return nil, s.formatError(0, "length", "the section is too short for an entry")
	}
	return s, nil
}

// Problem returns why lookups do without the table in .eh_frame_hdr: a
// [*FormatError] about it, or about an entry that it points to. It is nil if
// there is no table, if the table is in use, and before the first lookup.
func (s *Section) Problem() error {
	if ix := s.index.Load(); ix != nil {
		return ix.why
	}
	return nil
}

func (s *Section) formatError(off int, field, msg string) error {
	name := ".eh_frame"
	if s.debug {
		name = ".debug_frame"
	}
	return &FormatError{Section: name, Off: uint64(off), Field: field, Msg: msg}
}

// faultError returns what c failed at, if it did.
func (s *Section) faultError(c *cursor) error {
	if c.fault == nil {
		return nil
	}
	return s.formatError(c.fault.at, c.fault.field, c.fault.msg)
}
