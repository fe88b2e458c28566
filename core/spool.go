package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/sfcore/sfcore/internal/elfx"
)

// spool keeps a stream for random access: in memory, or from some size on in a
// temporary file with holes where the stream is zero.
type spool struct {
	in       *counter // what the stream is made from
	limit    int64    // of size
	slow     bool     // in takes twice as long as others to unpack
	inMemory int64    // size from which on there is a file

	mem     []byte
	file    *os.File // once mem was full
	named   bool     // file could not be removed while it is open
	size    int64    // of the stream so far
	nonzero int64    // bytes of it that are in pages not all zero
}

// errNoSpace is the error for a full disk.
var errNoSpace = errors.New("no space left on the device; set TMPDIR to another directory")

// fill reads the stream r to its end and returns its bytes. If r fails after the
// header of a core, fill returns the bytes that were read before, and problem is
// the error.
func (s *spool) fill(ctx context.Context, r io.Reader, progress func()) (data []byte, release func(), problem, err error) {
	defer s.close()
	chunk := make([]byte, chunkSize)
	for problem == nil {
		n := 0
		for n < len(chunk) && problem == nil {
			var k int
			k, problem = r.Read(chunk[n:])
			n += k
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		if s.size == 0 {
			if err := checkStart(chunk[:n], problem); err != nil {
				return nil, nil, nil, err
			}
		}
		if err := s.write(chunk[:n]); errors.Is(err, errNoSpace) && s.size > 0 {
			problem = err // what there was room for is usable
		} else if err != nil {
			return nil, nil, nil, err
		}
		progress()
	}
	if errors.Is(problem, io.EOF) {
		problem = nil
	}
	data, release, err = s.contents()
	return data, release, problem, err
}

// checkStart refuses a stream that is not a core file before it is read further.
func checkStart(head []byte, readErr error) error {
	if len(head) < ehdrSize && !errors.Is(readErr, io.EOF) {
		return fmt.Errorf("only %d of the %d bytes of an ELF header could be read: %w", len(head), ehdrSize, readErr)
	}
	_, _, err := parseHeader(head[:min(len(head), ehdrSize)])
	return err
}

// write appends a chunk, of chunkSize bytes unless it is the last.
func (s *spool) write(p []byte) error {
	if int64(len(p)) > s.limit-s.size {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, s.limit)
	}
	if s.file == nil && int64(len(s.mem)+len(p)) > s.inMemory {
		if err := s.spill(); err != nil {
			return err
		}
	}
	if s.file == nil {
		if len(s.mem)+len(p) > cap(s.mem) {
			s.mem = slices.Grow(s.mem, max(len(s.mem), len(p))) // doubled: append would copy it five times in all
		}
		s.mem = append(s.mem, p...)
		s.size += int64(len(p))
		return nil
	}
	if err := s.writeFile(p); err != nil {
		return err
	}
	zeros := int64(maxZeros)
	if s.slow {
		zeros /= 2
	}
	if (s.size-zeros)/maxRatio > s.in.n {
		return fmt.Errorf("%w: %d compressed bytes expand to more than %d bytes, nearly all of them zero; decompress the file with holes, as zstd -d does, and open the result", ErrTooLarge, s.in.n, s.size)
	}
	if s.nonzero > minBomb && s.nonzero/maxRatio > s.in.n {
		return fmt.Errorf("%w: %d compressed bytes expand to more than %d bytes that are not zero", ErrTooLarge, s.in.n, s.nonzero)
	}
	return nil
}

// spill moves the stream from memory to a temporary file, and removes the name of
// the file if the system can do that.
func (s *spool) spill() error {
	f, err := os.CreateTemp(SpoolDir(), "sfcore-*")
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("spooling: %w", errNoSpace)
	} else if err != nil {
		return fmt.Errorf("spooling: %w", err)
	}
	s.file, s.named = f, os.Remove(f.Name()) != nil
	mem := s.mem
	s.mem, s.size = nil, 0
	if err := s.writeFile(mem); err != nil {
		s.close()
		s.file, s.mem, s.size = nil, mem, int64(len(mem))
		return err
	}
	return nil
}

// SpoolDir returns the directory for large temporary files, where [Open] keeps a
// core that is compressed or read from a pipe: $TMPDIR, or else /var/tmp, which
// unlike /tmp is on a disk.
func SpoolDir() string {
	if os.Getenv("TMPDIR") == "" {
		if st, err := os.Stat("/var/tmp"); err == nil && st.IsDir() {
			return "/var/tmp"
		}
	}
	return os.TempDir()
}

var zeroPage [4096]byte

// writeFile appends p to the file, leaving out pages of zeros.
func (s *spool) writeFile(p []byte) error {
	for len(p) > 0 {
		zeros := 0
		for len(p)-zeros >= len(zeroPage) && bytes.Equal(p[zeros:zeros+len(zeroPage)], zeroPage[:]) {
			zeros += len(zeroPage)
		}
		s.size += int64(zeros)
		p = p[zeros:]
		run := 0
		for run < len(p) && !bytes.HasPrefix(p[run:], zeroPage[:]) {
			run += min(len(zeroPage), len(p)-run)
		}
		if _, err := s.file.WriteAt(p[:run], s.size); errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("spooling to %s: %w", s.file.Name(), errNoSpace)
		} else if err != nil {
			return fmt.Errorf("spooling: %w", err)
		}
		s.size += int64(run)
		s.nonzero += int64(run)
		p = p[run:]
	}
	return nil
}

// contents returns the bytes of the stream.
func (s *spool) contents() (data []byte, release func(), err error) {
	if s.file == nil {
		return s.mem, func() {}, nil
	}
	if err := s.file.Truncate(s.size); err != nil { // the last pages may be zero
		return nil, nil, fmt.Errorf("spooling: %w", err)
	}
	return elfx.MapOpen(s.file)
}

// close closes the temporary file. A mapping of it stays.
func (s *spool) close() {
	if s.file == nil {
		return
	}
	_ = s.file.Close()
	if s.named {
		_ = os.Remove(s.file.Name())
	}
}
