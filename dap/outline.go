package dap

import (
	"slices"

	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxOutlined bounds the instructions in all outlines of a snapshot, which take 4
	// bytes each. An outline counts as outlineWork of them besides.
	maxOutlined = 1 << 23
	outlineWork = 64
)

// outline is where the instructions of a function end, as far as somebody asked.
type outline struct {
	ends []uint32 // offsets from the first instruction
	over bool     // nothing follows that can be read as an instruction
}

// outlines are those of functions.
type outlines struct {
	functions map[uint64]*outline // by the address of the first instruction
	spent     int                 // of maxOutlined
}

// instruction returns how many instructions are between start and the one that contains
// addr, which is at most maxFunction bytes behind it. Many frames ask for one function,
// which is disassembled once. It returns false if there are too many outlines to know.
func (o *outlines) instruction(s *snapshot, words *memreader.Words, start, addr uint64) (int, bool) {
	f := o.functions[start]
	if f == nil {
		if o.functions == nil {
			o.functions = map[uint64]*outline{}
		}
		if o.spent += outlineWork; o.spent > maxOutlined {
			return 0, false
		}
		f = &outline{}
		o.functions[start] = f
	}
	at := start
	if n := len(f.ends); n > 0 {
		at += uint64(f.ends[n-1])
	}
	for !f.over && at <= addr {
		if o.spent++; o.spent > maxOutlined {
			return 0, false
		}
		l := s.lineAt(words, at)
		if l.end() <= at {
			f.over = true
			break
		}
		at = l.end()
		f.ends = append(f.ends, uint32(at-start))
	}
	index, _ := slices.BinarySearch(f.ends, uint32(addr-start)+1)
	return index, true
}
