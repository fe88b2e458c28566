package shrink_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/shrink"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// private returns the private core of a file.
func private(t *testing.T, file, name string) ([]byte, *shrink.Summary) {
	t.Helper()
	img, opts := open(t, file, name)
	data, sum, err := shrink.Private(context.Background(), img, opts)
	if err != nil {
		t.Fatal(err)
	}
	return data, sum
}

func stacksOf(t *testing.T, file, name string) *report.Document {
	t.Helper()
	img, opts := open(t, file, name)
	p := process.New(img, opts)
	defer p.Close()
	r, err := p.Report(context.Background(), p.Threads())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// blanked are the cases that show other stacks, and why.
var blanked = map[string]string{
	"aarch64-qemuuser-none-jit": jitImage, "amd64-none-jit": jitImage, "s390x-qemuuser-none-jit": jitImage,
}

const jitImage = "the image that a just-in-time compiler has registered is in memory that can be written"

// The stacks of a private core are those of the whole one.
func TestPrivateCorpus(t *testing.T) {
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		whole := filepath.Join(coresDir, name, "core.zst")
		file := filepath.Join(t.TempDir(), "core")
		small, sum := private(t, whole, name)
		if err := os.WriteFile(file, small, 0o600); err != nil {
			t.Fatal(err)
		}
		got, want := stacksOf(t, file, name), stacksOf(t, whole, name)
		if len(got.Threads) != len(want.Threads) {
			t.Fatalf("got %d threads, want %d", len(got.Threads), len(want.Threads))
		}
		var wrong []string
		for i := range want.Threads {
			a, b := &got.Threads[i], &want.Threads[i]
			if a.TID != b.TID || a.Stop.Reason != b.Stop.Reason || len(a.Frames) != len(b.Frames) {
				wrong = append(wrong, fmt.Sprintf("thread %d: got %d frames, %v; want %d, %v", b.TID, len(a.Frames), a.Stop, len(b.Frames), b.Stop))
				continue
			}
			for n := range b.Frames {
				f, g := &a.Frames[n], &b.Frames[n]
				if f.PC != g.PC || f.CFA != g.CFA || f.Method != g.Method || f.Trust != g.Trust || f.Function != g.Function {
					wrong = append(wrong, fmt.Sprintf("thread %d, frame %d: got %+v, want %+v", b.TID, n, f, g))
				}
			}
		}
		said := slices.ContainsFunc(sum.LeftOut, func(l string) bool { return strings.Contains(l, "just-in-time compiler has registered") })
		if why := blanked[name]; said != (why != "") {
			t.Errorf("it is said that images are left out: %v, expected because %q", said, why)
		}
		if why := blanked[name]; (why != "") != (len(wrong) > 0) {
			t.Errorf("%d differences, expected because %q:\n%s", len(wrong), why, strings.Join(wrong, "\n"))
		}
	})
}

// What a process keeps to itself is nowhere in a private core.
func TestPrivate(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		t.Run(a.Name, func(t *testing.T) {
			const stackAt, heapAt, textAt, dataAt = 0x7fff_0000_0000, 0x100_0000, 0x40_0000, 0x7ffe_0000_0000
			var order binary.ByteOrder = binary.LittleEndian
			if a.BigEndian {
				order = binary.BigEndian
			}
			secret := []byte("SECRET")
			stack := bytes.Repeat([]byte("..SECRET"), 2*4096/8)
			heap := bytes.Repeat([]byte("SECRET.."), 4096/8)
			order.PutUint64(stack[4096+8:], heapAt+16)
			order.PutUint64(stack[4096+16:], 4096)
			order.PutUint64(stack[4096+24:], 4097)
			order.PutUint64(stack[4096+32:], ^uint64(0))
			order.PutUint64(stack[4096+40:], textAt+0x10)
			var regs arch.Regs
			regs.Set(a.SP, stackAt+4096)
			regs.Set(a.PC, textAt+0x100)
			regs.Set(3, order.Uint64([]byte("SECRET!!")))
			regs.Set(a.FP, stackAt+4096)
			c := testkit.NewCore(a).Process(7, "prog", "prog --password=SECRET").Thread(7, 11, &regs)
			c.Note("CORE", 2, bytes.Repeat([]byte("SECRET.."), 64))
			c.Note("LINUX", 0x202, bytes.Repeat([]byte("SECRET.."), 104))
			c.Note("OTHER", 5, []byte("SECRET"))
			c.Files(4096,
				testkit.CoreFile{Lo: textAt, Hi: textAt + 4096, Path: "/bin/prog"},
				testkit.CoreFile{Lo: dataAt, Hi: dataAt + 4096, Path: "/home/SECRET/file"})
			c.Segment(textAt, 4096, true, bytes.Repeat([]byte{0x90}, 4096))
			c.Writable(heapAt, uint64(len(heap)), heap)
			c.Segment(dataAt, 4096, false, bytes.Repeat([]byte("SECRET.."), 4096/8))
			c.Writable(stackAt, uint64(len(stack)), stack)
			file := filepath.Join(t.TempDir(), "core")
			whole := c.Done()
			if !bytes.Contains(whole, secret) {
				t.Fatal("the whole core has no secret")
			}
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			small, _ := private(t, file, "none")
			for at := 0; ; {
				i := bytes.Index(small[at:], secret)
				if i < 0 {
					break
				}
				t.Errorf("at %#x: %q", at+i, small[max(0, at+i-20):at+i+12])
				at += i + 1
			}
			if err := os.WriteFile(file, small, 0o600); err != nil {
				t.Fatal(err)
			}
			img, err := core.Open(context.Background(), file, core.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer img.Close()
			if len(img.Problems) > 0 || img.Command != "" || img.Name != "prog" {
				t.Errorf("got %q, %q, problems %v", img.Command, img.Name, img.Problems)
			}
			var got []uint64
			for off := range uint64(6) {
				b := make([]byte, 8)
				if _, err := img.Mem.ReadMem(b, stackAt+4096+8*off); err != nil {
					t.Fatal(err)
				}
				got = append(got, order.Uint64(b))
			}
			const blank = 0x0defaced0defaced
			if want := []uint64{blank, heapAt + 16, 4096, blank, ^uint64(0), textAt + 0x10}; !slices.Equal(got, want) {
				t.Errorf("stack: got %#x, want %#x", got, want)
			}
			if m := img.Mapping(dataAt); m == nil || m.Path != "/xxxx/xxxxxx/xxxx" {
				t.Errorf("a mapped file without code: got %+v", m)
			}
			if m := img.Mapping(textAt); m == nil || m.Path != "/bin/prog" {
				t.Errorf("the program: got %+v", m)
			}
			th := &img.Threads[0]
			for r, want := range map[arch.Reg]uint64{a.SP: stackAt + 4096, a.PC: textAt + 0x100, 3: blank, a.FP: stackAt + 4096} {
				if got, _ := th.Regs.Get(r); got != want {
					t.Errorf("%s: got %#x, want %#x", a.Regs[r], got, want)
				}
			}
			if len(th.XState) > 0 {
				t.Errorf("vector registers are there: %d bytes", len(th.XState))
			}
		})
	}
}
