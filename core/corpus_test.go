package core

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

const corpus = "../testdata/cores"

// cases returns the directories of the core files with known stacks.
func cases(t testing.TB) []string {
	t.Helper()
	dirs := testkit.Cases(t, corpus)
	for i, name := range dirs {
		dirs[i] = filepath.Join(corpus, name)
	}
	return dirs
}

// openCase opens the core of a case.
func openCase(t testing.TB, dir string) *Image {
	t.Helper()
	img, err := Open(context.Background(), filepath.Join(dir, "core.zst"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeImage(t, img) })
	return img
}

// Every thread of every real core has the pc at which gdb sees it.
func TestCorpusThreads(t *testing.T) {
	testkit.EachCase(t, corpus, func(t *testing.T, name string) {
		dir := filepath.Join(corpus, name)
		data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Arch    string
			Threads []struct {
				TID    int
				Frames []struct{ PC string }
			}
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		pcs := make(map[int]uint64)
		for _, th := range want.Threads {
			if pcs[th.TID], err = strconv.ParseUint(th.Frames[0].PC, 0, 64); err != nil {
				t.Fatal(err)
			}
		}

		img := openCase(t, dir)
		if len(img.Threads) != len(pcs) {
			t.Errorf("got %d threads, want %d", len(img.Threads), len(pcs))
		}
		for _, th := range img.Threads {
			pc, ok := th.Regs.Get(img.Arch.PC)
			if want, known := pcs[th.ID]; !ok || !known || pc != want {
				t.Errorf("thread %d: got pc %#x, %v, want %#x, %v", th.ID, pc, ok, want, known)
			}
		}
	})
}

// showMappings are cases, one for each kind of core file, whose mappings are in
// the golden file.
var showMappings = map[string]bool{
	"amd64-v3-libcdyn-1":          true, // kernel
	"amd64-v3-pltgcore":           true, // gcore, which leaves out what was not modified
	"aarch64-qemuuser-v3-threads": true,
	"aarch64be-v2-deep":           true,
	"s390x-v3-plt-1":              true,
}

// What else the real cores say, by case.
func TestCorpusGolden(t *testing.T) {
	var got bytes.Buffer
	for _, dir := range cases(t) {
		img := openCase(t, dir)
		fmt.Fprintf(&got, "%s: %s big-endian=%v pid=%d name=%q command=%q executable=%q threads=%d mappings=%d auxv=%d\n",
			filepath.Base(dir), img.Arch.Name, img.Arch.BigEndian, img.PID, img.Name, img.Command, img.Executable,
			len(img.Threads), len(img.Mappings), len(img.Auxv))
		fmt.Fprintf(&got, "\t%+v\n", *img.Signal)
		for _, th := range img.Threads {
			if th.Crashed {
				pc, _ := th.Regs.Get(img.Arch.PC)
				fmt.Fprintf(&got, "\tcrashed: %d %q pc=%#x pac=%#x notes=%d,%d,%d,%d\n", th.ID, th.Name, pc, th.PACMask,
					len(th.PrStatus), len(th.FPRegSet), len(th.XState), len(th.SigInfo))
			}
		}
		if showMappings[filepath.Base(dir)] {
			for _, m := range img.Mappings {
				fmt.Fprintf(&got, "\t%#x-%#x %#x exec=%v %s\n", m.Lo, m.Hi, m.Off, m.Exec, m.Path)
			}
		}
		if img.Truncated != nil || len(img.Problems) > 0 {
			t.Errorf("%s: got truncation %v, problems %v", dir, img.Truncated, img.Problems)
		}
	}
	testkit.Golden(t, filepath.Join("testdata", "corpus.golden"), got.Bytes())
}
