package process

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/report"
)

// elfHeader, elfProg and elfNote are Elf64_Ehdr, Elf64_Phdr and Elf64_Nhdr [gABI].
type (
	elfHeader struct {
		Ident                                  [16]byte
		Type, Machine                          uint16
		Version                                uint32
		Entry, Phoff, Shoff                    uint64
		Flags                                  uint32
		Ehsize, Phentsize, Phnum, Shentsize, _ uint16
		_                                      uint16
	}
	elfProg struct {
		Type, Flags                             uint32
		Off, Vaddr, Paddr, Filesz, Memsz, Align uint64
	}
	elfNote struct {
		Namesz, Descsz, Type uint32
		Name                 [4]byte
	}
)

// maxBuildID bounds a build-id, in bytes: they are hashes.
const maxBuildID = 64

// headerOf returns the beginning of a module's file, as far as a report tells it: where
// the file is loaded, and its build-id. It returns nil if there is no build-id.
func headerOf(m *report.Module, a *arch.Arch) []byte {
	const typeDyn, flagsRX, noteBuildID = 3, 5, 3
	id, err := hex.DecodeString(m.BuildID)
	if err != nil || len(id) == 0 || len(id) > maxBuildID || m.Path == "" || m.Path[0] == '[' || m.End <= m.Base {
		return nil
	}
	h := elfHeader{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, // ELFCLASS64, ELFDATA2LSB, EV_CURRENT
		Type:  typeDyn, Machine: a.Machine, Version: 1, Ehsize: 64, Phentsize: 56, Phnum: 2, Phoff: 64,
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if a.BigEndian {
		h.Ident[5], order = 2, binary.BigEndian
	}
	const notes = 64 + 2*56
	lo := uint64(m.Base - m.Bias)
	size := min(uint64(m.End-m.Base), math.MaxUint64-lo)
	descsz := uint32(len(id)) //nolint:gosec // it is bounded
	note := elfNote{Namesz: 4, Descsz: descsz, Type: noteBuildID, Name: [4]byte{'G', 'N', 'U', 0}}
	b := new(bytes.Buffer)
	for _, part := range []any{
		&h,
		&elfProg{Type: elfx.ProgLoad, Flags: flagsRX, Vaddr: lo, Filesz: size, Memsz: size, Align: 1},
		&elfProg{Type: elfx.ProgNote, Off: notes, Vaddr: lo + notes, Filesz: uint64(16 + len(id)), Memsz: uint64(16 + len(id)), Align: 4},
		&note, id,
	} {
		_ = binary.Write(b, order, part)
	}
	return b.Bytes()
}
