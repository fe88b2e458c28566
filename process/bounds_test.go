package process

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

func emptyProcess(t *testing.T) *Process {
	t.Helper()
	p := New(&core.Image{Arch: arch.AMD64, Mem: memreader.NewSpace(nil)}, Options{})
	t.Cleanup(func() { p.Close() })
	return p
}

// Once long names have taken their time, they are shown as they are; short ones are
// still demangled.
func TestDemangleBounded(t *testing.T) {
	p := emptyProcess(t)
	long := "_Z1f" + strings.Repeat("P", shortName) + "i"
	if got := p.demangle(long); got == long {
		t.Error("a long name is not demangled")
	}
	if p.demangling.Load() == 0 {
		t.Error("its time does not count")
	}
	p.demangling.Store(int64(maxDemangling) + 1)
	if got := p.demangle(long); got != long {
		t.Error("a long name is still demangled")
	}
	if got := p.demangle("_Z1fi"); got != "f(int)" {
		t.Errorf("got %q", got)
	}
	if got := p.Problems(); len(got) != 1 || !strings.Contains(got[0], "demangling long names took more than 2s") {
		t.Errorf("got problems %q", got)
	}
}

// What is read of source files counts, and is bounded.
func TestSourcesBounded(t *testing.T) {
	p := emptyProcess(t)
	name := filepath.Join(t.TempDir(), "a.c")
	if err := os.WriteFile(name, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.SourceLines(name, "", 2, 0); len(got) != 1 || got[0].Text != "two" || p.sourceRead.Load() != 8 {
		t.Errorf("got %v after %d bytes", got, p.sourceRead.Load())
	}
	p.sourceRead.Store(maxSources + 1)
	if got := p.SourceLines(name, "", 2, 0); got != nil || len(p.Problems()) != 1 {
		t.Errorf("got %v, problems %q", got, p.Problems())
	}
}

// Lines of a file are the same whichever was asked for first, and the file is read
// once.
func TestSourceLinesAgain(t *testing.T) {
	var text strings.Builder
	var want []string
	for i := range 60_000 {
		want = append(want, strings.Repeat("x", i%40)+strconv.Itoa(i))
		if i%20_000 == 7 {
			want[i] = strings.Repeat("y", 3*block) // in which there are places
		}
		text.WriteString(want[i] + []string{"\n", "\r\n"}[i%2])
	}
	name := filepath.Join(t.TempDir(), "a.c")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := deepProcess(t, 1, 1)
	asked := []int{1, 2, 7, 8, 9, 20_006, 20_007, 20_008, 20_009, 20_010, len(want) - 1, len(want)}
	for i := range 1000 {
		asked = append(asked, i*7919%len(want)+1)
	}
	for _, n := range asked {
		got := p.SourceLines(name, "", n, 1)
		for _, line := range got {
			if w := want[line.Number-1]; line.Text != w[:min(len(w), maxSourceLine)] {
				t.Fatalf("line %d: got %q, want %q", line.Number, line.Text, w)
			}
		}
		if len(got) < 2 || len(got) < 3 && n > 1 && n < len(want) {
			t.Fatalf("line %d: got %d lines", n, len(got))
		}
	}
	if got := p.SourceLines(name, "", len(want)+1, 0); got != nil {
		t.Errorf("behind the end: got %v", got)
	}
	before := p.sourceRead.Load()
	if p.SourceLines(name, "", 59_000, 0); p.sourceRead.Load()-before > 3*block {
		t.Errorf("%d bytes were read", p.sourceRead.Load()-before)
	}
	if err := os.WriteFile(name, []byte("new\n"+text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.SourceLines(name, "", 59_001, 0); len(got) != 1 || got[0].Text != want[58_999] {
		t.Errorf("of the new file: got %v, want %q", got, want[58_999])
	}
}

// The variables of a stack are bounded, in all. Those of the inner frames are shown, and
// that others are left out is told.
func TestStackVariables(t *testing.T) {
	const perFrame, frames, text = 1024, 260, 0x400000
	dwarf := testkit.DWARF{Order: binary.LittleEndian, Text: "unit 4\ncompile_unit language=12 low_pc=0x400000 high_pc=0x1000\n base_type #int name=int byte_size=4 encoding=5\n" +
		" subprogram name=f low_pc=0x400000 high_pc=0x1000\n" + strings.Repeat("  variable name=v type=#int const_value=1\n", perFrame)}
	exe := testkit.ELF{Order: binary.LittleEndian, Type: 2, Machine: arch.EMX86_64, Base: text, Sections: append([]testkit.ELFSection{
		{Name: ".text", Type: 1, Flags: 6, Addr: text, Data: bytes.Repeat([]byte{0xff, 0xd0}, 0x800), Align: 0x1000},
	}, dwarf.Sections()...)}
	name := filepath.Join(t.TempDir(), "exe")
	if err := os.WriteFile(name, exe.File(), 0o600); err != nil {
		t.Fatal(err)
	}
	img := deepProcess(t, 1, frames+1).Image()
	img.Mappings[0].Path = name
	p := New(img, Options{Exe: name})
	defer p.Close()
	w := p.NewWalker()
	s := w.Walk(p.Threads()[0])
	r := w.Describe(s, false)
	w.AddVariables(s, r)
	if len(r.Frames) < frames {
		t.Fatalf("got %d frames", len(r.Frames))
	}
	shown := 0
	for i := range r.Frames {
		n := len(r.Frames[i].Variables)
		if i < 256 && n != perFrame || i >= 256 && n != 0 {
			t.Fatalf("frame %d: got %d variables", i, n)
		}
		shown += n
	}
	if shown != 1<<18 {
		t.Errorf("got %d variables, want %d", shown, 1<<18)
	}
	const want = "thread 1 has more variables than are shown: those of frame 256 and its callers are left out"
	if problems := p.Problems(); !slices.Equal(problems, []string{want}) {
		t.Errorf("got problems %q, want %q", problems, want)
	}
}

// deepProcess is a process of threads that share a stack of n frames, linked by frame
// pointers, in code that is in no file.
func deepProcess(t *testing.T, threads, n int) *Process {
	t.Helper()
	const text, stack = 0x400000, 0x7f0000000000
	code := bytes.Repeat([]byte{0xff, 0xd0}, 0x800) // call *%rax
	data := make([]byte, 16*n)
	for i := 0; i+32 <= len(data); i += 16 {
		binary.LittleEndian.PutUint64(data[i:], stack+uint64(i)+16)
		binary.LittleEndian.PutUint64(data[i+8:], text+16)
	}
	img := &core.Image{
		Arch:     arch.AMD64,
		Mem:      memreader.NewSpace([]memreader.Segment{{Addr: text, Size: 0x1000, Data: code}, {Addr: stack, Size: uint64(len(data)), Data: data}}),
		Mappings: []core.Mapping{{Lo: text, Hi: text + 0x1000, Exec: true}, {Lo: stack, Hi: stack + uint64(len(data))}},
	}
	for i := range threads {
		th := core.Thread{ID: i + 1}
		th.Regs.Set(arch.AMD64.PC, text+16)
		th.Regs.Set(arch.AMD64.SP, stack)
		th.Regs.Set(arch.AMD64.FP, stack)
		img.Threads = append(img.Threads, th)
	}
	p := New(img, Options{Methods: []string{"fp"}})
	t.Cleanup(func() { p.Close() })
	return p
}

// Long stacks are described one at a time, and in their order; short ones are not.
func TestLongStacks(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	if longStack != 16384 || maxSteps != 805306368 { // as the documentation of Parallel says
		t.Errorf("stacks are long from %d frames on, and all take up to %d steps", longStack, maxSteps)
	}
	for frames, want := range map[int]int32{longStack + 2: 1, longStack - 2: 0} {
		p := deepProcess(t, 40, frames)
		var described, most atomic.Int32
		var mu sync.Mutex
		jobs := map[*Walker]int{}
		last := 0
		for id := range Parallel(t.Context(), p, p.Threads(), func(w *Walker, th *core.Thread) int {
			if s := w.Walk(th); len(s.Frames) < frames-1 {
				t.Errorf("got %d frames of %d: %v", len(s.Frames), frames, s.Stop)
			}
			mu.Lock()
			jobs[w]++
			mu.Unlock()
			if n := described.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Millisecond)
			return th.ID
		}) {
			if id != last+1 {
				t.Errorf("got thread %d after %d", id, last)
			}
			last = id
			time.Sleep(2 * time.Millisecond)
			described.Add(-1)
		}
		busy := 0
		for _, n := range jobs {
			if n > 1 {
				busy++
			}
		}
		if want > 0 && busy != 1 {
			t.Errorf("stacks of %d frames: %d workers have more than one, want one", frames, busy)
		}
		if last != 40 || want > 0 && most.Load() != want || want == 0 && most.Load() < 2 {
			t.Errorf("stacks of %d frames: %d were described, %d at once", frames, last, most.Load())
		}
	}
}

// A Walker shows only so many inlined calls of a stack, and so much of names. The
// frames themselves stay.
func TestNamesBounded(t *testing.T) {
	p := emptyProcess(t)
	w := p.NewWalker()
	stack := func(pc uint64, n int) *Stack {
		s := &Stack{Thread: &core.Thread{ID: 7}}
		for range n {
			s.Frames = append(s.Frames, unwind.Frame{PC: pc, Exact: true})
		}
		return s
	}
	for pc, inlined := range []int{1000, 1024} {
		n := naming{names: make([]name, inlined+1)}
		n.names[inlined].demangled = "f"
		w.names[uint64(pc)] = n
		r := w.Describe(stack(uint64(pc), 100), false)
		calls := 0
		for i := range r.Frames {
			if r.Frames[i].Inlined {
				calls++
			} else if r.Frames[i].Function != "f" {
				t.Fatalf("frame %d: got name %q", i, r.Frames[i].Function)
			}
		}
		if want := 65536 / inlined * inlined; calls != want || len(r.Frames)-calls != 100 {
			t.Errorf("%d for each frame: got %d inlined calls, want %d, and %d frames", inlined, calls, want, len(r.Frames)-calls)
		}
	}
	long := strings.Repeat("x", 1<<20)
	for i, tt := range []struct {
		function string
		whole    int // names that are shown
	}{{long, 64}, {"m", 63}} {
		pc := uint64(10 + i)
		w.names[pc] = naming{names: []name{{Location: symbol.Location{Func: tt.function}, demangled: long}}}
		r := w.Describe(stack(pc, 100), false)
		whole := 0
		for i := range r.Frames {
			if f := &r.Frames[i]; f.Function == long {
				whole++
			} else if f.Function != brief(long) {
				t.Fatalf("got a name of %d bytes", len(f.Function))
			}
		}
		if whole != tt.whole || len(r.Frames) != 100 {
			t.Errorf("%.1s: got %d names of %d frames, want %d", tt.function, whole, len(r.Frames), tt.whole)
		}
	}
	want := []string{
		"thread 7 has more than 65536 inlined calls; those of the outer frames are not shown",
		"the names of thread 7 take more than 64 MiB; those of the outer frames are cut off",
	}
	if got := p.Problems(); !slices.Equal(got, want) {
		t.Errorf("got problems %q, want %q", got, want)
	}
}
