// Package compressed opens the compressed streams that cores are stored in.
package compressed

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/therootcompany/xz"
)

// MaxWindow bounds the memory that a compressed stream may ask a decompressor
// to keep, in bytes: what zstd(1) accepts unless told otherwise. xz -9 needs
// half of it.
const MaxWindow = 128 << 20

// A Format is a format of compressed streams.
type Format struct {
	Name  string
	magic string
	// Slow is set if unpacking takes twice as long as in other formats.
	Slow bool
	// Open returns a reader of the decompressed stream. Closing it releases
	// the decompressor.
	Open func(io.Reader) (io.ReadCloser, error)
}

// formats are recognised by how the stream begins, whatever its name.
var formats = []Format{
	{"zstd", "\x28\xb5\x2f\xfd", false, openZstd},
	{"zstd", "\x50\x2a\x4d\x18", false, openZstd}, // a skippable frame, as pzstd begins with
	{"gzip", "\x1f\x8b", false, openGzip},
	{"lz4", "\x04\x22\x4d\x18", false, openLZ4},
	{"xz", "\xfd7zXZ\x00", true, openXZ},
}

// MaxMagic is how many bytes of a stream tell its format.
const MaxMagic = 6

// Find returns the format of a stream by its first bytes, or nil.
func Find(head []byte) *Format {
	for i := range formats {
		if f := &formats[i]; bytes.HasPrefix(head, []byte(f.magic)) {
			return f
		}
	}
	return nil
}

// openZstd decodes without goroutines: those would continue reading r after an
// error, and make it no faster.
func openZstd(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(MaxWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

func openGzip(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }

func openLZ4(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(lz4.NewReader(r)), nil }

func openXZ(r io.Reader) (io.ReadCloser, error) {
	x, err := xz.NewReader(r, MaxWindow)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(x), nil
}
