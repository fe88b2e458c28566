// Package expr evaluates DWARF expressions: to a value, as call frame
// information has them, or to where an object is [DWARF 5, 2.5 and 2.6].
//
// It reads registers and memory through a [Context] and finds nothing itself:
// what expressions of debug information refer to beyond these is asked of
// [Debug]. A register or memory that is not known makes what is computed with
// it unknown, with the reason; it never becomes a number.
package expr
