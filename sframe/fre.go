package sframe

// FRE is one frame row entry, as written. It refers to the section's bytes.
type FRE struct {
	// Off is where the row is, in bytes from the start of the section.
	Off int64
	// Start is the offset of the first instruction that the row is for, in
	// bytes from the start of the function, or of the block if it is PCMASK.
	Start uint32
	// Info is the info byte.
	Info uint8

	words view
}

// Bits of a row's info byte [SFrame 3, 2.4.1].
const (
	freBaseSP     = 0x01
	freCount      = 0x1e
	freSize       = 0x60
	freSizeBroken = 0x60 // an undefined size of data words
	freMangledRA  = 0x80
)

// wordsSize returns the size of the data words of a row in bytes.
func wordsSize(info uint8) int { return int(info&freCount>>1) << (info & freSize >> 5) }

// Count returns the number of data words, 0 to 15.
func (e *FRE) Count() int { return int(e.Info & freCount >> 1) }

// WordSize returns the size of a data word: 1, 2 or 4 bytes.
func (e *FRE) WordSize() int { return 1 << (e.Info & freSize >> 5) }

// Word returns data word i, which must be less than Count, as a signed offset.
func (e *FRE) Word(i int) int32 {
	size := e.WordSize()
	shift := 32 - 8*size
	return int32(e.words.uint(i*size, size)<<shift) >> shift
}

// Control returns data word i, which must be less than Count, as an unsigned
// control word [SFrame 3, 2.4].
func (e *FRE) Control(i int) uint32 { return e.words.uint(i*e.WordSize(), e.WordSize()) }

// rows reads the rows of one function one after the other.
type rows struct {
	f     *Func
	at    int // in the FRE sub-section
	left  uint32
	width int
}

// rows begins at the first row of f, whose check succeeded.
func (f *Func) first() rows { return rows{f: f, at: f.rows, left: f.NumFREs, width: f.startWidth()} }

// next decodes the next row into e. It returns false after the last one.
func (r *rows) next(e *FRE) (ok bool, err *FormatError) {
	if r.left == 0 {
		return false, nil
	}
	t := r.f.table
	d := &t.fres
	head := r.width + 1
	if len(d.b)-r.at < head {
		return false, r.outOfRange(t.ver.fre.start, head)
	}
	e.Off = int64(t.fresAt + r.at)
	e.Start = d.uint(r.at, r.width)
	e.Info = d.b[r.at+r.width]
	r.at += head
	if e.Info&freSize == freSizeBroken {
		return false, damage("fre-word-size", e.infoAt(r.width), t.ver.fre.info, "size code 3 of data words is not defined")
	}
	size := wordsSize(e.Info)
	if len(d.b)-r.at < size {
		return false, r.outOfRange(t.ver.fre.words, size)
	}
	e.words = view{d.b[r.at : r.at+size], d.big}
	r.at += size
	r.left--
	return true, nil
}

func (e *FRE) infoAt(width int) int { return int(e.Off) + width }

func (r *rows) outOfRange(field string, size int) *FormatError {
	t := r.f.table
	return damage("fre-out-of-range", t.fresAt+r.at, field, "%d bytes do not fit in the %d that are left of the FREs; row %d of %d",
		size, len(t.fres.b)-r.at, r.f.NumFREs-r.left, r.f.NumFREs)
}

// find decodes the row for the instruction at off bytes from the start of the
// function into e. Of the rows after it, only the start of the next matters. It adds
// to looked how many rows it looked at.
func (f *Func) find(off uint32, e *FRE, looked *int) (found bool, err *FormatError) {
	if f.PCMask() {
		off %= uint32(f.maskBlock())
	}
	r := f.first()
	at, err := r.seek(off, e)
	*looked += int(f.NumFREs-r.left) + 1
	if at < 0 || err != nil {
		return false, err
	}
	r.at, r.left = at, 1
	return r.next(e)
}

// seek returns where the last row is that is not after off, or a negative number. It
// may change e.
func (r *rows) seek(off uint32, e *FRE) (at int, err *FormatError) {
	d := &r.f.table.fres
	at, before := -1, uint32(0)
	for ; r.left > 0; r.left-- {
		head := r.at + r.width
		if head >= len(d.b) {
			if r.at > len(d.b) { // within the words of the row before
				r.at, r.left = at, r.left+1
			}
			_, err := r.next(e)
			return -1, err
		}
		start := d.uint(r.at, r.width)
		if start > off {
			break
		}
		if d.b[head]&freSize == freSizeBroken {
			_, err := r.next(e)
			return -1, err
		}
		if at >= 0 && start <= before {
			return -1, notAscending(r.f, r.at, start, before)
		}
		at, before = r.at, start
		r.at = head + 1 + wordsSize(d.b[head])
	}
	return at, nil
}

// notAscending is the error for a row at an offset in the FRE sub-section.
func notAscending(f *Func, at int, start, before uint32) *FormatError {
	return damage("fre-not-ascending", f.table.fresAt+at, f.table.ver.fre.start, "%#x follows a row for %#x", start, before)
}
