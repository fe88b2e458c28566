package sframe

import (
	"errors"
	"fmt"
)

// FormatError is damage in a section, or contents that it should not have.
type FormatError struct {
	// ID is a stable name of the kind of damage, like "fre-not-ascending".
	// [Meanings] has them all.
	ID string
	// Off is the offset of Field in the section, in bytes.
	Off int64
	// Field is spelled as in the specification of the table's version.
	Field string
	// Msg says what is wrong with the field.
	Msg string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("sframe: %s at offset %#x: %s", e.Field, e.Off, e.Msg)
}

// ErrSignalContext is returned for a pc in a signal trampoline whose FDE has
// no rows: the caller's registers are in the ucontext on the stack, and
// SFrame does not say where [SFrame 3, 2.3].
var ErrSignalContext = errors.New("sframe: signal frame without rows: the registers are in the ucontext")

func damage(id string, off int, field, format string, args ...any) *FormatError {
	return &FormatError{ID: id, Off: int64(off), Field: field, Msg: fmt.Sprintf(format, args...)}
}
