package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/process"
)

// TestOpen walks the stacks of cores' processes through a dlv that holds them.
func TestOpen(t *testing.T) {
	for _, name := range []string{"amd64-v3-threads", "amd64-v2-plt-1", "aarch64-v3-threads", "amd64-v3-deep"} {
		t.Run(name, func(t *testing.T) {
			f := &fake{process: openCore(t, name)}
			img, err := Open(t.Context(), f.listen(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(img.Problems) > 0 || img.PID != f.process.Image().PID || img.Threads[0].ID != f.process.Image().Threads[0].ID {
				t.Errorf("got process %d, thread %d first, problems %v", img.PID, img.Threads[0].ID, img.Problems)
			}
			tgt := process.New(img, optionsFor(name))
			defer tgt.Close()
			compareStacks(t, tgt, f.process)
			if n := f.calls["ExamineMemory"]; n > 200 {
				t.Errorf("got %d reads of memory, want at most 200", n)
			}
		})
	}
}

func compareStacks(t *testing.T, got, want *process.Process) {
	t.Helper()
	for _, th := range want.Threads() {
		w, err := want.Stack(th.ID)
		if err != nil {
			t.Fatal(err)
		}
		g, err := got.Stack(th.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(g.Frames) != len(w.Frames) || g.Stop.Reason != w.Stop.Reason {
			t.Errorf("thread %d: got %d frames, %v; want %d, %v", th.ID, len(g.Frames), g.Stop, len(w.Frames), w.Stop)
			continue
		}
		for i := range g.Frames {
			if g.Frames[i].PC != w.Frames[i].PC || g.Frames[i].Trust != w.Frames[i].Trust || g.Frames[i].Method != w.Frames[i].Method {
				t.Errorf("thread %d: frame %d: got %#x, want %#x", th.ID, i, g.Frames[i].PC, w.Frames[i].PC)
			}
		}
	}
}

// TestBreakpoint has dlv's instructions in memory, over all calls of a stack.
func TestBreakpoint(t *testing.T) {
	f := &fake{process: openCore(t, "amd64-v3-deep")}
	first := f.process.Threads()[0]
	stack, err := f.process.Stack(first.ID)
	if err != nil {
		t.Fatal(err)
	}
	var calls []uint64
	for i := range stack.Frames[1:] {
		calls = append(calls, stack.Frames[i+1].PC-5)
	}
	f.answer = func(method string, args json.RawMessage) (any, error) {
		switch method {
		case "ListBreakpoints":
			return map[string]any{"Breakpoints": []any{map[string]any{"addrs": calls}}}, nil
		case "ExamineMemory":
			var in memoryIn
			if err := json.Unmarshal(args, &in); err != nil {
				return nil, err
			}
			out, err := f.memory(in)
			if err != nil {
				return nil, err
			}
			for _, at := range calls {
				if off := at - in.Address; off < uint64(in.Length) {
					out.(memoryOut).Mem[off] = 0xcc
				}
			}
			return out, nil
		}
		return nil, nil
	}
	img, err := Open(t.Context(), f.listen(t))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := img.Mem.ReadMem(make([]byte, 8), calls[0]-3); n != 3 || err == nil || !strings.Contains(err.Error(), "breakpoint") {
		t.Errorf("got %d bytes, %v, want 3 and a breakpoint", n, err)
	}
	tgt := process.New(img, optionsFor("amd64-v3-deep"))
	defer tgt.Close()
	compareStacks(t, tgt, f.process)
}

// TestRefused has answers that are not believed, or processes that cannot be
// looked at.
func TestRefused(t *testing.T) {
	text := func(s string) json.RawMessage { return json.RawMessage(s) }
	tests := []struct {
		name, method, answer, want string
	}{
		{"running", "State", `{"State":{"Running":true}}`, "the process is running"},
		{"recording", "State", `{"State":{"Recording":true}}`, "busy"},
		{"ended", "State", `{"State":{"Pid":7,"exited":true}}`, "process 7 has ended"},
		{"core", "GetVersion", `{"Backend":"core"}`, "give the core file to sfcore"},
		{"thread 0", "State", `{"State":{"Threads":[{"id":0}]}}`, "a thread without an id"},
		{"null thread", "State", `{"State":{"Threads":[null]}}`, "a thread without an id"},
		{"thread twice", "State", `{"State":{"Threads":[{"id":3},{"id":3}]}}`, "1 threads twice"},
		{"no threads", "State", `{"State":{}}`, "no registers of an architecture that both"},
		{"no register", "ListRegisters", `{"Regs":[]}`, "no registers of an architecture that both"},
		{"other machine", "ListRegisters", `{"Regs":[{"Name":"Eip","Value":"0x1","DwarfNumber":8}]}`, "no registers of an architecture that both"},
		{"no number", "ListRegisters", `{"Regs":[{"Name":"Rip","Value":"zwei","DwarfNumber":16}]}`, `rip is "zwei", not a number`},
		{"too many registers", "ListRegisters", `{"Regs":[{"Name":"Rip","Value":"0x1"}` + strings.Repeat(`,{"Name":"Rip","Value":"0x1"}`, 2000) + `]}`, "2001 registers"},
		{"short memory", "ExamineMemory", `{"Mem":"AAAA"}`, "3 bytes of memory instead of 16384"},
		{"long memory", "ExamineMemory", `{"Mem":"` + strings.Repeat("AAAA", 8192) + `"}`, "24576 bytes of memory"},
		{"no object", "State", `[1]`, "the answer to State"},
		{"too many breakpoints", "ListBreakpoints", `{"Breakpoints":[{"addrs":[1` + strings.Repeat(",1", 70000) + `]}]}`, "70001 breakpoints"},
	}
	shared := openCore(t, "amd64-v3-threads")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{process: shared}
			f.answer = func(method string, _ json.RawMessage) (any, error) {
				if method == tt.method {
					return text(tt.answer), nil
				}
				return nil, nil
			}
			img, err := Open(t.Context(), f.listen(t))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %q", img, err, tt.want)
			}
		})
	}
}

