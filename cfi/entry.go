package cfi

import (
	"fmt"
	"iter"
)

const (
	// lengthSize is the size of the length that begins an entry.
	lengthSize = 4
	// longLength is the length that says that the real one follows in 8 bytes
	// [DWARF 5, 7.4].
	longLength = 0xffffffff

	// maxAugmentation bounds the augmentation string. The longest in use is
	// zPLRSBG; without a bound, reading a CIE could take as long as reading
	// the section.
	maxAugmentation = 32
	// maxInitial bounds the initial instructions of a CIE, in bytes. They are
	// run for many FDEs; even those that save every register of s390x take
	// less than 200.
	maxInitial = 4 << 10
	// maxProgram bounds the instructions of an FDE, in bytes. The longest
	// known, of interpreters with some thousand pushes, take 100 KiB.
	maxProgram = 1 << 20
)

// entry is a CIE or an FDE whose contents have not been read.
type entry struct {
	off, end int
	c        cursor // at the contents, and ends with them
	long     bool   // 64-bit DWARF
	empty    bool   // a length of 0, and no more
	isCIE    bool
	cie      int // offset of an FDE's CIE
}

// readEntry reads the header of the entry at off. If its length is damaged, its end
// is 0.
func (s *Section) readEntry(off int, e *entry) error {
	*e = entry{off: off, c: cursor{data: s.data, pos: off, big: s.arch.BigEndian}}
	c := &e.c
	length := uint64(c.u32("length"))
	if e.long = length == longLength; e.long {
		length = c.u64("length")
	}
	if c.failed() {
		return s.faultError(c)
	}
	if rest := uint64(len(s.data) - c.pos); length > rest {
		return s.formatError(off, "length", fmt.Sprintf("%d bytes where %d are left", length, rest))
	}
	e.end = c.pos + int(length)
	if e.empty = length == 0; e.empty {
		return nil
	}
	c.data = s.data[:e.end]
	at := c.pos
	if s.debug {
		s.readID(e)
	} else if id := c.u32("CIE_pointer"); id == 0 { // 32 bits in long entries too [LSB 5.0, 10.6.1]
		e.isCIE = true
	} else if uint64(id) <= uint64(at) {
		e.cie = at - int(id)
	} else {
		c.fail(at, "CIE_pointer", "the pointer leads out of the section")
	}
	return s.faultError(c)
}

// readID reads the field that tells CIEs and FDEs apart in .debug_frame: an offset
// from its start, or all ones [DWARF 5, 6.4.1].
func (s *Section) readID(e *entry) {
	at := e.c.pos
	id, none := uint64(0), uint64(0xffffffff)
	if e.long {
		id, none = e.c.u64("CIE_id"), ^uint64(0)
	} else {
		id = uint64(e.c.u32("CIE_id"))
	}
	switch {
	case id == none:
		e.isCIE = true
	case id < uint64(len(s.data)):
		e.cie = int(id)
	default:
		e.c.fail(at, "CIE_pointer", "the pointer leads out of the section")
	}
}

// cie is a common information entry [DWARF 5, 6.4.1; LSB 5.0, 10.6.1].
type cie struct {
	off       int
	codeAlign uint64
	dataAlign int64
	ra        uint64 // DWARF number of the return address column
	augmented bool   // FDEs have augmentation data
	enc       uint8  // of FDEs' addresses
	selector  uint8  // bytes of the segment selector in FDEs
	signal    bool
	keyB      bool // of aarch64 pointer authentication
	prog, end int  // the initial instructions
}

