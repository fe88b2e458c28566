package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/unwind"
)

// smallCorpus is a corpus of a few cases of all byte orders.
func smallCorpus(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"amd64-v3-deep", "aarch64be-v3-threads", "s390x-v3-deep"} {
		old, err := filepath.Abs(filepath.Join("../../testdata/cores", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(old, filepath.Join(dir, name)); err != nil {
			t.Skip(err) // as for want of privileges on Windows
		}
	}
	return dir
}

// What is damaged are all recorded cores.
func TestSubjects(t *testing.T) {
	const dir = "../../testdata/cores"
	all, cuts, err := subjects(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range all {
		got = append(got, filepath.Base(all[i].dir))
	}
	if want := testkit.Cases(t, dir); !slices.Equal(got, want) || cuts < len(want) {
		t.Errorf("got %d cuts of %v, want some of each of %v", cuts, got, want)
	}
}

// All cuts of the small corpus and some random damage are survived, and stacks
// are found whole.
func TestCampaign(t *testing.T) {
	c := campaign{corpus: smallCorpus(t), seed: 1, runs: 250, dir: t.TempDir()}
	var out bytes.Buffer
	if err := c.work(&out); err != nil {
		t.Fatal(err)
	}
	var got tally
	for line := range strings.Lines(out.String()) {
		if !got.parse(strings.TrimSpace(line)) {
			t.Error(line)
		}
	}
	if got.Runs != 250 || got.Walked < 150 || got.Whole < 10 || got.Time == 0 || got.Memory == 0 {
		t.Errorf("got %v", &got)
	}
}

// A stack that is not what it was is noticed.
func TestCompare(t *testing.T) {
	w := worker{campaign: &campaign{dir: t.TempDir()}, loaded: -1}
	var err error
	if w.subjects, w.cuts, err = subjects(smallCorpus(t)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.choose(w.cuts); err != nil {
		t.Fatal(err)
	}
	s := &w.subjects[0]
	whole := filepath.Join(w.dir, "whole")
	size := len(s.core)
	s.core = s.core[:size-1]
	if err := os.WriteFile(whole, s.core, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func() error { return w.check(s, whole, options(s.dir), "", size) }
	if err := check(); err != nil {
		t.Errorf("got %v of an undamaged stack", err)
	}
	s.threads[0].frames[3].Trust = unwind.Guess
	if err := check(); err == nil {
		t.Error("another trust is not noticed")
	}
	s.threads[0].frames = s.threads[0].frames[1:]
	if err := check(); err == nil {
		t.Error("another number of frames is not noticed")
	}
}

// Every kind of damage does something, always the same from the same seed.
func TestDamage(t *testing.T) {
	file, err := os.ReadFile("../../testdata/cores/amd64-v3-deep/exe/deep")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		changed := 0
		for seed := range uint64(50) {
			do := func() []byte {
				d := damage{rng: rand.New(rand.NewPCG(seed, 0))}
				d.data = bytes.Clone(file)
				d.prepare()
				k.do(&d)
				return d.data
			}
			a, b := do(), do()
			if !bytes.Equal(a, b) {
				t.Errorf("%s: seed %d gives two results", k.name, seed)
			}
			if !bytes.Equal(a, file) {
				changed++
			}
		}
		if changed < 10 {
			t.Errorf("%s: %d of 50 seeds change the file", k.name, changed)
		}
	}
}

func TestTally(t *testing.T) {
	a := tally{Runs: 2, Time: 5, TimeRun: 1, Memory: 7, MemoryRun: 2}
	b := tally{Runs: 3, Bad: 1, Time: 4, TimeRun: 8, Memory: 9, MemoryRun: 9}
	var sum tally
	if !sum.parse(a.line()) || !sum.parse(b.line()) || sum.parse("run 5: bad") {
		t.Fatal("lines are not told apart")
	}
	want := tally{Runs: 5, Bad: 1, Time: 5, TimeRun: 1, Memory: 9, MemoryRun: 9}
	if sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
}
