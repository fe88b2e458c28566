package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/target"
)

// foldedFormat renders stacks as programs that draw flame graphs read them: a
// line for each, outermost frame first, and how many threads have it.
type foldedFormat struct{}

func (foldedFormat) head(*target.Report) []byte { return nil }

func (foldedFormat) separator() string { return "" }

func (foldedFormat) tail(*target.Target) []byte { return nil }

// thread begins with why the stack ends, if that is where frames are missing, so
// that such stacks are not taken for others.
func (foldedFormat) thread(b []byte, r *threadReport) []byte {
	separator := ""
	if r.Stop.Reason != "outermost" {
		b = append(append(append(b, '['), r.Stop.Reason...), ']')
		separator = ";"
	}
	for _, f := range slices.Backward(r.Frames) {
		b = append(append(b, separator...), foldedName(&f)...)
		separator = ";"
	}
	return append(strconv.AppendInt(append(b, ' '), int64(max(1, len(r.TIDs))), 10), '\n')
}

// foldedName names a frame; the mark says that it is a guess.
func foldedName(f *target.FrameReport) string {
	name := f.Function
	switch {
	case name != "":
	case f.ModuleName != "":
		name = f.ModuleName + "+" + hex(f.ModuleOffset.Addr)
	default:
		name = hex(f.PC)
	}
	if f.Trust == "guess" {
		name = marks[f.Trust] + name
	}
	return strings.ReplaceAll(plain(name), ";", ":")
}

func hex(a target.Addr) string { return "0x" + strconv.FormatUint(uint64(a), 16) }
