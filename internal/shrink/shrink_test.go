package shrink_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
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
)

const coresDir = "../../testdata/cores"

// open opens a core of a case.
func open(t *testing.T, file, name string) (*core.Image, process.Options) {
	t.Helper()
	img, err := core.Open(context.Background(), file, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var opts process.Options
	dir := filepath.Join(coresDir, name)
	for _, sub := range []string{"exe", "debug"} {
		if _, err := os.Stat(filepath.Join(dir, sub)); err == nil {
			opts.Paths = append(opts.Paths, filepath.Join(dir, sub))
		}
	}
	opts.Sysroot = filepath.Join(dir, "sysroot") // which few have: nothing of this machine is used
	return img, opts
}

// said is all that sfcore says of a core, with the variables of all threads.
func said(t *testing.T, file, name string) string {
	t.Helper()
	img, opts := open(t, file, name)
	p := process.New(img, opts)
	defer p.Close()
	r, err := p.Report(context.Background(), p.Threads())
	if err != nil {
		t.Fatal(err)
	}
	w := p.NewWalker()
	for i, th := range p.Threads() {
		w.AddVariables(w.Walk(th), &r.Threads[i])
	}
	r.Source.Path = ""
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), file, "CORE")
}

// small writes the small core of a file.
func small(t *testing.T, file, name string) (string, *shrink.Summary) {
	t.Helper()
	img, opts := open(t, file, name)
	var out bytes.Buffer
	sum, err := shrink.Core(context.Background(), &out, img, opts)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(to, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return to, sum
}

// What sfcore says of a small core is what it says of the whole one.
func TestCorpus(t *testing.T) {
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		whole := filepath.Join(coresDir, name, "core.zst")
		file, sum := small(t, whole, name)
		if len(sum.LeftOut) > 0 {
			t.Errorf("left out: %q", sum.LeftOut)
		}
		got, want := strings.Split(said(t, file, name), "\n"), strings.Split(said(t, whole, name), "\n")
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("line %d: got %q, want %q", i+1, got[min(i, len(got)-1)], want[i])
			}
		}
		again, _ := small(t, file, name)
		a, err1 := os.ReadFile(file)
		b, err2 := os.ReadFile(again)
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("the small core of the small core has %d bytes, not %d: %v, %v", len(b), len(a), err1, err2)
		}
	})
}

// What the stack and the registers of the crashed thread point to is kept, and what that
// points to, and nothing further.
func TestPointed(t *testing.T) {
	const stackAt, heapAt, textAt = 0x7000_0000, 0x100_0000, 0x40_0000
	stack := make([]byte, 16*4096)
	heap := make([]byte, 64*4096)
	binary.LittleEndian.PutUint64(stack[15*4096+8:], heapAt+5*4096+16)
	binary.LittleEndian.PutUint64(stack[15*4096+16:], textAt)
	binary.LittleEndian.PutUint64(stack[4096:], heapAt+50*4096) // below SP
	binary.LittleEndian.PutUint64(heap[5*4096+24:], heapAt+9*4096)
	binary.LittleEndian.PutUint64(heap[9*4096:], heapAt+20*4096)
	var regs arch.Regs
	regs.Set(arch.AMD64.SP, stackAt+15*4096+8)
	regs.Set(arch.AMD64.PC, textAt+0x100)
	regs.Set(3, heapAt+30*4096-8)
	c := testkit.NewCore(arch.AMD64).Process(7, "p", "p").Thread(7, 11, &regs)
	c.Segment(textAt, 8*4096, true, make([]byte, 8*4096))
	c.Writable(heapAt, uint64(len(heap)), heap).Writable(stackAt, uint64(len(stack)), stack)
	file := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(file, c.Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	to, sum := small(t, file, "none")
	img, err := core.Open(context.Background(), to, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	var heapPages, stackPages []int
	for page := range 64 {
		if n, _ := img.Mem.ReadMem(make([]byte, 1), heapAt+uint64(page)*4096); n == 1 {
			heapPages = append(heapPages, page)
		}
		if n, _ := img.Mem.ReadMem(make([]byte, 1), stackAt+uint64(page)*4096+4095); n == 1 {
			stackPages = append(stackPages, page)
		}
	}
	if want := []int{5, 9, 29, 30}; !slices.Equal(heapPages, want) {
		t.Errorf("heap: got pages %v, want %v", heapPages, want)
	}
	if want := []int{14, 15}; !slices.Equal(stackPages, want) {
		t.Errorf("stack: got pages %v, want %v", stackPages, want)
	}
	if sum.Kept > 14*4096 { // with the code
		t.Errorf("kept %d bytes", sum.Kept)
	}
}

// Of a mapping in which a walk came to no end, only the part next to SP is kept.
func TestUnwalkedStacks(t *testing.T) {
	const threads, each = 40, 16 << 20
	c := testkit.NewCore(arch.AMD64).Process(1, "p", "p")
	data := make([]byte, each)
	for i := range uint64(threads) {
		var regs arch.Regs
		regs.Set(arch.AMD64.SP, (i+1)<<32)
		regs.Set(arch.AMD64.PC, 0x400000)
		c.Thread(int(i)+1, 11, &regs)
	}
	for i := range uint64(threads) {
		c.Writable((i+1)<<32, each, data)
	}
	file := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(file, c.Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, sum := small(t, file, "none")
	if sum.Kept > threads*(257<<10) {
		t.Errorf("kept %d bytes of stacks whose walk found one frame", sum.Kept)
	}
}

func TestNoThreads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(file, testkit.NewCore(arch.AMD64).Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	img, opts := open(t, file, "none")
	if _, err := shrink.Core(context.Background(), new(bytes.Buffer), img, opts); err == nil || !strings.Contains(err.Error(), "no threads") {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	img, opts := open(t, filepath.Join(coresDir, "amd64-v2-threads", "core.zst"), "amd64-v2-threads")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	if _, err := shrink.Core(ctx, &out, img, opts); err == nil || out.Len() > 0 {
		t.Errorf("got %v, %d bytes", err, out.Len())
	}
}
