package dap

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

const manyThreads = 10_000

// manyThreadsCore writes a core file of many threads, each with a stack of 20
// frames that are chained by frame pointers.
func manyThreadsCore(tb testing.TB) string {
	tb.Helper()
	const code, stacks, size, frames = 0x400000, 0x7f00_0000_0000, 0x1000, 20
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
	name := filepath.Join(tb.TempDir(), "core")
	if err := os.WriteFile(name, c.Done(), 0o600); err != nil {
		tb.Fatal(err)
	}
	return name
}

// firstStack opens a core and asks for what an editor shows first.
func firstStack(t *testing.T, name string) time.Duration {
	t.Helper()
	c := connect(t, &Server{Open: openCore})
	c.do("initialize", initialize, nil)
	begin := time.Now()
	c.do("attach", map[string]any{"coreFile": name}, nil)
	c.do("configurationDone", nil, nil)
	var stopped godap.StoppedEventBody
	c.event("stopped", &stopped)
	var threads godap.ThreadsResponseBody
	c.do("threads", nil, &threads)
	var stack godap.StackTraceResponseBody
	c.do("stackTrace", map[string]any{"threadId": stopped.ThreadId, "levels": 20}, &stack)
	took := time.Since(begin)
	if len(threads.Threads) != manyThreads || stack.TotalFrames < 20 {
		t.Errorf("got %d threads and %d frames, want %d and more than 20", len(threads.Threads), stack.TotalFrames, manyThreads)
	}
	return took
}

// TestManyThreads checks that the first stack of a large process comes without
// looking at the others. The time includes both sides' JSON.
func TestManyThreads(t *testing.T) {
	name := manyThreadsCore(t)
	best := time.Hour
	for range 5 {
		best = min(best, firstStack(t, name))
	}
	t.Logf("the first stack of %d threads took %v", manyThreads, best)
	if best > patience*100*time.Millisecond {
		t.Errorf("the first stack of %d threads took %v, want less than %v", manyThreads, best, patience*100*time.Millisecond)
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
			core := testkit.NewCore(arch.AMD64)
			for _, id := range ids {
				core.Thread(id, 11, &regs)
			}
			file := filepath.Join(t.TempDir(), "core")
			if err := os.WriteFile(file, core.Done(), 0o600); err != nil {
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
