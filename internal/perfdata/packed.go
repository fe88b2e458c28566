package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sfcore/sfcore/internal/compressed"
	"github.com/sfcore/sfcore/internal/elfx"
)

// stream are the records that "perf record -z" has compressed: parts of one stream of
// zstd, which need not end [linux tools/perf/util/zstd.c].
type stream struct {
	parts [][]byte
	size  int64
	off   uint64 // of the first record
}

// add adds what a record holds. One of the newer type says how long that is.
func (s *stream) add(typ uint32, rec []byte, off uint64, order binary.ByteOrder) {
	part := rec[8:]
	if typ == recCompressed2 {
		if len(part) < 8 {
			return
		}
		size := order.Uint64(part)
		part = part[8:]
		part = part[:min(size, uint64(len(part)))]
	}
	if s == nil || len(part) == 0 { // within another stream
		return
	}
	if len(s.parts) == 0 {
		s.off = off
	}
	s.parts, s.size = append(s.parts, part), s.size+int64(len(part))
}

// A recording may unpack to freeUnpacked bytes, and to maxUnpack times what is compressed.
// Copies of stacks become 10 to 30 times as long.
const (
	freeUnpacked = 512 << 20
	maxUnpack    = 50
)

// open unpacks the stream. It returns what came before an error.
func (s *stream) open() (data []byte, release func(), err error) {
	readers := make([]io.Reader, len(s.parts))
	for i, part := range s.parts {
		readers[i] = bytes.NewReader(part)
	}
	f := compressed.Find(s.parts[0])
	if f == nil || f.Name != "zstd" {
		return nil, nil, errors.New("they do not begin as zstd does")
	}
	in, err := f.Open(io.MultiReader(readers...))
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	most := freeUnpacked + maxUnpack*s.size
	cut := &untilError{r: io.LimitReader(in, most+1)}
	data, release, err = elfx.MapStream(cut)
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(data)) > most:
		return data[:most], release, fmt.Errorf("they unpack to more than %d MiB and %d times their size", freeUnpacked>>20, maxUnpack)
	case errors.Is(cut.err, io.ErrUnexpectedEOF): // perf does not end the stream
		return data, release, nil
	}
	return data, release, cut.err
}

// untilError ends where r has an error, which it keeps.
type untilError struct {
	r   io.Reader
	err error
}

func (u *untilError) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		u.err, err = err, io.EOF
	}
	return n, err
}
