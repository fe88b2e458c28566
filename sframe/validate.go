package sframe

// Validate checks everything that lookups rely on and everything that the
// specifications require. It also names habits of producers that other readers may
// not expect. It returns findings by ascending offset, none if all is well.
// [Meanings] lists all kinds. Time and memory are bounded by a small multiple of
// the section's size.
func (s *Section) Validate() []Finding {
	var (
		l      findings
		tables []Table
	)
	s.walk(func(t *Table, err *FormatError) bool {
		l.add(err)
		if err == nil {
			tables = append(tables, *t)
		}
		return true
	})
	for i := range tables {
		c := checker{Table: &tables[i], findings: &l}
		c.header()
		c.functions()
	}
	checkSection(s, tables, &l)
	checkRanges(tables, &l)
	return l.finish()
}

// checkSection checks what concerns all tables together.
func checkSection(s *Section, tables []Table, l *findings) {
	if len(tables) == 0 {
		return
	}
	first, last := &tables[0], &tables[len(tables)-1]
	if len(tables) > 1 {
		l.add(damage("tables-unmerged", int(tables[1].Off), tables[1].ver.header.magic, "this is the second of %d tables", len(tables)))
	}
	for i := range tables {
		if t := &tables[i]; t.Version != first.Version {
			l.add(damage("versions-mixed", int(t.Off)+2, t.ver.header.version, "version %s; the first table has version %s", t.Version, first.Version))
			break
		}
	}
	if _, more := s.skipPadding(last.end); !more && len(s.data)-last.end >= tableAlign {
		l.add(damage("zero-tail", last.end, last.ver.header.freLen, "%d bytes of zeros follow", len(s.data)-last.end))
	}
}

// checkRanges checks the functions' addresses.
func checkRanges(tables []Table, l *findings) {
	var (
		end   uint64 // of the functions so far
		owner Func
	)
	for _, e := range byStart(tables) {
		var f Func
		t := &tables[e.table]
		t.span(int(e.fde), &f)
		if f.Start+uint64(f.Size) < f.Start {
			l.add(damage("func-wraps", int(f.Off)+t.startSize, t.ver.fde.size, "%d bytes from %#x end beyond the address space", f.Size, f.Start))
			continue
		}
		if f.Start < end {
			l.add(damage("funcs-overlap", int(f.Off), t.ver.fde.start, "%#x is in the function of %d bytes at %#x, of the FDE at %#x", f.Start, owner.Size, owner.Start, owner.Off))
		}
		if f.Start+uint64(f.Size) > end {
			end, owner = f.Start+uint64(f.Size), f
		}
	}
}

// checker checks one table.
type checker struct {
	*Table
	*findings
}

// header checks the fields of the header that place does not need.
func (c *checker) header() {
	n := &c.ver.header
	off, ints := int(c.Off), int(c.Off)+c.ver.headerSize-5*4
	if undefined := c.Flags &^ c.ver.flags; undefined != 0 {
		c.add(damage("flags-undefined", off+3, n.flags, "%#x is not defined in version %s", uint8(undefined), c.Version))
	}
	if c.Version == CTFFrame {
		c.add(damage("ctf-frame", off+2, n.version, "decoded as CTF Frame"))
	}
	if want := c.Arch.SFrame.FixedRA; c.FixedRA != want {
		c.add(damage("fixed-ra-unusual", off+6, n.fixedRA, "%d; on %s it is %d", c.FixedRA, c.Arch.Name, want))
	}
	if c.FixedFP != 0 {
		c.add(damage("fixed-fp-unusual", off+5, n.fixedFP, "%d", c.FixedFP))
	}
	if c.AuxLen != 0 {
		c.add(damage("aux-header", off+7, n.auxLen, "%d bytes are skipped", c.AuxLen))
	}
	if c.FDEOff != 0 || uint64(c.FREOff) != uint64(len(c.fdes.b)) {
		c.add(damage("sub-section-gap", ints+12, n.fdeOff, "FDEs are at %#x, FREs at %#x", c.FDEOff, c.FREOff))
	}
	if c.Cut {
		c.add(damage("fres-cut", ints+8, n.freLen, "%d bytes, but only %d are there", c.FRELen, len(c.fres.b)))
	}
	if c.Version < V3 && c.NumFDEs > 0 && c.startsFromField() && c.Flags&c.ver.flags&FuncStartPCRel == 0 {
		c.add(damage("starts-from-field", off+3, n.flags, "neither SORTED nor FUNC_START_PCREL is set"))
	}
}