// TestThreadError has dlv refuse the registers of one thread.
func TestThreadError(t *testing.T) {
	f := &fake{process: openCore(t, "amd64-v3-threads")}
	last := f.process.Image().Threads[len(f.process.Image().Threads)-1].ID
	f.answer = func(method string, args json.RawMessage) (any, error) {
		var in registersIn
		if method == "ListRegisters" && json.Unmarshal(args, &in) == nil && in.ThreadID == last {
			return nil, errors.New("couldn't find thread")
		}
		return nil, nil
	}
	img, err := Open(t.Context(), f.listen(t))
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	for i := range img.Threads {
		if th := &img.Threads[i]; (th.Err != nil) != (th.ID == last) {
			t.Errorf("thread %d: got %v", th.ID, th.Err)
		}
	}
}

// TestGone lets the process go on: nothing is read of it any more.
func TestGone(t *testing.T) {
	f := &fake{process: openCore(t, "amd64-v3-threads")}
	hits := 1
	f.answer = func(method string, _ json.RawMessage) (any, error) {
		if method == "ListBreakpoints" {
			return map[string]any{"Breakpoints": []any{map[string]any{"addrs": []uint64{1}, "totalHitCount": hits}}}, nil
		}
		return nil, nil
	}
	img, err := Open(t.Context(), f.listen(t))
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	at := img.Mappings[0].Lo
	if _, err := img.Mem.ReadMem(make([]byte, 8), at); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	hits++
	f.mu.Unlock()
	if n, err := img.Mem.ReadMem(make([]byte, 8), 0x123456789000); n != 0 || !errors.Is(err, errGone) {
		t.Errorf("got %d, %v, want 0, %v", n, err, errGone)
	}
	if n, err := img.Mem.ReadMem(make([]byte, 8), at); n != 0 || !errors.Is(err, errGone) {
		t.Errorf("got %d, %v, want 0, %v", n, err, errGone)
	}
}

// TestSingleClient tells what the end of the connection will do.
func TestSingleClient(t *testing.T) {
	f := &fake{process: openCore(t, "amd64-v3-deep")}
	f.answer = func(method string, _ json.RawMessage) (any, error) {
		if method == "IsMulticlient" {
			return multiclientOut{false}, nil
		}
		return nil, nil
	}
	img, err := Open(t.Context(), f.listen(t))
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	if len(img.Problems) != 1 || !strings.Contains(img.Problems[0].Error(), "--accept-multiclient") {
		t.Errorf("got %v, want one about --accept-multiclient", img.Problems)
	}
}

func TestNobodyListens(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:1", "unix:/nonexistent", "no address"} {
		if _, err := Open(t.Context(), addr); err == nil || !strings.Contains(err.Error(), "no dlv --headless listens at "+addr) {
			t.Errorf("%s: got %v", addr, err)
		}
	}
}

// TestHangs has dlv not answer, as while the process runs.
func TestHangs(t *testing.T) {
	ours, theirs := net.Pipe()
	defer func() { _ = theirs.Close() }()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	c := newClient(ours)
	defer c.close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if img, err := c.image(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v, want %v", img, err, context.DeadlineExceeded)
	}
}

// TestLargeAnswer has an answer without end.
func TestLargeAnswer(t *testing.T) {
	ours, theirs := net.Pipe()
	defer func() { _ = theirs.Close() }()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	go func() {
		_, _ = io.WriteString(theirs, `{"id":1,"result":"`)
		block := []byte(strings.Repeat("x", 1<<20))
		for {
			if _, err := theirs.Write(block); err != nil {
				return
			}
		}
	}()
	c := newClient(ours)
	c.room = 1 << 20 // the usual takes seconds
	defer c.close()
	if img, err := c.image(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("got %v, %v, want an error about the size", img, err)
	}
}

// FuzzAnswers gives any bytes as answers: an image or an error.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":{"IsMulticlient":true},"error":null}{"id":2,"result":{"Backend":"native"},"error":null}` +
		`{"id":3,"result":{"State":{"Pid":1,"Threads":[{"id":1}]}},"error":null}` +
		`{"id":4,"result":{"Breakpoints":[]},"error":null}{"id":5,"result":{"Breakpoints":null},"error":null}` +
		`{"id":6,"result":{"List":[{"Path":"/lib/ld.so","Address":4096}]},"error":null}` +
		`{"id":7,"result":{"Regs":[{"Name":"Rip","Value":"0x1000","DwarfNumber":16},{"Name":"Rsp","Value":"0x2000","DwarfNumber":7}]},"error":null}` +
		`{"id":8,"result":null,"error":"EOF"}`))
	f.Add([]byte(`{"id":1,"error":{"a":[1]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		go func() {
			_, _ = theirs.Write(data)
			_ = theirs.Close()
		}()
		c := newClient(ours)
		defer c.close()
		img, err := c.image(t.Context())
		if (err == nil) != (img != nil && img.Mem != nil) {
			t.Fatalf("got %v, %v", img, err)
		}
		if err == nil {
			tgt := process.New(img, process.Options{Sysroot: t.TempDir()})
			for _, th := range tgt.Threads() {
				_, _ = tgt.Stack(th.ID)
			}
			tgt.Close()
		}
	})
}
