package dap

import (
	"slices"

	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxOutlines bounds the outlines that are kept, each of up to 1 MiB. Most stacks
	// go through fewer functions without source files.
	maxOutlines = 64
	// maxStarts bounds the addresses in code without a name that are remembered.
	maxStarts = 1 << 16
)

// outline is where the instructions of a function end, as far as somebody asked.
type outline struct {
	ends []uint32 // offsets from the first instruction
	over bool     // nothing follows that can be read as an instruction
}

// outlines are those of functions, and where the listings of code without a name begin.
type outlines struct {
	functions map[uint64]*outline // by the address of the first instruction
	starts    map[uint64]uint64   // by the boundary of an instruction
}

// instruction returns how many instructions are between start and the one that contains
// addr, which is at most maxFunction bytes behind it. Many frames ask for one function,
// which is disassembled once.
func (o *outlines) instruction(s *snapshot, words *memreader.Words, start, addr uint64) int {
	f := o.functions[start]
	if f == nil {
		if o.functions == nil || len(o.functions) >= maxOutlines {
			o.functions = map[uint64]*outline{}
		}
		f = &outline{}
		o.functions[start] = f
	}
	at := start
	if n := len(f.ends); n > 0 {
		at += uint64(f.ends[n-1])
	}
	for !f.over && at <= addr {
		l := s.lineAt(words, at)
		if l.end() <= at {
			f.over = true
			break
		}
		at = l.end()
		f.ends = append(f.ends, uint32(at-start))
	}
	index, _ := slices.BinarySearch(f.ends, uint32(addr-start)+1)
	return index
}

// start returns where the listing begins that has the boundary of an instruction in code
// without a name.
func (o *outlines) start(s *snapshot, boundary uint64) uint64 {
	start, known := o.starts[boundary]
	if !known {
		if start = boundary; o.starts == nil || len(o.starts) >= maxStarts {
			o.starts = map[uint64]uint64{}
		}
		if lines := s.before(boundary, listingAhead); len(lines) > 0 {
			start = lines[0].addr
		}
		o.starts[boundary] = start
	}
	return start
}
