package process_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// tracedGoroutine is the line with which the runtime begins a goroutine's traceback. The
// threads' own stacks have number 0.
var tracedGoroutine = regexp.MustCompile(`^goroutine ([1-9]\d*) .*\[`)

// The Go program of a process is found, with the goroutines that its runtime printed and
// the functions that Go's table has.
func TestGoProgram(t *testing.T) {
	mixedCases(t, func(t *testing.T, name string) {
		tg := openMixed(t, name)
		exe := filepath.Join(mixedDir, name, "exe", "mixed")
		data, err := os.ReadFile(exe)
		if err != nil {
			t.Fatal(err)
		}
		file, err := elfx.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		entry := file.Entry // the program is not moved
		got, ok := tg.GoProgram()
		if want := (process.GoProgram{File: exe, Entry: entry}); !ok || got != want || !process.IsGo(tg) {
			t.Errorf("got %+v, %v, want %+v", got, ok, want)
		}
		want := map[int64]bool{}
		for _, line := range runtimeLines(t, name) {
			if m := tracedGoroutine.FindStringSubmatch(line); m != nil {
				id, _ := strconv.ParseInt(m[1], 10, 64)
				want[id] = true
			}
		}
		all, err := tg.Goroutines()
		if err != nil {
			t.Fatal(err)
		}
		ids := map[int64]bool{}
		for g := range all {
			ids[g.ID] = true
		}
		if !maps.Equal(ids, want) {
			t.Errorf("got goroutines %v, want %v", slices.Sorted(maps.Keys(ids)), slices.Sorted(maps.Keys(want)))
		}
		known := 0
		for _, g := range traceback(t, name) {
			for _, f := range g {
				fn, ok := tg.GoFunction(f.pc)
				if !ok || f.pc < fn.Entry || f.pc > fn.End {
					t.Errorf("%s at %#x: got %#x to %#x, %v", f.name, f.pc, fn.Entry, fn.End, ok)
				}
				known++
			}
		}
		if known < 20 {
			t.Errorf("got %d functions", known)
		}
		for name, addr := range map[string]uint64{"C code": entry, "no module": 8} {
			if fn, ok := tg.GoFunction(addr); ok {
				t.Errorf("%s: got a Go function from %#x", name, fn.Entry)
			}
		}
	})
}

// A process without Go has no Go program.
func TestNoGoProgram(t *testing.T) {
	tg := openCase(t, "amd64-v3-deep", process.Options{})
	if got, ok := tg.GoProgram(); ok || got != (process.GoProgram{}) || process.IsGo(tg) {
		t.Errorf("got %+v, %v", got, ok)
	}
	if all, err := tg.Goroutines(); all != nil || !errors.Is(err, process.ErrNoGo) {
		t.Errorf("got %v, want ErrNoGo", err)
	}
	s, err := tg.Stack(tg.Threads()[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if fn, ok := tg.GoFunction(s.Frames[0].PC); ok || fn.Entry != (pclntab.Func{}).Entry {
		t.Errorf("got a Go function from %#x", fn.Entry)
	}
}
