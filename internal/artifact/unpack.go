package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/sfcore/sfcore/internal/elfx"
)

// spoolFrom is the size from which a file of a package is unpacked to a temporary file
// and not to memory.
const spoolFrom = 4 << 20

// unpacker unpacks the files of one package.
type unpacker struct {
	s  *Source
	do func(File) error
	// left is how many bytes its files may have together, with the holes of sparse
	// files, which no byte of the package stands for.
	left int64
}

// unpack reads a file of a package and calls do for it, if it is an ELF file.
func (u *unpacker) unpack(name string, r io.Reader, size int64) error {
	if len(name) > maxName {
		return fmt.Errorf("the name of a file has %d bytes, more than any path", len(name))
	}
	if size > u.left {
		return errGrowth
	}
	u.left -= size
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
		return u.do(u.s.member(name, data))
	}
	data, release, err := elfx.MapStream(io.MultiReader(bytes.NewReader(magic), r))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer release()
	return u.do(u.s.member(name, data))
}
