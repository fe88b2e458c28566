package elfx

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
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

	compressZlib = 1
	compressZstd = 2

	// maxDecompressed bounds a decompressed section. The debug information of
	// the largest programs known has sections of some gigabytes, but those
	// files are never compressed beyond this.
	maxDecompressed = 2 << 30
	// maxRatio bounds how many bytes one compressed byte may become: deflate
	// cannot make more, and zstd makes about five of debug information.
	maxRatio = 1032
	// usualRatio is the largest ratio seen in debug information.
	usualRatio = 8

	// maxSections bounds the section headers. Linked files have some tens;
	// only object files with a section per function have thousands.
	maxSections = 1 << 20
	// maxSectionName bounds the length of a name, in bytes: all names might be the
	// same long string.
	maxSectionName = 256
)

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
		sects[i].Name = CString(within(strs, uint64(names[i]), maxSectionName), 0)
	}
	return sects, err
}

// sectionAt decodes section header i without its name.
func (f *File) sectionAt(i uint64) (Section, bool) {
	off := f.order.Uint64(f.Data[40:])
	if off == 0 || off > uint64(len(f.Data)) {
		return Section{}, false
	}
	b := f.Bytes(off+i*shdrSize, shdrSize)
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
// the section is compressed. If the file does not hold the whole contents, the part
// that is there comes with an error.
func (f *File) SectionData(s *Section) ([]byte, error) {
	if s.Type == SectNobits {
		return nil, nil
	}
	data := f.Bytes(s.Off, s.Size)
	if uint64(len(data)) < s.Size {
		return data, &FormatError{Off: s.Off, Field: "sh_size", Msg: fmt.Sprintf("section %s: the file holds %d of %d bytes", s.Name, len(data), s.Size)}
	}
	if s.Flags&SectCompressed != 0 {
		return f.decompress(s, data)
	}
	return data, nil
}

// decompress expands the contents of a compressed section: an Elf64_Chdr and
// a stream [gABI, 4.10].
func (f *File) decompress(s *Section, data []byte) ([]byte, error) {
	bad := func(field, msg string) error {
		return &FormatError{Off: s.Off, Field: field, Msg: fmt.Sprintf("section %s: %s", s.Name, msg)}
	}
	if len(data) < 24 {
		return nil, bad("Elf64_Chdr", "the header is cut off")
	}
	size := f.order.Uint64(data[8:])
	if limit := min(maxDecompressed, maxRatio*uint64(len(data))); size > limit {
		return nil, bad("ch_size", fmt.Sprintf("%d bytes are more than the limit of %d", size, limit))
	}
	var r io.Reader
	switch kind := f.order.Uint32(data); kind {
	case compressZlib:
		z, err := zlib.NewReader(bytes.NewReader(data[24:]))
		if err != nil {
			return nil, bad("ch_type", err.Error())
		}
		r = z
	case compressZstd:
		z, err := zstd.NewReader(bytes.NewReader(data[24:]), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecompressed))
		if err != nil {
			return nil, bad("ch_type", err.Error())
		}
		defer z.Close()
		r = z
	default:
		return nil, bad("ch_type", fmt.Sprintf("%d is not a known compression", kind))
	}
	// Debug information shrinks to a third or a quarter. Beyond that the buffer
	// grows with the real output, whatever ch_size says.
	out := bytes.NewBuffer(make([]byte, 0, min(size, usualRatio*uint64(len(data)))+bytes.MinRead))
	_, err := io.Copy(out, io.LimitReader(r, int64(size)))
	if err == nil && uint64(out.Len()) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return out.Bytes(), bad("contents", err.Error())
	}
	return out.Bytes(), nil
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
