package picture

import (
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// maxBefore bounds the frames of a stack that are kept to compare the next one with.
const maxBefore = 1 << 16

// place is what a collection shows of a frame, as the frame has it.
type place struct {
	function, linkage, file, module, moduleName, doubt string
	pc, offset                                         uint64
	line, column                                       int
	method                                             unwind.Method
	trust                                              unwind.Trust
	exact, inlined, signal                             bool
}

func placeOf(f *report.Frame) place {
	return place{
		function: f.Function, linkage: f.LinkageName, file: f.File, module: f.Module, moduleName: f.ModuleName, doubt: f.Doubt,
		pc: uint64(f.PC), offset: uint64(f.ModuleOffset.Addr), line: f.Line, column: f.Column, method: f.Method, trust: f.Trust,
		exact: f.Exact, inlined: f.Inlined, signal: f.SignalFrame,
	}
}

// placed is a place and its node.
type placed struct {
	place
	node int
}

// innermost adds frames as nodes, and returns the innermost one. Stacks that follow each
// other mostly begin alike: nothing is looked up for the frames that they share.
func (c *Collection) innermost(frames []report.Frame) int {
	inner := 0
	for i := range frames {
		f := &frames[len(frames)-1-i]
		p := placeOf(f)
		if i < len(c.before) && c.before[i].place == p {
			inner = c.before[i].node
			continue
		}
		inner = c.nodes.index(node{inner, c.frames.index(c.frame(f))})
		if i < maxBefore { // what the stack before has behind this frame is not compared
			c.before = append(c.before[:i], placed{p, inner})
		}
	}
	return inner
}
