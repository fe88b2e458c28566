package cfi

import "fmt"

// FormatError is a defect of a section.
type FormatError struct {
	Section string // .eh_frame, .eh_frame_hdr or .debug_frame
	Off     uint64 // in bytes, from the start of the section
	Field   string // the field or instruction, as its specification spells it
	Msg     string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: %s at offset %#x: %s", e.Section, e.Field, e.Off, e.Msg)
}
