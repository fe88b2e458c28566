package core

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/compressed"
)

// compressors make what Open decompresses. There is no writer of xz among the
// libraries: testdata/core.xz is the output of xz(1) for kernelCore of s390x.
var compressors = map[string]func(io.Writer) io.WriteCloser{
	"zstd": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
	"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"lz4":  func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) },
}

func compress(t testing.TB, format string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := compressors[format](&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOpenCompressed(t *testing.T) {
	core := kernelCore(arch.S390X).Done()
	xz, err := os.ReadFile("testdata/core.xz")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"plain": core, "xz": xz}
	for format := range compressors {
		files[format] = compress(t, format, core)
	}
	files["pzstd"] = append([]byte("\x50\x2a\x4d\x18\x04\x00\x00\x00\x01\x02\x03\x04"), files["zstd"]...)
	files["two members"] = append(compress(t, "gzip", core[:300]), compress(t, "gzip", core[300:])...)

	for format, data := range files {
		path := filepath.Join(t.TempDir(), "no extension")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(format, func(t *testing.T) {
			checkKernelCore(t, path, Options{})
		})
		t.Run(format+" from a pipe", func(t *testing.T) {
			setStdin(t, data)
			checkKernelCore(t, "-", Options{})
		})
		t.Run(format+" from standard input", func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			old := os.Stdin
			defer func() { os.Stdin = old }()
			os.Stdin = f
			checkKernelCore(t, "-", Options{})
		})
	}
}