// cieAt reads the CIE at off.
func (s *Section) cieAt(off int) (cie, error) {
	k := cie{off: off}
	var e entry
	if err := s.readEntry(off, &e); err != nil {
		return k, err
	}
	if !e.isCIE {
		return k, s.formatError(off, "CIE_id", "an FDE says that this is its CIE")
	}
	c := &e.c
	versionAt := c.pos
	version := c.u8("version")
	if !c.failed() && version != 1 && version != 3 && version != 4 {
		return k, s.formatError(versionAt, "version", fmt.Sprintf("version %d is not 1, 3 or 4", version))
	}
	augAt := c.pos
	aug := c.cstring(maxAugmentation, "augmentation")
	if string(aug) == "eh" { // GCC 2: a pointer to exception data
		c.take(addrSize, "eh_ptr")
		aug = nil
	}
	if len(aug) > 0 && aug[0] != 'z' {
		return k, s.formatError(augAt, "augmentation", fmt.Sprintf("%q is unknown", aug))
	}
	if version == 4 {
		at := c.pos
		if size := c.u8("address_size"); size != addrSize {
			c.fail(at, "address_size", "the size is not 8, that of a 64-bit program")
		}
		k.selector = c.u8("segment_selector_size")
	}
	k.codeAlign = c.uleb("code_alignment_factor")
	k.dataAlign = c.sleb("data_alignment_factor")
	if version == 1 {
		k.ra = uint64(c.u8("return_address_register"))
	} else {
		k.ra = c.uleb("return_address_register")
	}
	if k.augmented = len(aug) > 0; k.augmented {
		s.readAugmentation(c, &k, aug[1:])
	}
	k.prog, k.end = c.pos, e.end
	if c.failed() {
		return k, s.faultError(c)
	}
	if k.end-k.prog > maxInitial {
		return k, s.formatError(k.prog, "initial_instructions", fmt.Sprintf("%d bytes are more than the limit of %d", k.end-k.prog, maxInitial))
	}
	return k, nil
}

// readAugmentation reads the augmentation data of a CIE, and leaves c after
// it. What follows a letter that is not known is skipped.
func (s *Section) readAugmentation(c *cursor, k *cie, letters []byte) {
	size := c.uleb("augmentation_data_length")
	start := c.pos
	if c.take(size, "augmentation_data"); c.failed() {
		return
	}
	after := *c
	c.pos, c.data = start, c.data[:after.pos]
letters:
	for _, letter := range letters {
		switch letter {
		case 'R':
			k.enc = c.u8("FDE_encoding")
		case 'P':
			s.skipPointer(c, c.u8("personality_encoding"), "personality")
		case 'L':
			c.u8("LSDA_encoding")
		case 'S':
			k.signal = true
		case 'B': // key B signs return addresses [AADWARF64]
			k.keyB = true
		case 'G': // the stack is tagged [AADWARF64]
		default:
			break letters
		}
	}
	if !c.failed() {
		*c = after
	}
}

func (s *Section) skipPointer(c *cursor, enc uint8, field string) {
	if enc == peAligned {
		c.take(-(s.origin.self+uint64(c.pos))%addrSize, field)
	}
	s.origin.value(c, enc, field)
}

// fde is a frame description entry [DWARF 5, 6.4.1; LSB 5.0, 10.6.1].
type fde struct {
	off, cie    int
	start, size uint64 // in bytes of code, at run time
	signal      bool
	keyB        bool
}

// covers reports whether pc is in f's range.
func (f *fde) covers(pc uint64) bool { return pc-f.start < f.size }

// readFDE reads the FDE whose header is e, and leaves e's cursor at its
// instructions.
func (s *Section) readFDE(e *entry, k *cie, f *fde) error {
	c := &e.c
	if k.selector > 0 {
		c.take(uint64(k.selector), "segment_selector")
	}
	f.off, f.cie, f.signal, f.keyB = e.off, k.off, k.signal, k.keyB
	f.start = s.origin.pointer(c, k.enc, "initial_location")
	at := c.pos
	if k.enc == peAligned {
		f.size = c.u64("address_range")
	} else {
		f.size = s.origin.value(c, k.enc, "address_range")
	}
	if int64(f.size) < 0 {
		c.fail(at, "address_range", "the range is negative")
	}
	if k.augmented {
		c.take(c.uleb("augmentation_data_length"), "augmentation_data")
	}
	if e.end-c.pos > maxProgram {
		c.fail(c.pos, "instructions", "the program is longer than the limit of 1 MiB")
	}
	return s.faultError(c)
}

// entries yields the FDEs in the order of the section. A damaged one yields an
// error; damage to a length ends the sequence. So does the zero length that
// terminates .eh_frame.
func (s *Section) entries() iter.Seq2[fde, error] {
	return func(yield func(fde, error) bool) {
		var e entry
		known := cie{off: -1}
		for off := 0; off < len(s.data); {
			err := s.readEntry(off, &e)
			if e.end == 0 {
				yield(fde{}, err)
				return
			}
			off = e.end
			if e.empty && !s.debug {
				return
			}
			if e.empty || e.isCIE && err == nil {
				continue
			}
			var f fde
			if err == nil && e.cie != known.off {
				if known, err = s.cieAt(e.cie); err != nil {
					known.off = -1
				}
			}
			if err == nil {
				err = s.readFDE(&e, &known, &f)
			}
			if !yield(f, err) {
				return
			}
		}
	}
}
