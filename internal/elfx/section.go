package elfx

import (
	"bytes"
	"fmt"
	"math"
	"sync"
)

// Section is a section header [gABI, 4.8].
type Section struct {
	Name         string
	Type         uint32
	Flags        uint64
	Addr         uint64
	Off, Size    uint64
	Link, Info   uint32
	Align, Entry uint64
}

// Section types and flags.
const (
	SectNull      = 0
	SectProgbits  = 1
	SectSymtab    = 2
	SectRela      = 4
	SectNote      = 7
	SectNobits    = 8
	SectDynsym    = 11
	SectGNUSFrame = 0x6ffffff4

	SectAlloc      = 1 << 1
	SectExec       = 1 << 2
	SectCompressed = 1 << 11

	// maxSections bounds the section headers. Linked files have some tens;
	// only object files with a section per function have thousands.
	maxSections = 1 << 20
	// maxSectionName bounds the length of a name, in bytes: all names might be the
	// same long string.
	maxSectionName = 256

	// A header takes so many bytes without its name. The headers of a file and their
	// names may take usualHeaders bytes; what they take beyond that is added up, for all
	// files that share a [Budget], and may be maxHeaders. One file may be mapped a
	// thousand times under different names.
	headerSize   = 96
	usualHeaders = 8 << 10
	maxHeaders   = 192 << 20
)

// takeHeaders takes bytes for section headers, and reports whether there were as many.
func (b *Budget) takeHeaders(n uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > maxHeaders-b.headers {
		return false
	}
	b.headers += n
	return true
}

// Sections returns the section headers, decoded on first use. A file whose
// section headers are damaged gives those that can be read, and an error.
func (f *File) Sections() ([]Section, error) { return f.sections() }

// Section returns the first section called name, or nil.
func (f *File) Section(name string) *Section {
	sects, _ := f.Sections()
	for i := range sects {
		if sects[i].Name == name {
			return &sects[i]
		}
	}
	return nil
}

// SFrameSections returns the sections that hold SFrame data, in their order: those of
// the type SHT_GNU_SFRAME, and those that are called .sframe, as binutils up to 2.44
// gave them the type SHT_PROGBITS, or .ctf_frame, as in the draft of version 1
// [SFrame 2 errata 1, 1.1].
func (f *File) SFrameSections() []*Section {
	sects, _ := f.Sections()
	var found []*Section
	for i := range sects {
		if s := &sects[i]; s.Type == SectGNUSFrame || s.Type != SectNobits && (s.Name == ".sframe" || s.Name == CTFFrameName) {
			found = append(found, s)
		}
	}
	return found
}

// CTFFrameName is the name of the section that holds CTF Frame, the draft of
// version 1.
const CTFFrameName = ".ctf_frame"

// SFrameSection returns the first of [File.SFrameSections], or nil.
func (f *File) SFrameSection() *Section {
	if found := f.SFrameSections(); len(found) > 0 {
		return found[0]
	}
	return nil
}

// SectionsEnd returns the offset at which the section headers should end, which
// may be beyond the end of the file; 0 if there are none.
func (f *File) SectionsEnd() uint64 {
	off, n := f.order.Uint64(f.Data[40:]), uint64(f.order.Uint16(f.Data[60:]))
	if off == 0 || n == 0 || f.order.Uint16(f.Data[58:]) != shdrSize {
		return 0
	}
	return off + min(n*shdrSize, -off-1)
}

func (f *File) lazySections() func() ([]Section, error) {
	return sync.OnceValues(f.readSections)
}

