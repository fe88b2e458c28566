package process_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// mixedDir has cores of a program in Go and C, with what Go's runtime said of
// its goroutines when it crashed: see testdata/mixed/README.md.
const mixedDir = "../testdata/mixed"

func openMixed(t *testing.T, name string) *process.Process {
	t.Helper()
	dir := filepath.Join(mixedDir, name)
	img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tg := process.New(img, process.Options{Paths: []string{filepath.Join(dir, "exe")}})
	t.Cleanup(func() { tg.Close() })
	return tg
}

func mixedCases(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	for _, name := range []string{"amd64-go121", "amd64-go126", "aarch64-go126", "s390x-go126"} {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

// mixedFrame is a frame as expected: SP and pc are 0 where the runtime tells neither.
type mixedFrame struct {
	name   string
	pc, sp uint64
}

var (
	tracedFunc = regexp.MustCompile(`^([\w./()*-]+)\(`)
	tracedPC   = regexp.MustCompile(` fp=0x[0-9a-f]+ sp=0x([0-9a-f]+) pc=0x([0-9a-f]+)$`)
)

// runtimeLines returns the lines that the runtime printed as the program crashed.
func runtimeLines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(mixedDir, name, "runtime.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// traceback returns what the runtime printed of goroutines: their frames, the
// innermost first, without inlined ones.
func traceback(t *testing.T, name string) [][]mixedFrame {
	t.Helper()
	var all [][]mixedFrame
	var function string
	for _, line := range runtimeLines(t, name) {
		if strings.HasPrefix(line, "goroutine ") {
			all = append(all, nil)
		}
		if len(all) == 0 {
			continue
		}
		if m := tracedFunc.FindStringSubmatch(line); m != nil {
			function = m[1]
		}
		if m := tracedPC.FindStringSubmatch(line); m != nil {
			sp, _ := strconv.ParseUint(m[1], 16, 64)
			pc, _ := strconv.ParseUint(m[2], 16, 64)
			g := &all[len(all)-1]
			*g = append(*g, mixedFrame{function, pc, sp})
		}
	}
	return all
}

// stitched is the stack of a thread that has a goroutine as the runtime printed
// it: with the C code by which the source says that it got from one part to the
// next.
func stitched(goroutine []mixedFrame, callback string) []mixedFrame {
	code := func(names ...string) []mixedFrame {
		var frames []mixedFrame
		for _, n := range names {
			frames = append(frames, mixedFrame{name: n})
		}
		return frames
	}
	var all []mixedFrame
	for n, f := range goroutine {
		switch {
		case n == 0 && f.name == "runtime.cgocall":
			// The runtime has it where it was before the call of C.
			f.pc = 0
			all = append(all, code("c4", "c3", "c2", "c1", "runtime.asmcgocall")...)
		case n == 0:
			all = append(all, code("runtime.mcall")...)
		case f.name == "runtime.systemstack_switch":
			all = append(all, code("crosscall2", callback, "c4", "c3", "c2", "c1", "runtime.asmcgocall")...)
			continue
		}
		all = append(all, f)
	}
	if callback == "goPark" {
		last := all[len(all)-1]
		if last.name == "runtime.goexit" { // what the goroutines of calls from C begin with
			all = all[:len(all)-1]
		}
		all = append(all, code("crosscall2", callback, "thread", "start_thread")...)
	}
	return all
}

// describe makes a stack comparable.
func describe(tg *process.Process, s *process.Stack) []mixedFrame {
	var frames []mixedFrame
	for n := range s.Frames {
		f := &s.Frames[n]
		got := mixedFrame{pc: f.PC}
		got.sp, _ = f.Regs.Get(tg.Image().Arch.SP)
		name, _ := tg.SymbolAt(f.LookupPC())
		got.name = strings.TrimSuffix(name, ".abi0")
		frames = append(frames, got)
	}
	return frames
}

func (f *mixedFrame) is(want *mixedFrame) bool {
	return f.name == want.name && (want.pc == 0 || f.pc == want.pc) && (want.sp == 0 || f.sp == want.sp)
}

// Threads have the goroutines' frames that the runtime printed, at the same
// addresses, joined by the C code of the source.
func TestMixedStacks(t *testing.T) {
	mixedCases(t, func(t *testing.T, name string) {
		tg := openMixed(t, name)
		w := tg.NewWalker()
		var stacks [][]mixedFrame
		for _, th := range tg.Threads() {
			s := w.Walk(th)
			stacks = append(stacks, describe(tg, s))
			if !s.Complete() {
				t.Errorf("thread %d: got stop %v (%v)", th.ID, s.Stop.Reason, s.Stop.Detail)
			}
			for n := range s.Frames {
				if f := &s.Frames[n]; f.Trust == unwind.Guess {
					t.Errorf("thread %d: frame %d is a guess", th.ID, n)
				}
			}
		}
		found := 0
		for marker, callback := range map[string]string{"main.main": "", "main.main.func1": "goDown", "main.park": "goPark"} {
			for _, g := range traceback(t, name) {
				at := slices.IndexFunc(g, func(f mixedFrame) bool { return f.name == marker })
				ofC := slices.ContainsFunc(g, func(f mixedFrame) bool { return f.name == "runtime.cgocallback" })
				if at < 0 || marker == "main.park" && !ofC {
					continue
				}
				want := stitched(g, callback)
				if !slices.ContainsFunc(stacks, func(got []mixedFrame) bool { return has(got, want) }) {
					t.Errorf("no thread has %v\ngot %v", want, stacks)
				}
				found++
			}
		}
		if found < 3 {
			t.Errorf("got %d goroutines, want 3", found)
		}
	})
}

// has reports whether a stack has frames one after the other.
func has(got, want []mixedFrame) bool {
	for len(got) >= len(want) {
		same := 0
		for same < len(want) && got[same].is(&want[same]) {
			same++
		}
		if same == len(want) {
			return true
		}
		got = got[1:]
	}
	return false
}

func (f mixedFrame) String() string { return fmt.Sprintf("%s pc %#x sp %#x", f.name, f.pc, f.sp) }

// Whatever the runtime's structures say, no frame that is wrong has full trust.
func TestLyingRuntime(t *testing.T) {
	structs := regexp.MustCompile(`gp=0x([0-9a-f]+) m=\w+ (?:mp=0x([0-9a-f]+))?`)
	each, tried := 1, 0
	if testkit.Slow() {
		each = 5
	}
	damaged, stopped := 0, 0
	mixedCases(t, func(t *testing.T, name string) {
		tg := openMixed(t, name)
		a, w := tg.Image().Arch, tg.NewWalker()
		var order binary.ByteOrder = binary.LittleEndian
		if a.BigEndian {
			order = binary.BigEndian
		}
		text, err := os.ReadFile(filepath.Join(mixedDir, name, "runtime.txt"))
		if err != nil {
			t.Fatal(err)
		}
		// The words of g and m up to the last that is used, and what values they
		// could be mistaken for.
		words := map[uint64]bool{}
		for _, m := range structs.FindAllStringSubmatch(string(text), -1) {
			for i, size := range []uint64{0, 14, 26} {
				if i == 0 || m[i] == "" {
					continue
				}
				base, _ := strconv.ParseUint(m[i], 16, 64)
				for n := range size {
					words[base+8*n] = true
				}
			}
		}
		returns := map[uint64]bool{} // which TestDamagedStacks is about
		whole := map[int][]unwind.Frame{}
		for _, th := range tg.Threads() {
			frames := slices.Clone(w.Walk(th).Frames)
			whole[th.ID] = frames
			for n := 1; n < len(frames); n++ {
				returns[frames[n].PC] = true
				if frames[n].Method != unwind.Goroutine {
					continue
				}
				sp, _ := frames[n-1].Regs.Get(a.SP)
				for off := uint64(0); off < 24; off++ {
					words[sp+8*off] = true
				}
			}
		}
		view := func(addr uint64) []byte {
			mem, base := tg.Image().Mem.(memreader.Viewer).View(addr)
			if mem == nil || uint64(len(mem))-(addr-base) < 8 {
				return nil
			}
			return mem[addr-base:][:8]
		}
		values := []uint64{0, 1, 0x4141414141414141}
		addrs := slices.Sorted(maps.Keys(words))
		for _, addr := range addrs {
			if word := view(addr); word != nil {
				values = append(values, order.Uint64(word))
			}
		}
		slices.Sort(values)
		values = slices.Compact(values)
		step := max(1, len(values)/40)
		i := 0
		for _, addr := range addrs {
			word := view(addr)
			if word == nil {
				continue
			}
			old := order.Uint64(word)
			if returns[old] {
				continue
			}
			lies := []uint64{old + 8, old - 8, old + 64, old - 64, old ^ 1, 0}
			for i++; len(lies) < 16; i += step {
				lies = append(lies, values[i%len(values)])
			}
			for _, v := range lies {
				if v == old {
					continue
				}
				if tried++; tried%each != 0 {
					continue
				}
				order.PutUint64(word, v)
				for _, th := range tg.Threads() {
					s := w.Walk(th)
					damaged++
					if !s.Complete() {
						stopped++
					}
					want := whole[th.ID]
					for n := range s.Frames {
						f := &s.Frames[n]
						if n < len(want) && f.PC == want[n].PC {
							continue
						}
						if f.Trust != unwind.Full {
							break
						}
						t.Errorf("thread %d: frame %d, %#x, is wrong and fully trusted with %#x for %#x at %#x", th.ID, n, f.PC, v, old, addr)
						break
					}
				}
				order.PutUint64(word, old)
			}
		}
	})
	t.Logf("%d damaged stacks, %d end early", damaged, stopped)
	if damaged < 10000/each || stopped < 100/each {
		t.Errorf("got %d damaged stacks, %d that end early", damaged, stopped)
	}
}

// The stacks above SP and what Follow says are all the memory that it takes to
// walk the threads, besides those that signals have interrupted.
func TestFollow(t *testing.T) {
	mixedCases(t, func(t *testing.T, name string) {
		tg := openMixed(t, name)
		img := tg.Image()
		var spans []memreader.Segment
		for i := range img.Mappings {
			spans = append(spans, memreader.Segment{Addr: img.Mappings[i].Lo, Size: 4096}) // an ELF header
		}
		var regs []arch.Regs
		for i := range img.Threads {
			sp, _ := img.Threads[i].Regs.Get(img.Arch.SP)
			spans = append(spans, memreader.Segment{Addr: sp - 128, Size: 1 << 20})
			regs = append(regs, img.Threads[i].Regs)
			for _, f := range tg.NewWalker().Walk(&img.Threads[i]).Frames {
				if sp, ok := f.Regs.Get(img.Arch.SP); ok && f.Method == unwind.Signal {
					spans = append(spans, memreader.Segment{Addr: sp - 128, Size: 1 << 20})
				}
				if f.Signal {
					spans = append(spans, memreader.Segment{Addr: f.PC, Size: 16})
				}
			}
		}
		few := *img
		walk := func(spans []memreader.Segment) (same, all int) {
			var segs []memreader.Segment
			for _, s := range spans {
				data, base := img.Mem.(memreader.Viewer).View(s.Addr)
				if data != nil {
					s.Data = data[s.Addr-base:]
					s.Size = min(uint64(len(s.Data)), s.Size)
					s.Data = s.Data[:s.Size]
					segs = append(segs, s)
				}
			}
			few.Mem = memreader.NewSpace(segs)
			part := process.New(&few, process.Options{Paths: []string{filepath.Join(mixedDir, name, "exe")}})
			got, want := part.NewWalker(), tg.NewWalker()
			for i := range img.Threads {
				g, w := got.Walk(&few.Threads[i]), want.Walk(&img.Threads[i])
				if slices.Equal(describe(part, g), describe(tg, w)) {
					same++
				}
				all++
			}
			return same, all
		}
		if same, all := walk(spans); same == all {
			t.Errorf("got all %d stacks without what Follow says", all)
		}
		followed := gostack.Follow(img.Arch, regs, nil, img.Mem)
		if same, all := walk(append(spans, followed...)); same != all {
			t.Errorf("got %d of %d stacks", same, all)
		}
		size := uint64(0)
		for _, s := range followed {
			size += min(s.Size, 1<<20)
		}
		t.Logf("%d ranges, up to %d KiB", len(followed), size>>10)
	})
}

// Follow takes any registers and memory, and says nothing of programs without Go.
func TestFollowNothing(t *testing.T) {
	tg := openCase(t, "amd64-v3-deep", process.Options{})
	var regs []arch.Regs
	for _, th := range tg.Threads() {
		regs = append(regs, th.Regs)
	}
	if got := gostack.Follow(tg.Image().Arch, regs, nil, tg.Memory()); got != nil {
		t.Errorf("got %v, want none", got)
	}
}
