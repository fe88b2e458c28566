package dap

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
)

// The threads of manyThreadsCore: stacks of so many bytes, one after the other.
const (
	manyThreads = 10_000
	manyStacks  = 0x7f00_0000_0000
	manySize    = 0x1000
)

// manyThreadsCore writes a core file of many threads, each with a stack of 20
// frames that are chained by frame pointers.
func manyThreadsCore(t *testing.T) string {
	t.Helper()
	const code, stacks, size, frames = 0x400000, manyStacks, manySize, 20
	c := testkit.NewCore(arch.AMD64).Process(1, "many", "many")
	for i := range uint64(manyThreads) {
		var regs arch.Regs
		regs.Set(arch.AMD64.PC, code+0x100)
		regs.Set(arch.AMD64.SP, stacks+i*size)
		regs.Set(arch.AMD64.FP, stacks+i*size+16)
		c.Thread(int(i)+1, 11, &regs)
		if i == 0 {
			c.SigInfo(11, 1, 0)
		}
	}
	text := make([]byte, 0x1000)
	copy(text[0x100-5:], "\xe8\x00\x00\x00\x00") // a call before the return addresses
	c.Segment(code, uint64(len(text)), true, text)
	stack := c.Data()
	for i := range uint64(manyThreads) {
		at := stacks + i*size
		stack.D64(0, 0)
		for f := range uint64(frames) {
			next := at + 16 + 16*(f+1)
			if f == frames-1 {
				next = 0
			}
			stack.D64(next, code+0x100)
		}
		stack.Zero(size - 16 - 16*frames)
	}
	c.Segment(stacks, manyThreads*size, false, stack.Done())
	name := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(name, c.Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// stackReads notes the threads whose stacks are read. It hides that the memory
// can be viewed.
type stackReads struct {
	memreader.Reader
	mu      sync.Mutex
	threads map[uint64]bool
}

func (r *stackReads) ReadMem(p []byte, addr uint64) (int, error) {
	r.mu.Lock()
	if i := (addr - manyStacks) / manySize; i < manyThreads {
		r.threads[i] = true
	}
	r.mu.Unlock()
	return r.Reader.ReadMem(p, addr)
}

// The first stack of a large process comes without looking at the others.
func TestManyThreads(t *testing.T) {
	reads := &stackReads{threads: map[uint64]bool{}}
	c := connect(t, &Server{Open: func(ctx context.Context, p Spec, progress func(done, total int64)) (*process.Process, error) {
		img, err := core.Open(ctx, p.Core, core.Options{Progress: progress}) //nolint:forbidigo // an opener is needed to test with
		if err != nil {
			return nil, err
		}
		reads.Reader, img.Mem = img.Mem, reads
		return process.New(img, p.Options), nil
	}})
	c.do("initialize", initialize, nil)
	c.do("attach", map[string]any{"coreFile": manyThreadsCore(t)}, nil)
	c.do("configurationDone", nil, nil)
	var stopped godap.StoppedEventBody
	c.event("stopped", &stopped)
	var threads godap.ThreadsResponseBody
	c.do("threads", nil, &threads)
	var stack godap.StackTraceResponseBody
	c.do("stackTrace", map[string]any{"threadId": stopped.ThreadId, "levels": 20}, &stack)
	if len(threads.Threads) != manyThreads || stack.TotalFrames < 20 {
		t.Errorf("got %d threads and %d frames, want %d and more than 20", len(threads.Threads), stack.TotalFrames, manyThreads)
	}
	reads.mu.Lock()
	defer reads.mu.Unlock()
	const most = 8 // what is above the outermost frame is searched too, which is in the next stacks
	if n := len(reads.threads); n == 0 || n > most {
		t.Errorf("the stacks of %d threads were read, want 1 to %d", n, most)
	}
}

// TestOddThreads checks that thread ids which the protocol cannot have are
// replaced.
func TestOddThreads(t *testing.T) {
	var regs arch.Regs
	regs.Set(arch.AMD64.PC, 0x400000)
	regs.Set(arch.AMD64.SP, 0x7000)
	for name, ids := range map[string][]int{"same": {7, 7, 7}, "zero": {0, 1, 2}, "negative": {-5, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			b := testkit.NewCore(arch.AMD64)
			for _, id := range ids {
				b.Thread(id, 11, &regs)
			}
			file := filepath.Join(t.TempDir(), "core")
			if err := os.WriteFile(file, b.Done(), 0o600); err != nil {
				t.Fatal(err)
			}
			c, stopped := open(t, map[string]any{"coreFile": file})
			var threads godap.ThreadsResponseBody
			c.do("threads", nil, &threads)
			seen := map[int]bool{}
			for _, th := range threads.Threads {
				if th.Id <= 0 || seen[th.Id] {
					t.Errorf("got thread %+v", th)
				}
				seen[th.Id] = true
				c.frames(th.Id)
			}
			if len(seen) != len(ids) || !seen[stopped.ThreadId] {
				t.Errorf("got %v, stopped %d, want %d threads", seen, stopped.ThreadId, len(ids))
			}
		})
	}
}
