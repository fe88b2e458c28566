package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sfcore/sfcore/internal/elfx"
)

// MaxDumpHead bounds what [CopyDumpHead] copies, in bytes: a thread has up to 12 KiB of
// notes, and most have 4.
const MaxDumpHead = 256 << 20

// ELF64 as the kernel writes it [gABI 5.1; linux fs/binfmt_elf.c: elf_core_dump].
const (
	class64    = 2 // ELFCLASS64
	dataBig    = 2 // ELFDATA2MSB
	phdrSize   = 56
	ehdrPhoff  = 32 // e_phoff, 8 bytes
	ehdrShoff  = 40 // e_shoff, 8 bytes
	ehdrPhnum  = 56 // e_phnum, 2 bytes
	ehdrShnum  = 60 // e_shnum and e_shstrndx, 2 bytes each
	phdrOffset = 8  // p_offset, 8 bytes
	phdrFilesz = 32 // p_filesz, 8 bytes
)

// CopyDumpHead copies what the kernel writes first when it dumps a process: the ELF
// header, the program headers and the notes. It reads nothing behind them, so that the
// process stays as it is. The copy is a core file of its own, without memory: [Open]
// reads it. begin is the ELF header as it was read, with which the whole core begins,
// and n how many bytes were copied. Of notes that do not fit [MaxDumpHead], the first
// ones are copied: those of the thread that crashed.
func CopyDumpHead(dst io.Writer, src io.Reader) (begin []byte, n int64, err error) {
	head := make([]byte, ehdrSize+phdrSize)
	if _, err := io.ReadFull(src, head); err != nil {
		return nil, 0, fmt.Errorf("reading the ELF header of the dump: %w", err)
	}
	begin = append(begin, head[:ehdrSize]...)
	end, err := patchDumpHead(head)
	if err != nil {
		return begin, 0, err
	}
	if _, err := dst.Write(head); err != nil {
		return begin, 0, err
	}
	rest, err := io.CopyN(dst, src, end-int64(len(head)))
	n = int64(len(head)) + rest
	if err != nil {
		return begin, n, fmt.Errorf("reading the notes of the dump, %d bytes of %d: %w", n, end, noEOF(err))
	}
	return begin, n, nil
}

// patchDumpHead leaves of the program headers that of the notes, which is the first,
// and returns where the notes end.
func patchDumpHead(head []byte) (end int64, err error) {
	if string(head[:4]) != elfx.Magic || head[4] != class64 {
		return 0, errors.New("the dump is no 64-bit ELF file")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == dataBig {
		order = binary.BigEndian
	}
	note := head[ehdrSize:]
	if phoff, kind := order.Uint64(head[ehdrPhoff:]), order.Uint32(note); phoff != ehdrSize || kind != elfx.ProgNote {
		return 0, fmt.Errorf("the dump does not begin with its notes: e_phoff is %d, the first p_type %d", phoff, kind)
	}
	off, size := order.Uint64(note[phdrOffset:]), order.Uint64(note[phdrFilesz:])
	if off < uint64(len(head)) || off > MaxDumpHead || size > 1<<62 {
		return 0, fmt.Errorf("the dump has %d bytes of notes at offset %d", size, off)
	}
	if size > MaxDumpHead-off {
		size = MaxDumpHead - off
		order.PutUint64(note[phdrFilesz:], size)
	}
	order.PutUint16(head[ehdrPhnum:], 1)
	order.PutUint64(head[ehdrShoff:], 0)
	order.PutUint32(head[ehdrShnum:], 0)
	return int64(off + size), nil
}

// noEOF is err as it is when more had to follow.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
