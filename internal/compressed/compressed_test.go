package compressed

import (
	"bytes"
	"encoding/hex"
	"io"
	"testing"
)

// How much memory a stream may ask for is a choice: this test is to be changed with it.
func TestLimits(t *testing.T) {
	if MaxWindow != 134_217_728 {
		t.Errorf("a decompressor keeps %d bytes", MaxWindow)
	}
	for _, f := range formats {
		if len(f.magic) > MaxMagic {
			t.Errorf("%s is told by %d bytes, more than %d", f.Name, len(f.magic), MaxMagic)
		}
	}
}

// The streams are of "core", by zstd, gzip, lz4 and xz.
func TestFind(t *testing.T) {
	for _, tt := range []struct{ name, stream, want string }{
		{"zstd", "28b52ffd0458210000636f726574e16351", "core"},
		{"gzip", "1f8b08000000000000034bce2f4a05004f858d6b04000000", "core"},
		{"lz4", "04224d186440a704000080636f7265000000005469bf75", "core"},
		{"xz", "fd377a585a000004e6d6b4460200210116000000742fe5a3010003636f7265009470c2aa0ab3606900011c046f2c9cc11fb6f37d010000000004595a", "core"},
		{"", "7f454c46", ""},
		{"", "1f", ""},
	} {
		data, err := hex.DecodeString(tt.stream)
		if err != nil {
			t.Fatal(err)
		}
		f := Find(data)
		if f == nil {
			if tt.name != "" {
				t.Errorf("%s is not found", tt.name)
			}
			continue
		}
		if f.Name != tt.name || f.Slow != (tt.name == "xz") {
			t.Errorf("got %s, slow: %v; want %s", f.Name, f.Slow, tt.name)
		}
		r, err := f.Open(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got, err := io.ReadAll(r); string(got) != tt.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
