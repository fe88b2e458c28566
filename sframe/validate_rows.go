package sframe

import "github.com/sfcore/sfcore/arch"

// rows checks the rows of a function, as far as they have no more than budget
// bytes. It returns the size of the function's data in the FRE sub-section,
// and whether it could be told.
func (c *checker) rows(f *Func, budget int) (size int, ok bool) {
	n := &c.ver.fre
	last := -1
	for r := f.first(); ; {
		var e FRE
		more, err := r.next(&e)
		size = r.at - int(f.DataOff)
		if err != nil {
			c.add(err)
			return size, false
		}
		if !more {
			return size, true
		}
		if size > budget {
			return size, false
		}
		start := int(e.Start)
		switch {
		case last < 0 && start != 0:
			c.add(damage("fre-first-late", int(e.Off), n.start, "the first row of the function at %#x is for %#x", f.Start, start))
		case start <= last:
			c.add(notAscending(f, int(e.Off)-c.fresAt, e.Start, uint32(last)))
		}
		last = start
		switch {
		case f.PCMask() && start >= int(f.maskBlock()):
			c.add(damage("fre-after-block", int(e.Off), n.start, "the row is for %#x, but the block has %#x bytes", start, f.maskBlock()))
		case f.PCMask() || f.Size == 0:
		case uint32(start) > f.Size:
			c.add(damage("fre-after-function", int(e.Off), n.start, "the row is for %#x, but the function has %#x bytes", start, f.Size))
		case uint32(start) == f.Size:
			c.add(damage("fre-at-end", int(e.Off), n.start, "%#x is the size of the function", start))
		}
		c.row(f, &e)
	}
}

// row checks what a row says.
func (c *checker) row(f *Func, e *FRE) {
	if e.Info&freMangledRA != 0 && (!c.Arch.PAC || c.ver.freUnused&freMangledRA != 0) {
		c.add(f.rowDamage(e, "mangled-ra-reserved", "bit 7 of %#x is set on %s, in version %s", e.Info, c.Arch.Name, c.Version))
	}
	if e.Count() == 0 && c.Version == V2 {
		c.add(f.rowDamage(e, "outermost-errata-2", "the row has no data words"))
	}
	var row arch.Row
	if err := f.row(e, &row); err != nil {
		c.add(err)
		return
	}
	if row.Outermost() {
		return
	}
	if !f.Flexible() {
		used := 3
		for _, fixed := range []int8{c.FixedRA, c.FixedFP} {
			if fixed != 0 {
				used--
			}
		}
		if e.Count() > used {
			c.add(f.rowDamage(e, "words-extra", "%d data words, of which %d have a meaning", e.Count(), used))
		}
		if ra := int64(c.Arch.SFrame.FixedRA); ra != 0 && row.CFA.Off < -ra { // SP would be above the return address
			c.add(f.rowDamage(e, "cfa-too-low", "the CFA is %s", row.CFA.Format(c.Arch)))
		}
	}
	for _, r := range []arch.Rule{row.RA, row.FP} {
		switch {
		case r.Base != arch.CFA || !r.Deref:
		case r.Off%8 != 0:
			c.add(f.rowDamage(e, "slot-unaligned", "%s", r.Format(c.Arch)))
		case r.Off >= 0:
			c.add(f.rowDamage(e, "slot-above-cfa", "%s", r.Format(c.Arch)))
		}
	}
}
