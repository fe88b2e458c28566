// Package elfx reads 64-bit ELF images that may be damaged, cut off, stripped
// of their section headers, or part of a process's memory. It starts from the
// program headers, which is all that an unwinder needs, and decodes sections
// only when asked. It copies nothing.
package elfx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
)

// File is an ELF image.
type File struct {
	// Data are the bytes of the file; in a loaded image, memory from the
	// address of the ELF header on.
	Data      []byte
	Type      uint16 // ET_*
	Machine   uint16 // EM_*
	BigEndian bool
	Entry     uint64
	Progs     []Prog
	// Bias is the run-time address of a loaded image minus its link-time
	// address, or 0. Set it if it is known: the dynamic linker may have added it
	// to the addresses in PT_DYNAMIC.
	Bias uint64
	// Problems are defects that leave the rest of the file usable.
	Problems []error
	// Name is what errors about the file begin with, if several files are read;
	// otherwise "".
	Name string
	// Stamp is the version of the file, if it was opened by this package.
	Stamp Stamp
	// Budget bounds the compressed sections. It is that of the file alone, unless it
	// is replaced before the first section is read.
	Budget *Budget

	order     binary.ByteOrder
	loaded    bool
	inflated  *inflated
	allowance *allowance
	sections  func() ([]Section, error)
	buildID   func() string
}

// Prog is a program header [gABI, 5.1].
type Prog struct {
	Type, Flags          uint32
	Off, Vaddr           uint64
	Filesz, Memsz, Align uint64
}

// Magic begins every ELF file.
const Magic = "\x7fELF"

// Values of the ELF format that sfcore needs [gABI; elf.h].
const (
	MachineNone = 0 // such as byte code

	TypeRel  = 1
	TypeExec = 2
	TypeDyn  = 3
	TypeCore = 4

	ProgLoad       = 1
	ProgDynamic    = 2
	ProgInterp     = 3
	ProgNote       = 4
	ProgPhdr       = 6
	ProgGNUEHFrame = 0x6474e550
	ProgGNUSFrame  = 0x6474e554

	ProgExec  = 1 // PF_X
	ProgWrite = 2 // PF_W
	ProgRead  = 4 // PF_R

	ehdrSize = 64
	phdrSize = 56
	shdrSize = 64
	pnXNum   = 0xffff

	// maxProgs bounds the program headers: a process can have at most
	// vm.max_map_count mappings, which distributions have raised to a million.
	maxProgs = 4 << 20

	// maxLoadedProgs bounds the program headers of an image in memory. The kernel
	// loads no program with more [linux fs/binfmt_elf.c: load_elf_phdrs].
	maxLoadedProgs = 64 << 10 / phdrSize
)

// FormatError is a defect of an ELF image.
type FormatError struct {
	Off   uint64 // in bytes, from the ELF header
	Field string // as the gABI spells it
	Msg   string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("ELF: %s at offset %#x: %s", e.Field, e.Off, e.Msg)
}

// Named returns err, unless it is nil, with the file's name if it has one.
func (f *File) Named(err error) error {
	if err == nil || f.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", f.Name, err)
}

// Parse reads the headers of the ELF file in data, which it keeps. Program
// headers that data does not reach are left out and noted in Problems.
func Parse(data []byte) (*File, error) { return parse(data, false) }

// ParseLoaded is Parse for an image as it is loaded: mem is memory from the
// address of the ELF header on, as far as it is readable. It has at most 1170
// program headers.
func ParseLoaded(mem []byte) (*File, error) { return parse(mem, true) }

// ParseWithin is Parse for a file that was unpacked from f, whose budget it shares.
// Nothing of it grows for nothing, as it has grown before.
func (f *File) ParseWithin(data []byte) (*File, error) {
	inner, err := Parse(data)
	if err == nil {
		inner.Budget, inner.allowance = f.Budget, new(allowance)
	}
	return inner, err
}

func parse(data []byte, loaded bool) (*File, error) {
	f := &File{Data: data, Budget: new(Budget), loaded: loaded, inflated: new(inflated), allowance: &allowance{left: uint64(len(data))}}
	if err := f.checkIdent(); err != nil {
		return nil, err
	}
	f.Type = f.order.Uint16(data[16:])
	f.Machine = f.order.Uint16(data[18:])
	f.Entry = f.order.Uint64(data[24:])
	f.readProgs()
	f.sections = f.lazySections()
	f.buildID = sync.OnceValue(f.findBuildID)
	return f, nil
}

// checkIdent refuses everything but 64-bit ELF images. The error says what the file
// is.
func (f *File) checkIdent() error {
	d := f.Data
	bad := func(off uint64, field, msg string) error { return &FormatError{Off: off, Field: field, Msg: msg} }
	switch {
	case len(d) == 0:
		return bad(0, "e_ident", "the file is empty")
	case len(d) < 4 || string(d[:4]) != Magic:
		return bad(0, "e_ident", "this is "+describe(d)+", not an ELF file")
	case len(d) > 4 && d[4] == 1:
		return bad(4, "EI_CLASS", "this is a 32-bit ELF file; sfcore reads only 64-bit files")
	case len(d) < ehdrSize:
		return bad(uint64(len(d)), "Elf64_Ehdr", fmt.Sprintf("the file ends after %d of %d bytes", len(d), ehdrSize))
	case d[4] != 2:
		return bad(4, "EI_CLASS", fmt.Sprintf("%d is not a known class", d[4]))
	}
	switch d[5] {
	case 1:
		f.order = binary.LittleEndian
	case 2:
		f.order, f.BigEndian = binary.BigEndian, true
	default:
		return bad(5, "EI_DATA", fmt.Sprintf("%d is not a known byte order", d[5]))
	}
	return nil
}