func (f *File) readSections() ([]Section, error) {
	off := f.order.Uint64(f.Data[40:])
	if off == 0 || f.loaded {
		return nil, nil
	}
	if size := f.order.Uint16(f.Data[58:]); size != shdrSize {
		return nil, &FormatError{Off: 58, Field: "e_shentsize", Msg: fmt.Sprintf("%d, not %d", size, shdrSize)}
	}
	first, ok := f.sectionAt(0)
	if !ok {
		return nil, &FormatError{Off: 40, Field: "e_shoff", Msg: fmt.Sprintf("%#x is past the end of the file", off)}
	}
	n, strndx := uint64(f.order.Uint16(f.Data[60:])), uint64(f.order.Uint16(f.Data[62:]))
	if n == 0 { // SHN_XINDEX-style escape: the count is in section 0 [gABI, 4.1]
		n = first.Size
	}
	if strndx == 0xffff {
		strndx = uint64(first.Link)
	}
	var err error
	if have := uint64(len(f.Bytes(off, uint64(len(f.Data))))) / shdrSize; have < n {
		err = &FormatError{Off: 40, Field: "e_shoff", Msg: fmt.Sprintf("the file holds %d of %d section headers", have, n)}
		n = have
	}
	if n > maxSections {
		err = &FormatError{Off: 60, Field: "e_shnum", Msg: fmt.Sprintf("%d section headers are more than the limit of %d", n, maxSections)}
		n = maxSections
	}
	usual := uint64(usualHeaders)
	take := func(size uint64) bool {
		free := min(size, usual)
		usual -= free
		return size == free || f.Budget.takeHeaders(size-free)
	}
	tooMany := func() error {
		return &FormatError{Off: 60, Field: "e_shnum", Msg: fmt.Sprintf("the section headers and names of all files take more than %d bytes; the rest is ignored", maxHeaders)}
	}
	if !take(n * headerSize) {
		return nil, tooMany()
	}
	sects := make([]Section, n)
	names := make([]uint32, n)
	for i := range sects {
		sects[i], _ = f.sectionAt(uint64(i))
		names[i] = f.order.Uint32(f.Data[off+uint64(i)*shdrSize:])
	}
	if strndx >= n {
		return sects, &FormatError{Off: 62, Field: "e_shstrndx", Msg: fmt.Sprintf("section %d of %d", strndx, n)}
	}
	strs := f.Bytes(sects[strndx].Off, sects[strndx].Size)
	for i := range sects {
		if i > 0 && names[i] == names[i-1] {
			sects[i].Name = sects[i-1].Name
			continue
		}
		name := CString(within(strs, uint64(names[i]), maxSectionName), 0)
		if !take(uint64(len(name))) {
			return sects, tooMany()
		}
		sects[i].Name = name
	}
	return sects, err
}

// sectionAt decodes section header i, of which the file holds those before it, without
// its name.
func (f *File) sectionAt(i uint64) (Section, bool) {
	b := f.Bytes(f.order.Uint64(f.Data[40:])+i*shdrSize, shdrSize)
	if len(b) < shdrSize {
		return Section{}, false
	}
	return Section{
		Type: f.order.Uint32(b[4:]), Flags: f.order.Uint64(b[8:]),
		Addr: f.order.Uint64(b[16:]), Off: f.order.Uint64(b[24:]), Size: f.order.Uint64(b[32:]),
		Link: f.order.Uint32(b[40:]), Info: f.order.Uint32(b[44:]),
		Align: f.order.Uint64(b[48:]), Entry: f.order.Uint64(b[56:]),
	}, true
}

// SectionData returns the contents of s: a part of the file, or new memory if
// the section is compressed. That memory is kept for the next call, and shared by
// sections with the same bytes; File.Budget bounds it. If the file does not hold the
// whole contents, the part that is there comes with an error.
func (f *File) SectionData(s *Section) ([]byte, error) { return f.SectionPrefix(s, math.MaxUint64) }

// SectionPrefix is SectionData for at least the first n bytes. A compressed section is
// inflated no further than that. What an earlier call returned stays as it is.
func (f *File) SectionPrefix(s *Section, n uint64) ([]byte, error) {
	if s.Type == SectNobits {
		return nil, nil
	}
	data := f.Bytes(s.Off, s.Size)
	if uint64(len(data)) < s.Size {
		return data, &FormatError{Off: s.Off, Field: "sh_size", Msg: fmt.Sprintf("section %s: the file holds %d of %d bytes", s.Name, len(data), s.Size)}
	}
	if s.Flags&SectCompressed != 0 {
		return f.inflated.section(f, s, data, n)
	}
	return data, nil
}

// CString returns the NUL-terminated string at offset off of a string table,
// or "".
func CString(table []byte, off uint64) string {
	if off >= uint64(len(table)) {
		return ""
	}
	s := table[off:]
	if end := bytes.IndexByte(s, 0); end >= 0 {
		return string(s[:end])
	}
	return string(s)
}
