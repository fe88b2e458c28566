package main

import (
	"slices"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// maxMemo bounds the lines that a lineMemo keeps, and maxMemoLine the bytes of one and of
// the names that it is made of.
const (
	maxMemo     = 1 << 12
	maxMemoLine = 1 << 11
)

// lineMemo has the lines of frames, without the numbers: most threads of a process are
// in the same few places. It is not safe for concurrent use. A nil lineMemo has none.
type lineMemo map[linePlace]memoLine

// linePlace is where most frames with the same line are.
type linePlace struct {
	pc   report.Addr
	line int
}

type memoLine struct {
	of   lineParts
	text []byte
}

// lineParts are what the line of a frame is made of.
type lineParts struct {
	function, linkage, file, module string
	functionOffset, moduleOffset    report.Addr
	used                            int // columns before the line
	method                          unwind.Method
	trust                           unwind.Trust
	inlined, signal                 bool
}

func partsOf(f *report.Frame, used int) lineParts {
	return lineParts{
		function: f.Function, linkage: f.LinkageName, file: f.File, module: f.ModuleName,
		functionOffset: f.FunctionOffset.Addr, moduleOffset: f.ModuleOffset.Addr,
		used: used, method: f.Method, trust: f.Trust, inlined: f.Inlined, signal: f.SignalFrame,
	}
}

// append appends what appendLine does for a frame behind so many columns.
func (m lineMemo) append(b []byte, f *report.Frame, used int, appendLine func([]byte, *report.Frame, int) []byte) []byte {
	if m == nil {
		return appendLine(b, f, used)
	}
	at, of := linePlace{f.PC, f.Line}, partsOf(f, used)
	if known, ok := m[at]; ok && known.of == of {
		return append(b, known.text...)
	}
	start := len(b)
	b = appendLine(b, f, used)
	if len(b)-start+len(of.function)+len(of.linkage)+len(of.file)+len(of.module) <= maxMemoLine {
		if len(m) == maxMemo {
			clear(m)
		}
		m[at] = memoLine{of, slices.Clone(b[start:])}
	}
	return b
}
