package synth

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
)

// Sidecar is a file that holds the .sframe section of another file: an ELF file
// with the build-id and the address of the section in that file, and no code.
// objdump and readelf read it too.
type Sidecar struct {
	Arch    *arch.Arch
	BuildID string // in hexadecimal
	Addr    uint64 // link-time address of the section
	SFrame  []byte
}

// Sizes and values of the ELF format [gABI].
const (
	ehdrSize, phdrSize, shdrSize = 64, 56, 64
	shstrtab                     = "\x00.note.gnu.build-id\x00.sframe\x00.shstrtab\x00"
	noteGNUBuildID               = 3
	versionCurrent               = 1
	sectStrtab                   = 3 // SHT_STRTAB
	progRead                     = 4 // PF_R
)

// SidecarSections is how many sections the file has: none, the build-id, .sframe and names.
const SidecarSections = 4

// WriteTo writes the file. The error is that of w, or says that BuildID is not
// in hexadecimal or missing.
func (s *Sidecar) WriteTo(w io.Writer) (int64, error) {
	id, err := hex.DecodeString(s.BuildID)
	if err != nil || len(id) == 0 {
		return 0, fmt.Errorf("%q is not a build-id", s.BuildID)
	}
	var order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	} = binary.LittleEndian
	encoding := byte(1)
	if s.Arch.BigEndian {
		order, encoding = binary.BigEndian, 2
	}
	words := func(b []byte, vs ...uint64) []byte {
		for _, v := range vs {
			b = order.AppendUint64(b, v)
		}
		return b
	}

	note := order.AppendUint32(nil, 4)
	note = order.AppendUint32(note, uint32(len(id)))
	note = order.AppendUint32(note, noteGNUBuildID)
	note = append(append(note, "GNU\x00"...), id...)
	noteSize := uint64(len(note))
	note = pad(note)
	const noteAt = ehdrSize + phdrSize
	sframeAt := noteAt + uint64(len(note))
	namesAt := sframeAt + uint64(len(s.SFrame))
	table := (namesAt + uint64(len(shstrtab)) + 7) &^ 7

	b := append([]byte("\x7fELF\x02"), encoding, versionCurrent, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	b = order.AppendUint16(b, elfx.TypeDyn)
	b = order.AppendUint16(b, s.Arch.Machine)
	b = order.AppendUint32(b, versionCurrent)
	b = words(b, 0, ehdrSize, table)
	b = order.AppendUint32(b, 0)
	for _, v := range []uint16{ehdrSize, phdrSize, 1, shdrSize, SidecarSections, 3} {
		b = order.AppendUint16(b, v)
	}
	b = order.AppendUint32(b, elfx.ProgGNUSFrame)
	b = order.AppendUint32(b, progRead)
	size := uint64(len(s.SFrame))
	b = words(b, sframeAt, s.Addr, s.Addr, size, size, 8)
	b = append(append(append(b, note...), s.SFrame...), shstrtab...)
	b = pad(b)
	section := func(name, typ uint32, flags, addr, off, size, align uint64) {
		b = order.AppendUint32(b, name)
		b = order.AppendUint32(b, typ)
		b = words(b, flags, addr, off, size, 0, align, 0)
	}
	section(0, elfx.SectNull, 0, 0, 0, 0, 0)
	section(1, elfx.SectNote, 0, 0, noteAt, noteSize, 4)
	section(20, elfx.SectGNUSFrame, elfx.SectAlloc, s.Addr, sframeAt, size, 8)
	section(28, sectStrtab, 0, 0, namesAt, uint64(len(shstrtab)), 1)
	n, err := w.Write(b)
	return int64(n), err
}

// pad makes the length a multiple of 8.
func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&7)...) }
