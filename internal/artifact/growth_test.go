package artifact

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// A small package cannot unpack to much.
func TestGrowth(t *testing.T) {
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, freePayload+64<<20); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := decompress(packed.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	if err == nil || !strings.Contains(err.Error(), "unpacks to more than 512 MiB and 50 times its size") || n < freePayload {
		t.Errorf("got %d bytes of %d and %v", n, packed.Len(), err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
