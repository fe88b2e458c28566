package artifact

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sfcore/sfcore/internal/elfx"
)

// spoolFrom is the size from which a file of a package is unpacked to a temporary file
// and not to memory.
const spoolFrom = 4 << 20

// unpack reads a file of a package and calls do for it, if it is an ELF file.
func unpack(s *Source, name string, r io.Reader, size int64, do func(File) error) error {
	magic := make([]byte, len(elfx.Magic))
	if n, err := io.ReadFull(r, magic); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && int64(n) == size {
		return nil // which is too short
	} else if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if string(magic) != elfx.Magic {
		return nil
	}
	if size < spoolFrom {
		data := make([]byte, size)
		copy(data, magic)
		if _, err := io.ReadFull(r, data[len(magic):]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return do(s.member(name, data))
	}
	data, release, err := spool(magic, r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer release()
	return do(s.member(name, data))
}

// spool maps a temporary file with what r has after the bytes of head. The file has no
// name any more.
func spool(head []byte, r io.Reader) (data []byte, release func(), err error) {
	f, err := os.CreateTemp("", "sfcore-unpacked-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }() // on some systems only once it is closed
	defer f.Close()
	if _, err := f.Write(head); err != nil {
		return nil, nil, err
	}
	if _, err := io.Copy(f, r); err != nil {
		return nil, nil, err
	}
	return elfx.MapOpen(f)
}