// describe says what kind of file begins with d.
func describe(d []byte) string {
	for _, k := range []struct{ magic, kind string }{
		{"MZ", "a Windows (PE) file"},
		{"\xcf\xfa\xed\xfe", "a Mach-O file"},
		{"MDMP", "a Windows minidump"},
		{"KDUMP", "a kernel crash dump"},
		{"!<arch>\n", "an archive"},
		{"#!", "a script"},
		{"{", "a text file"},
	} {
		if bytes.HasPrefix(d, []byte(k.magic)) {
			return k.kind
		}
	}
	for _, c := range d[:min(len(d), 256)] {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return "some other kind of file"
		}
	}
	return "a text file"
}

// readProgs decodes the program headers. A count of 0xffff means that the real
// one is in sh_info of section header 0 [gABI 5.1: PN_XNUM].
func (f *File) readProgs() {
	off := f.order.Uint64(f.Data[32:])
	size := uint64(f.order.Uint16(f.Data[54:]))
	n := uint64(f.order.Uint16(f.Data[56:]))
	if n == 0 {
		return
	}
	if size != phdrSize {
		f.problem(54, "e_phentsize", "%d, not %d", size, phdrSize)
		return
	}
	if n == pnXNum {
		if s, ok := f.sectionAt(0); ok && s.Info != 0 {
			n = uint64(s.Info)
		} else {
			f.problem(56, "e_phnum", "PN_XNUM, but section header 0, which holds the count, is missing")
			n = f.countProgs(off)
		}
	}
	limit := uint64(maxProgs)
	if f.loaded {
		limit = maxLoadedProgs
	}
	if n > limit {
		f.problem(56, "e_phnum", "%d program headers are more than the limit of %d", n, limit)
		n = limit
	}
	table := f.Bytes(off, n*phdrSize)
	if have := uint64(len(table)) / phdrSize; have < n {
		f.problem(32, "e_phoff", "the file holds %d of %d program headers", have, n)
		n = have
	}
	f.Progs = make([]Prog, n)
	for i := range f.Progs {
		b := table[i*phdrSize : (i+1)*phdrSize]
		f.Progs[i] = Prog{
			Type: f.order.Uint32(b), Flags: f.order.Uint32(b[4:]),
			Off: f.order.Uint64(b[8:]), Vaddr: f.order.Uint64(b[16:]),
			Filesz: f.order.Uint64(b[32:]), Memsz: f.order.Uint64(b[40:]), Align: f.order.Uint64(b[48:]),
		}
	}
}

// countProgs counts the program headers at off of a file that does not say how many
// there are: as many as fit before the first contents that they describe.
func (f *File) countProgs(off uint64) uint64 {
	n := uint64(0)
	for end := uint64(len(f.Data)); n < maxProgs; n++ {
		b := f.Bytes(off+n*phdrSize, phdrSize)
		if len(b) < phdrSize || end-off < (n+1)*phdrSize {
			break
		}
		if at := f.order.Uint64(b[8:]); f.order.Uint64(b[32:]) > 0 && at >= off {
			end = min(end, at)
		}
	}
	return n
}

func (f *File) problem(off uint64, field, format string, args ...any) {
	f.Problems = append(f.Problems, &FormatError{Off: off, Field: field, Msg: fmt.Sprintf(format, args...)})
}

// Bytes returns size bytes at offset off of the file, or fewer if the file ends
// before.
func (f *File) Bytes(off, size uint64) []byte { return within(f.Data, off, size) }

func within(data []byte, off, size uint64) []byte {
	if off >= uint64(len(data)) {
		return nil
	}
	return data[off : off+min(size, uint64(len(data))-off)]
}

// At returns the bytes of the image at link-time address vaddr up to the end
// of the segment that holds it, or nil.
func (f *File) At(vaddr uint64) []byte {
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type == ProgLoad && vaddr-p.Vaddr < p.Filesz {
			return within(f.SegmentData(p), vaddr-p.Vaddr, p.Filesz)
		}
	}
	return nil
}

// SegmentData returns the bytes of a segment, or as many as there are.
func (f *File) SegmentData(p *Prog) []byte {
	if f.loaded {
		return f.Bytes(p.Vaddr-f.loadAddr(), p.Filesz)
	}
	return f.Bytes(p.Off, p.Filesz)
}

// loadAddr returns the link-time address of the ELF header: that of the
// segment that begins the file, or of the first segment.
func (f *File) loadAddr() uint64 {
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == ProgLoad {
			return p.Vaddr - p.Off
		}
	}
	return 0
}

// PhdrAddr returns the link-time address of the program headers, or 0 if no
// segment holds them.
func (f *File) PhdrAddr() uint64 {
	if p := f.Prog(ProgPhdr); p != nil {
		return p.Vaddr
	}
	off := f.order.Uint64(f.Data[32:])
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == ProgLoad && off-p.Off < p.Filesz {
			return p.Vaddr + off - p.Off
		}
	}
	return 0
}

// Span returns the link-time addresses that the PT_LOAD segments span. It cuts off a
// part that would wrap around the end of the address space.
func (f *File) Span() (lo, hi uint64) {
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != ProgLoad || p.Memsz == 0 {
			continue
		}
		end := p.Vaddr + min(p.Memsz, -p.Vaddr-1)
		if hi == 0 {
			lo = p.Vaddr
		}
		lo, hi = min(lo, p.Vaddr), max(hi, end)
	}
	return lo, hi
}

// Prog returns the first program header of a type, or nil.
func (f *File) Prog(typ uint32) *Prog {
	for i := range f.Progs {
		if f.Progs[i].Type == typ {
			return &f.Progs[i]
		}
	}
	return nil
}

// ByteOrder returns the byte order of the file's data.
func (f *File) ByteOrder() binary.ByteOrder { return f.order }
