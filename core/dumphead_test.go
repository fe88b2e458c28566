package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// coreBytes returns the bytes of a core of the corpus.
func coreBytes(t *testing.T, dir string) []byte {
	t.Helper()
	f, err := elfx.OpenRegular(filepath.Join(dir, "core.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := load(t.Context(), f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.release)
	return c.data
}

// The head of a real core has the threads and the signal of the whole core, and nothing
// behind it is read.
func TestCopyDumpHead(t *testing.T) {
	tried := 0
	for _, dir := range cases(t) {
		data := coreBytes(t, dir)
		whole, err := openBytes(data)
		if err != nil {
			t.Fatal(err)
		}
		var head bytes.Buffer
		in := bytes.NewReader(data)
		begin, n, err := CopyDumpHead(&head, in)
		if err != nil { // as of valgrind, which writes the notes last
			if !strings.Contains(err.Error(), "bytes of notes at offset") && !strings.Contains(err.Error(), "does not begin with its notes") {
				t.Errorf("%s: %v", dir, err)
			}
			continue
		}
		tried++
		if !bytes.Equal(begin, data[:ehdrSize]) {
			t.Errorf("%s: got another ELF header", dir)
		}
		if read := int64(len(data) - in.Len()); read != n || int64(head.Len()) != n {
			t.Errorf("%s: read %d bytes and copied %d, want %d", dir, read, head.Len(), n)
		}
		img, err := openBytes(head.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		sameThread := func(a, b Thread) bool {
			return a.ID == b.ID && a.Regs == b.Regs && a.Crashed == b.Crashed && bytes.Equal(a.PrStatus, b.PrStatus) && bytes.Equal(a.XState, b.XState)
		}
		if !slices.EqualFunc(img.Threads, whole.Threads, sameThread) || !reflect.DeepEqual(img.Signal, whole.Signal) || img.PID != whole.PID || img.Truncated != nil {
			t.Errorf("%s: the head has other threads, another signal, or is cut", dir)
		}
	}
	if tried < 20 {
		t.Errorf("only %d cores begin with their notes", tried)
	}
}

// A dump that cannot be read says why, whatever its header says, and no more than its
// head is read of it.
func TestCopyDumpHeadErrors(t *testing.T) {
	regs := new(arch.Regs)
	regs.Set(arch.AMD64.PC, 1)
	good := testkit.NewCore(arch.AMD64).Thread(7, 11, regs).Segment(0x1000, 4096, false, make([]byte, 4096)).Done()
	patch := func(off int, size int, v uint64) []byte {
		b := bytes.Clone(good)
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], v)
		copy(b[off:], word[:size])
		return b
	}
	var head bytes.Buffer
	_, n, err := CopyDumpHead(&head, bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		data       []byte
	}{
		{"empty", "reading the ELF header of the dump: EOF", nil},
		{"half a header", "reading the ELF header", good[:70]},
		{"no ELF", "no 64-bit ELF file", patch(0, 1, 'x')},
		{"32 bits", "no 64-bit ELF file", patch(4, 1, 1)},
		{"headers elsewhere", "e_phoff is 128", patch(ehdrPhoff, 8, 128)},
		{"memory first", "the first p_type 1", patch(ehdrSize, 4, 1)},
		{"notes in the headers", "bytes of notes at offset 64", patch(ehdrSize+phdrOffset, 8, 64)},
		{"notes far away", "bytes of notes at offset", patch(ehdrSize+phdrOffset, 8, MaxDumpHead+1)},
		{"notes without end", "bytes of notes", patch(ehdrSize+phdrFilesz, 8, 1<<63)},
		{"more notes than bytes", "reading the notes of the dump", patch(ehdrSize+phdrFilesz, 8, 1<<40)},
		{"cut notes", "unexpected EOF", good[:n-1]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := CopyDumpHead(io.Discard, bytes.NewReader(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("a pipe that breaks", func(t *testing.T) {
		odd := errors.New("odd")
		if _, _, err := CopyDumpHead(io.Discard, io.MultiReader(bytes.NewReader(good[:n-1]), iotest.ErrReader(odd))); !errors.Is(err, odd) {
			t.Errorf("got %v, want %v", err, odd)
		}
	})
	t.Run("many segments", func(t *testing.T) { // PN_XNUM, with the number at the end of the file
		many := patch(ehdrPhnum, 2, 0xffff)
		const shoff, shnum = 40, 60
		binary.LittleEndian.PutUint64(many[shoff:], 1<<40|1)
		binary.LittleEndian.PutUint32(many[shnum:], 1<<16|1)
		var copied bytes.Buffer
		if _, _, err := CopyDumpHead(&copied, bytes.NewReader(many)); err != nil || !bytes.Equal(copied.Bytes(), head.Bytes()) {
			t.Errorf("got another head, %v", err)
		}
		if b := copied.Bytes(); !bytes.Equal(b[shoff:shoff+8], make([]byte, 8)) || !bytes.Equal(b[shnum:shnum+4], make([]byte, 4)) || !bytes.Equal(b[64:68], good[64:68]) {
			t.Errorf("got section headers %x and %x, a first segment of type %x", b[shoff:shoff+8], b[shnum:shnum+4], b[64:68])
		}
	})
	t.Run("too many notes", func(t *testing.T) {
		const size = MaxDumpHead + 100
		long := io.MultiReader(bytes.NewReader(patch(ehdrSize+phdrFilesz, 8, size)), zeros{})
		var last tail
		_, n, err := CopyDumpHead(&last, long)
		if err != nil || n != MaxDumpHead || last.n != MaxDumpHead {
			t.Errorf("copied %d bytes, %v, want %d", n, err, MaxDumpHead)
		}
	})
}

// zeros reads as zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// tail counts what is written.
type tail struct{ n int64 }

func (w *tail) Write(p []byte) (int, error) { w.n += int64(len(p)); return len(p), nil }

// Any bytes give a head that can be opened, or an error.
func FuzzDumpHead(f *testing.F) {
	regs := new(arch.Regs)
	regs.Set(arch.S390X.PC, 1)
	f.Add(testkit.NewCore(arch.S390X).Thread(7, 11, regs).Segment(0x1000, 64, true, nil).Done())
	f.Fuzz(func(t *testing.T, data []byte) {
		var head bytes.Buffer
		begin, n, err := CopyDumpHead(&head, bytes.NewReader(data))
		if n > int64(len(data)) || int64(head.Len()) != n {
			t.Fatalf("copied %d bytes of %d, and said %d", head.Len(), len(data), n)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(begin, data[:ehdrSize]) {
			t.Fatal("got another ELF header")
		}
		if img, err := openBytes(head.Bytes()); err == nil && img.Truncated != nil {
			t.Fatal("the head is cut")
		}
	})
}