func checkKernelCore(t *testing.T, path string, opts Options) {
	t.Helper()
	img, err := Open(context.Background(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer closeImage(t, img)
	wantProblems(t, img)
	if len(img.Threads) != 2 || img.Executable != "/bin/prog" {
		t.Errorf("got %+v", img)
	}
}

// setStdin makes standard input a pipe with data in it.
func setStdin(t *testing.T, data []byte) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = r
	t.Cleanup(func() { os.Stdin = old; r.Close() })
	go func() {
		_, _ = w.Write(data)
		w.Close()
	}()
}

// A stream that is cut off or damaged gives what comes before.
func TestOpenDamagedStream(t *testing.T) {
	noise := make([]byte, 12<<20) // some blocks of every format
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	core := append(kernelCore(arch.S390X).Done(), noise...)
	for format := range compressors {
		t.Run(format, func(t *testing.T) {
			packed := compress(t, format, core)
			setStdin(t, packed[:len(packed)*3/4])
			img, err := Open(context.Background(), "-", Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer closeImage(t, img)
			wantProblems(t, img, "standard input: the "+format+" stream ends early, after ")
			if len(img.Threads) != 2 {
				t.Errorf("got %d threads", len(img.Threads))
			}

			setStdin(t, packed[:20])
			if img, err := Open(context.Background(), "-", Options{}); err == nil {
				t.Errorf("20 bytes of a stream: got %+v", img)
			}
		})
	}
}

// What is no core is refused at its beginning, however much follows.
func TestStreamNotACore(t *testing.T) {
	for name, tt := range map[string]struct{ head, want string }{
		"text":              {strings.Repeat("some text\n", 100), "a text file"},
		"zeros":             {"", "some other kind of file"},
		"compressed text":   {string(compress(t, "zstd", bytes.Repeat([]byte("text\n"), 100))), "a text file"},
		"short stream":      {"\x1f\x8b\x08", "gzip"},
		"wrong compression": {"\x04\x22\x4d\x18 is not lz4", "lz4"},
	} {
		t.Run(name, func(t *testing.T) {
			in := io.MultiReader(strings.NewReader(tt.head), endless{})
			if name == "short stream" {
				in = strings.NewReader(tt.head)
			}
			c := &counter{r: in}
			_, err := loadStream(context.Background(), c, 0, Options{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if c.n > 8<<20 {
				t.Errorf("read %d bytes", c.n)
			}
		})
	}
}

// endless is a stream of zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestStreamLimits(t *testing.T) {
	core := kernelCore(arch.AMD64).Done()
	in := func() io.Reader { return io.MultiReader(bytes.NewReader(core), endless{}) }
	_, err := loadStream(context.Background(), in(), 0, Options{MaxDecompressed: 5 << 20})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "5242880") {
		t.Errorf("got %v, want %v and the limit", err, ErrTooLarge)
	}

	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err = loadStream(ctx, in(), 77, Options{Progress: func(done, total int64) {
		if calls++; calls == 3 {
			cancel()
		}
		if done < int64(calls)<<20 || total != 77 {
			t.Errorf("call %d: progress %d of %d", calls, done, total)
		}
	}})
	if !errors.Is(err, context.Canceled) || calls != 3 {
		t.Errorf("got %v after %d calls, want cancelled after 3", err, calls)
	}
}

func TestReadError(t *testing.T) {
	core := kernelCore(arch.AMD64).Done()
	broken := errors.New("broken")
	c, err := loadStream(context.Background(), io.MultiReader(bytes.NewReader(core), failing{broken}), 0, Options{})
	if err != nil || !errors.Is(c.problem, broken) || !bytes.Equal(c.data, core) {
		t.Errorf("got %d bytes, problem %v, error %v, want %d bytes and a problem", len(c.data), c.problem, err, len(core))
	}
	if _, err = loadStream(context.Background(), failing{broken}, 0, Options{}); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}

	noise := make([]byte, 12<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	for format := range compressors {
		packed := compress(t, format, append(bytes.Clone(core), noise...))
		in := io.MultiReader(bytes.NewReader(packed[:len(packed)*3/4]), failing{broken})
		c, err := loadStream(context.Background(), in, 0, Options{})
		if err != nil || !errors.Is(c.problem, broken) || len(c.data) < 6<<20 || !bytes.HasPrefix(c.data, core) {
			t.Errorf("%s: got %d bytes, problem %v, error %v", format, len(c.data), c.problem, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A pipe that stalls does not hold Open once ctx ends; one that is closed early
// gives what came.
func TestStalledPipe(t *testing.T) {
	core := append(kernelCore(arch.S390X).Done(), make([]byte, 200<<10)...) // more than a pipe has room for
	for _, ends := range []bool{true, false} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		old := os.Stdin
		os.Stdin = r
		defer func() { os.Stdin = old; r.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		failsafe := time.AfterFunc(20*time.Second, func() { w.Close() })
		go func() {
			_, _ = w.Write(core) // returns when most of it was read
			if ends {
				w.Close()
			} else {
				cancel()
			}
		}()
		img, err := Open(ctx, "-", Options{})
		if !failsafe.Stop() {
			t.Error("Open waited for the pipe to be closed")
		}
		if ends {
			if err != nil || len(img.Threads) != 2 {
				t.Fatalf("closed: got %v, %v", img, err)
			}
			closeImage(t, img)
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("stalled: got %v, %v, want %v", img, err, context.Canceled)
		}
		w.Close()
	}
}

// FuzzLoad decompresses any bytes: what begins like a core, and no more than
// allowed, or an error.
func FuzzLoad(f *testing.F) {
	const limit = 4 << 20
	core := kernelCore(arch.S390X).Done()
	for format := range compressors {
		f.Add(compress(f, format, core))
		f.Add(compress(f, format, append(core[:len(core):len(core)], make([]byte, limit)...))) // too large
	}
	if xz, err := os.ReadFile("testdata/core.xz"); err == nil {
		f.Add(xz)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := loadStream(context.Background(), bytes.NewReader(data), 0, Options{MaxDecompressed: limit})
		runtime.ReadMemStats(&after)
		if err == nil {
			defer c.release()
		}
		if (err == nil) != (c.release != nil) || len(c.data) > limit || err != nil && c.data != nil {
			t.Errorf("got %d bytes, error %v", len(c.data), err)
		}
		if err == nil && checkStart(c.data, io.EOF) != nil {
			t.Errorf("got %d bytes that do not begin like a core", len(c.data))
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 4*compressed.MaxWindow {
			t.Errorf("%d bytes took %d bytes of memory", len(data), used)
		}
	})
}
