package core

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sfcore/sfcore/internal/compressed"
	"github.com/sfcore/sfcore/internal/elfx"
)

// DefaultMaxDecompressed is the default bound on the size of a core that is
// decompressed or read from a pipe. Few cores are as large; a file made to
// waste time holds the processor for some minutes.
const DefaultMaxDecompressed = 256 << 30

const (
	// A stream is taken for a decompression bomb if it expands each compressed
	// byte to more than maxRatio bytes other than zero, and to at least minBomb
	// bytes in all. Memory compresses to about a fifth. Zeros take no space in the
	// end, so those of memory that a process never used may be more: maxZeros, which
	// zstd takes four seconds for, beside maxRatio for each compressed byte. In a format
	// that is slow, half of them take as long.
	maxRatio = 1000
	minBomb  = 1 << 30
	maxZeros = 4 << 30

	// maxInMemory is how many bytes of a stream are kept in memory before they
	// are moved to a temporary file. Most cores are smaller.
	maxInMemory = 256 << 20

	chunkSize = 1 << 20 // bytes read at a time
	ehdrSize  = 64
)

// ErrTooLarge is the error for a core that decompresses to more than allowed.
var ErrTooLarge = errors.New("too large when decompressed")

// contents are the bytes of a core file.
type contents struct {
	data    []byte
	release func()
	problem error // why data ends early, or nil
	mapped  bool  // data is a file
}

// load returns the contents of file. A regular file that is not compressed is
// mapped.
func load(ctx context.Context, file *os.File, opts Options) (contents, error) {
	st, err := file.Stat()
	if err != nil {
		return contents{}, err
	}
	var in io.Reader
	total := int64(0)
	switch m := st.Mode(); {
	case m.IsRegular():
		head := make([]byte, compressed.MaxMagic)
		n, err := file.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return contents{}, err
		}
		if compressed.Find(head[:n]) == nil {
			data, release, err := elfx.MapOpen(file)
			return contents{data: data, release: release, mapped: err == nil}, err
		}
		in, total = io.NewSectionReader(file, 0, st.Size()), st.Size()
	case m&os.ModeDevice != 0:
		return contents{}, errors.New("this is a device; a core file is needed")
	default:
		in = interruptible{ctx, file} // a pipe may stall
	}
	return loadStream(ctx, in, total, opts)
}

// loadStream reads a core, compressed or not, from a stream of total bytes; 0
// if unknown.
func loadStream(ctx context.Context, stream io.Reader, total int64, opts Options) (contents, error) {
	in := &counter{r: stream}
	buf := bufio.NewReaderSize(in, chunkSize)
	head, err := buf.Peek(compressed.MaxMagic)
	if err != nil && !errors.Is(err, io.EOF) {
		return contents{}, err
	}
	out, kind, slow := io.Reader(buf), "core", false
	if c := compressed.Find(head); c != nil {
		r, err := c.Open(buf)
		if err != nil {
			return contents{}, fmt.Errorf("%s: %w", c.Name, err)
		}
		defer r.Close()
		out, kind, slow = r, c.Name+" stream", c.Slow
	}

	s := &spool{in: in, limit: opts.MaxDecompressed, slow: slow, inMemory: maxInMemory}
	if s.limit <= 0 {
		s.limit = DefaultMaxDecompressed
	}
	data, release, problem, err := s.fill(ctx, out, func() {
		if opts.Progress != nil {
			opts.Progress(in.n, total)
		}
	})
	if problem != nil {
		problem = fmt.Errorf("the %s ends early, after %d bytes of the core: %w", kind, len(data), problem)
	}
	return contents{data: data, release: release, problem: problem}, err
}

// interruptible reads until ctx ends, even if a Read does not return. That Read
// continues, into the memory that it was given, until the writer writes or closes.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := i.r.Read(p)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}

// counter counts the bytes read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
