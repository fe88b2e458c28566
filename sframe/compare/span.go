package compare

import (
	"errors"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// span is a range of pcs with what one of the tables says about it.
type span struct {
	lo, hi  uint64
	fn      uint64 // where the function begins
	fnEnd   uint64 // where it ends
	kind    spanKind
	row     arch.Row       // of found; without Extra
	err     error          // of damaged
	version sframe.Version // of an SFrame table
}

type spanKind uint8

const (
	found   spanKind = iota
	nothing          // the function has no row there
	damaged          // there is something that cannot be used
)

// maxBlocks bounds the blocks of functions whose rows repeat: a few bytes may
// say that a function of 4 GiB has them. The largest PLTs known have some ten
// thousand entries.
const maxBlocks = 1 << 17

var (
	errShared = errors.New("many functions share the same rows; not all were compared")
	errBlocks = errors.New("blocks repeat too often; not all were compared")
	errSpans  = errors.New("a function has more rows than can be compared")
	errOrder  = errors.New("the rows of a function do not ascend")
)

// repeat yields rows, whose lo is relative to a block, for all blocks.
func (c *comparison) repeat(whole span, origin, block uint64, rows []span, yield func(span) bool) bool {
	head := whole
	head.kind, head.lo = nothing, 0
	rows = append([]span{head}, rows...)
	for at := whole.lo - (whole.lo-origin)%block; at < whole.hi; at += block {
		for i := range rows {
			r := rows[i]
			r.hi = block
			if i+1 < len(rows) {
				r.hi = rows[i+1].lo
			}
			if r.lo, r.hi = max(at+r.lo, whole.lo), min(at+r.hi, whole.hi); r.lo < r.hi && !yield(r) {
				return false
			}
		}
		if c.blocks++; c.blocks > maxBlocks || at+block < at {
			c.problem(errBlocks)
			return true
		}
	}
	return true
}
