package main

import (
	"fmt"
	"slices"
	"strings"
)

// column is a part of the line of a frame.
type column string

// The columns, in the order in which lines have them by default.
const (
	columnName      column = "name"      // the function as people say it
	columnSignature column = "signature" // its whole name, with parameters
	columnPlace     column = "place"     // file and line
	columnModule    column = "module"
	columnMethod    column = "method"
	columnPC        column = "pc"
)

var allColumns = []column{columnName, columnSignature, columnPlace, columnModule, columnMethod, columnPC}

// columns are what the lines of frames have. The zero value is what fits: name, place and
// module, and of method and pc what does not hide them.
type columns struct {
	list  []column
	short bool // no offsets and directories
}

// Set implements pflag.Value.
func (c *columns) Set(text string) error {
	c.list = nil
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(allColumns, column(name)) {
			return fmt.Errorf("there is no column %q; the columns are %s", name, columnNames())
		}
		if slices.Contains(c.list, column(name)) {
			return fmt.Errorf("column %q is there twice", name)
		}
		c.list = append(c.list, column(name))
	}
	return nil
}

// String implements pflag.Value.
func (c *columns) String() string { return joinColumns(c.list) }

// Type implements pflag.Value.
func (*columns) Type() string { return "LIST" }

func columnNames() string { return joinColumns(allColumns) }

func joinColumns(list []column) string { return strings.Join(columnStrings(list), ",") }

func columnWords() []string { return columnStrings(allColumns) }

func columnStrings(list []column) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = string(c)
	}
	return names
}

// has reports whether a line has a column. verbose is for -v.
func (c *columns) has(col column, verbose bool) bool {
	switch {
	case c.list != nil:
		return slices.Contains(c.list, col)
	case c.short:
		return col == columnName || col == columnPlace
	case col == columnName:
		return !verbose
	case col == columnSignature:
		return verbose
	}
	return true
}

// first reports whether a column precedes the name, the place and the module.
func (c *columns) first(col column) bool {
	at := slices.Index(c.list, col)
	return at >= 0 && !slices.ContainsFunc(c.list[:at], func(before column) bool { return before != columnMethod && before != columnPC })
}
