package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"

	"github.com/sfcore/sfcore/process"
)

// foldedFormat renders stacks for programs that draw flame graphs: a line for each
// stack, outermost frame first, and how many threads have it.
type foldedFormat struct{}

func (foldedFormat) head(*report.Document) []byte { return nil }

func (foldedFormat) separator() string { return "" }

func (foldedFormat) tail(*report.Document) []byte { return nil }

func (foldedFormat) thread(b []byte, r *document.Thread) []byte {
	return appendFolded(b, &r.Stop, len(r.Frames), func(i int) *report.Frame { return &r.Frames[i] }, len(r.TIDs))
}

// goroutineFolded does the same with goroutines.
type goroutineFolded struct{}

func (goroutineFolded) head(*report.Document) []byte { return nil }

func (goroutineFolded) separator() string { return "" }

func (goroutineFolded) tail(*process.Process, *goroutineTail) []byte { return nil }

func (goroutineFolded) goroutine(r *report.Goroutine) []byte {
	return appendFolded(nil, &r.Stop, len(r.Frames), func(i int) *report.Frame { return &r.Frames[i].Frame }, len(r.IDs))
}

// appendFolded appends the line of a stack. group is how many threads have it; 0
// stands for 1. The line of an incomplete stack begins with the reason why it ends,
// so that the stack is not mistaken for another.
func appendFolded(b []byte, stop *report.Stop, frames int, frame func(i int) *report.Frame, group int) []byte {
	separator := ""
	if stop.Reason != unwind.Outermost {
		b = append(append(append(b, '['), stop.Reason.String()...), ']')
		separator = ";"
	}
	for i := frames - 1; i >= 0; i-- {
		b = append(append(b, separator...), foldedName(frame(i))...)
		separator = ";"
	}
	return append(strconv.AppendInt(append(b, ' '), int64(max(1, group)), 10), '\n')
}

// foldedName names a frame; the mark says that it is a guess.
func foldedName(f *report.Frame) string {
	name := f.Function
	switch {
	case name != "":
	case f.ModuleName != "":
		name = fmt.Sprintf("%s+%#x", f.ModuleName, uint64(f.ModuleOffset.Addr))
	default:
		name = fmt.Sprintf("%#x", uint64(f.PC))
	}
	if f.Trust == unwind.Guess {
		name = marks[f.Trust] + name
	}
	return strings.ReplaceAll(plain(name), ";", ":")
}
