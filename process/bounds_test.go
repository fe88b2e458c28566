package process

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/display"
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
	const perFrame, frames, text = 1900, 200, 0x400000
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
	shown, last := 0, 0
	for i := range r.Frames {
		if n := len(r.Frames[i].Variables); n > 0 {
			shown += n
			last = i
		}
	}
	if shown < 1<<18-perFrame || shown > 1<<18 {
		t.Errorf("got %d variables, in frames up to %d", shown, last)
	}
	want := fmt.Sprintf("thread 1 has more variables than are shown: those of frame %d and its callers are left out", last+1)
	if problems := p.Problems(); !slices.Contains(problems, want) {
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
	for frames, want := range map[int]int32{longStack + 2: 1, longStack - 2: 0} {
		p := deepProcess(t, 40, frames)
		var described, most atomic.Int32
		last := 0
		for id := range Parallel(t.Context(), p, p.Threads(), func(w *Walker, th *core.Thread) int {
			if s := w.Walk(th); len(s.Frames) < frames-1 {
				t.Errorf("got %d frames of %d: %v", len(s.Frames), frames, s.Stop)
			}
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
	inlined := naming{names: make([]name, 1001)}
	w.names[1] = inlined
	long := strings.Repeat("x", 1<<20)
	w.names[2] = naming{names: []name{{Location: symbol.Location{Func: "m"}, demangled: long}}}
	stack := func(pc uint64, n int) *Stack {
		s := &Stack{Thread: &core.Thread{ID: 7}}
		for range n {
			s.Frames = append(s.Frames, unwind.Frame{PC: pc, Exact: true})
		}
		return s
	}
	r := w.Describe(stack(1, 100), false)
	calls := 0
	for i := range r.Frames {
		if r.Frames[i].Inlined {
			calls++
		}
	}
	if calls > maxInlined || calls < maxInlined-1000 || len(r.Frames)-calls != 100 {
		t.Errorf("got %d inlined calls and %d frames", calls, len(r.Frames)-calls)
	}
	r = w.Describe(stack(2, 100), false)
	size := 0
	for i := range r.Frames {
		size += len(r.Frames[i].Function) + len(r.Frames[i].LinkageName)
	}
	if size > maxStackNames+100*(maxVarName+8) || size < maxStackNames-len(long) || len(r.Frames) != 100 {
		t.Errorf("got %d bytes of names of %d frames", size, len(r.Frames))
	}
	if got := p.Problems(); len(got) != 2 {
		t.Errorf("got problems %q", got)
	}
}

// What names take is counted as JSON writes them, and what is cut off takes no more
// than the usual name.
func TestShownNames(t *testing.T) {
	for _, name := range []string{"", "f", "a::b(int)", "<&>\"\\", "\x00\x1b\x7f", "é\u202e\U000e0041", "\xff\xfe", strings.Repeat("\x1b", 1000), strings.Repeat("x", 1000), strings.Repeat("é<", 1000)} {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, least := shown(name), len(display.JSON(text))-2; got < least || got > maxEscape*len(name) {
			t.Errorf("%.20q: got %d bytes, want at least %d", name, got, least)
		}
		if got := brief(name); shown(got) > maxVarName+3 || len(name) < 42 && got != name || !strings.HasPrefix(name, strings.TrimSuffix(got, "...")) {
			t.Errorf("%.20q: cut off to %q", name, got)
		}
	}
}
