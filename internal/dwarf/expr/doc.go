// Package expr evaluates DWARF expressions: those of call frame information to
// a value, those of debug information to the location of an object
// [DWARF 5, 2.5 and 2.6].
//
// It reads registers and memory through a [Context]. Everything else that an
// expression of debug information refers to comes from [Debug]. If a register or
// memory is unknown, so is every result computed from it, with the reason; an
// unknown never becomes a number.
package expr
