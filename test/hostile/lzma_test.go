package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/therootcompany/xz"
)

// What is coded by hand is what a decoder of others reads.
func TestXZBlock(t *testing.T) {
	for name, chunk := range map[string]xzChunk{"zeros": zeroChunk(), "slow": slowChunk()} {
		for _, head := range []string{"", "head"} {
			r, err := xz.NewReader(bytes.NewReader(xzBlock([]byte(head), chunk, 3)), 0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			want := append([]byte(head), make([]byte, 3*chunk.size)...)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: got %d bytes, %v, want %d", name, len(got), err, len(want))
			}
		}
		if ratio := chunk.size / len(chunk.data); ratio < 30 {
			t.Errorf("%s: only %d:1", name, ratio)
		}
	}
}