// functions checks the FDEs and their rows.
func (c *checker) functions() {
	n := &c.ver.fde
	if c.Flags&FDESorted == 0 && c.NumFDEs > 1 {
		c.add(damage("unsorted", int(c.Off)+3, c.ver.header.flags, "SORTED is not set for %d functions", c.NumFDEs))
	}
	var (
		rows, bytes    uint64 // of all functions
		counted, sized = true, true
		budget         = maxSharing * (len(c.fres.b) + 1)
		prev           uint64
	)
	for i := range int(c.NumFDEs) {
		var f Func
		err := c.fn(i, &f)
		if c.Flags&FDESorted != 0 && i > 0 && f.Start < prev {
			c.add(damage("not-sorted", int(f.Off), n.start, "%#x comes after %#x", f.Start, prev))
		}
		prev = f.Start
		if f.Size == 0 {
			c.add(damage("func-empty", int(f.Off)+c.startSize, n.size, "the function at %#x has no bytes", f.Start))
		}
		if err != nil {
			c.add(err)
			counted, sized = false, false
			continue
		}
		c.info(&f)
		rows += uint64(f.NumFREs)
		used, ok := c.rows(&f, budget)
		bytes += uint64(used)
		sized = sized && ok
		if budget -= used; budget < 0 {
			c.add(damage("rows-shared", int(f.Off), n.dataOff, "functions up to this one use the %d bytes of FREs more than %d times", len(c.fres.b), maxSharing))
			return
		}
	}
	ints := int(c.Off) + c.ver.headerSize - 5*4
	if counted && rows != uint64(c.NumFREs) {
		c.add(damage("fre-count-mismatch", ints+4, c.ver.header.numFREs, "%d rows, but the functions have %d", c.NumFREs, rows))
	}
	if sized && !c.Cut && bytes != uint64(c.FRELen) {
		c.add(damage("fre-len-mismatch", ints+8, c.ver.header.freLen, "%d bytes, but the functions have %d", c.FRELen, bytes))
	}
}

// maxSharing is how often all bytes of a table's rows are read in one check.
// No known producer lets functions share rows, but the format allows it.
const maxSharing = 4

// info checks the fields that say how the rows are to be read.
func (c *checker) info(f *Func) {
	n := &c.ver.fde
	if f.Info&c.ver.infoUnused != 0 {
		c.add(damage("info-reserved", f.infoAt(), n.info, "%#x has undefined bits", f.Info))
	}
	if f.Info2&^info2FDEType != 0 {
		c.add(damage("info-reserved", f.infoAt()+c.ver.info2, n.info2, "%#x has undefined bits", f.Info2))
	}
	if f.KeyB() && !c.Arch.PAC {
		c.add(damage("key-without-pauth", f.infoAt(), n.info, "key B on %s", c.Arch.Name))
	}
	if c.Version == V2 {
		if at := int(f.Off) + c.fdeSize - 2; c.fdes.u16(at-c.fdesAt) != 0 {
			c.add(damage("padding-not-zero", at, n.padding, "%#x", c.fdes.u16(at-c.fdesAt)))
		}
	}
	switch {
	case f.PCMask() && c.ver.repSize == 0:
		c.add(damage("mask-block-assumed", f.infoAt(), n.info, "blocks of %d bytes", ctfMaskBlock))
	case !f.PCMask() && f.RepSize != 0:
		c.add(damage("rep-size-unused", f.infoAt()+c.ver.repSize, n.repSize, "%d in a PCINC function", f.RepSize))
	}
	switch {
	case f.NumFREs != 0:
	case f.Signal():
		c.add(damage("signal-without-fres", f.attr, n.numFREs, "the signal trampoline at %#x has no rows", f.Start))
	default:
		c.add(damage("func-without-fres", f.attr, n.numFREs, "the function at %#x has no rows", f.Start))
	}
}
