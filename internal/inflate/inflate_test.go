package inflate

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/klauspost/compress/zlib"
)

// packed returns data as a zlib stream.
func packed(tb testing.TB, data []byte, level int) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// words returns text of n bytes with repetitions near and far.
func words(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for len(b) < n {
		switch random.IntN(4) {
		case 0:
			b = append(b, byte(random.Uint32()))
		case 1:
			short := []byte("123456789")[:1+random.IntN(9)]
			b = append(b, bytes.Repeat(short, random.IntN(300)/len(short))...)
		default:
			if len(b) > 0 {
				at := random.IntN(len(b))
				b = append(b, b[at:min(len(b), at+random.IntN(400))]...)
			}
		}
	}
	return b[:n]
}

func TestDecode(t *testing.T) {
	noise := make([]byte, 200_000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for name, data := range map[string][]byte{
		"empty": {}, "byte": {7}, "zeros": make([]byte, 100_000), "words": words(300_000), "noise": noise,
	} {
		for _, level := range []int{zlib.NoCompression, zlib.BestSpeed, zlib.DefaultCompression, zlib.BestCompression, zlib.HuffmanOnly} {
			in := packed(t, data, level)
			for _, step := range []int{1, 7, 1000, 65536, len(data) + 1} {
				s, err := New(in)
				if err != nil {
					t.Fatal(err)
				}
				var got []byte
				for n := 0; err == nil; n += step {
					got, err = s.Decode(got, n)
					if err == nil && (len(got) < n || len(got) > n+Slack) {
						t.Fatalf("%s: got %d bytes, want %d", name, len(got), n)
					}
				}
				if !errors.Is(err, io.EOF) || !bytes.Equal(got, data) {
					t.Errorf("%s, level %d, step %d: got %d bytes, %v", name, level, step, len(got), err)
				}
			}
			for cut := range min(len(in)-4, 300) {
				s, err := New(in[:cut])
				if err != nil {
					continue
				}
				if got, err := s.Decode(nil, len(data)+1); !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(data, got) {
					t.Fatalf("%s, level %d, cut at %d: got %v", name, level, cut, err)
				}
			}
		}
	}
}

func TestDecodeLarger(t *testing.T) {
	data := words(50_000)
	s, err := New(packed(t, data, 6))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Decode(nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	got, err = s.Decode(append(make([]byte, 0, len(data)+Slack), got...), len(data))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// TestDistance copies from before the first byte, in the middle and at the end of a
// stream.
func TestDistance(t *testing.T) {
	for _, padding := range []int{2, 2 * margin} {
		// The last block, fixed codes, three bytes from one byte before.
		s, err := New(append([]byte{0x78, 0x9c, 0x03, 0x02}, make([]byte, padding)...))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Decode(nil, 3); len(got) > 0 || !errors.Is(err, ErrFormat) {
			t.Errorf("got %d bytes, %v, want %v", len(got), err, ErrFormat)
		}
	}
}

// TestManyBlocks has a stream of blocks without contents.
func TestManyBlocks(t *testing.T) {
	// Four blocks of ten bits: not the last one, fixed codes, the end.
	in := append([]byte{0x78, 0x9c}, bytes.Repeat([]byte{2, 8, 32, 128, 0}, maxBlocks/4+1)...)
	s, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Decode(nil, 1); len(got) > 0 || !errors.Is(err, errBlocks) {
		t.Errorf("got %d bytes, %v, want %v", len(got), err, errBlocks)
	}
}

func FuzzDecode(f *testing.F) {
	for _, level := range []int{0, 1, 6, -2} {
		f.Add(packed(f, words(3000), level), uint16(100))
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint16) {
		const limit = 1 << 20
		var want []byte
		r, wantErr := zlib.NewReader(bytes.NewReader(in))
		if wantErr == nil {
			want, wantErr = io.ReadAll(io.LimitReader(r, limit))
		}
		s, err := New(in)
		var got []byte
		for n := 0; err == nil && len(got) < limit; n += 64*int(step) + 1 {
			got, err = s.Decode(got, min(n, limit))
		}
		got = got[:min(len(got), limit)]
		switch {
		case errors.Is(wantErr, zlib.ErrChecksum), errors.Is(wantErr, io.ErrUnexpectedEOF) && errors.Is(err, io.EOF):
			// The sum is not checked.
		case (err == nil || errors.Is(err, io.EOF)) != (wantErr == nil):
			t.Fatalf("got %v, want %v", err, wantErr)
		}
		if wantErr == nil && !bytes.Equal(got, want) || !bytes.HasPrefix(got, want) && !bytes.HasPrefix(want, got) {
			t.Fatalf("got %d bytes, want %d", len(got), len(want))
		}
	})
}

// BenchmarkDecode decodes the stream of SFCORE_BENCH_ZLIB, or text.
func BenchmarkDecode(b *testing.B) {
	in := packed(b, words(1<<20), 6)
	if name := os.Getenv("SFCORE_BENCH_ZLIB"); name != "" {
		var err error
		if in, err = os.ReadFile(name); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("own", func(b *testing.B) {
		var buf []byte
		for b.Loop() {
			s, err := New(in)
			if err != nil {
				b.Fatal(err)
			}
			if buf, err = s.Decode(buf[:0], 1<<30/100); !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(buf)))
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			r, err := zlib.NewReader(bytes.NewReader(in))
			if err != nil {
				b.Fatal(err)
			}
			n, err := io.Copy(io.Discard, r)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(n)
		}
	})
}
