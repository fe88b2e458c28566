package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// trusts counts frames or threads by trust.
type trusts [unwind.Full + 1]int

// A tally is what came of the snapshots of one program of one release.
type tally struct {
	release, program string
	versions         []string
	snapshots        int
	signals          int // snapshots that are cores of the kernel
	threads          int
	complete         int
	methods          map[unwind.Method]int
	trust            trusts
	gdb, eu          opinion
	doubts           map[doubt]*weight
}

// An opinion compares frames with those of another debugger.
type opinion struct {
	threads int      // that the other debugger shows
	frames  int      // of sfcore's, in these threads
	equal   trusts   // frames that are the same, by sfcore's trust
	against trusts   // threads that differ, by the trust of the frame that is contradicted
	backed  trusts   // of these, where the third debugger has what sfcore has
	cases   []string // the others, where the trust is more than a guess
}

// add compares a stack of sfcore's with that of another debugger. third is what the
// third one has.
func (o *opinion) add(where string, frames []report.Frame, stop unwind.Reason, other, third stack) {
	if len(frames) == 0 || len(other.frames) == 0 {
		return
	}
	o.threads++
	o.frames += len(frames)
	v := compare(frames, stop, other)
	for _, f := range frames[:v.equal] {
		o.equal[f.Trust]++
	}
	if !v.differs {
		return
	}
	o.against[v.contradicted]++
	mine := stack{outermost: true}
	for _, f := range frames {
		mine.frames = append(mine.frames, frame{uint64(f.PC), f.Function})
	}
	switch {
	case len(third.frames) >= max(v.equal, 1) && mine.pc(v.equal) == third.pc(v.equal):
		o.backed[v.contradicted]++
	case v.contradicted > unwind.Guess:
		o.cases = append(o.cases, fmt.Sprintf("%s, frame %d: sfcore has %s (%v), not %s", where, v.equal, mine.at(v.equal), v.contradicted, other.at(v.equal)))
	}
}

// read adds up the snapshots of a program, each in a directory below dir.
func read(dir string) (*tally, error) {
	t := &tally{
		release: filepath.Base(filepath.Dir(dir)), program: filepath.Base(dir),
		methods: map[unwind.Method]int{}, doubts: map[doubt]*weight{},
	}
	versions, err := os.ReadFile(filepath.Join(dir, "versions"))
	if err != nil {
		return nil, err
	}
	t.versions = strings.Split(strings.TrimSpace(string(versions)), "\n")
	kinds, err := filepath.Glob(filepath.Join(dir, "*", "kind"))
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		if err := t.snapshot(filepath.Dir(kind)); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Dir(kind), err)
		}
	}
	slices.Sort(t.gdb.cases)
	slices.Sort(t.eu.cases)
	return t, nil
}

func (t *tally) snapshot(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "sfcore.json"))
	if err != nil {
		return err
	}
	var doc report.Document
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	gdb, err := readFile(filepath.Join(dir, "gdb.txt"), readGDB)
	if err != nil {
		return err
	}
	eu, err := readFile(filepath.Join(dir, "eu.txt"), readEU)
	if err != nil {
		return err
	}
	kind, err := os.ReadFile(filepath.Join(dir, "kind"))
	if err != nil {
		return err
	}
	t.snapshots++
	if strings.TrimSpace(string(kind)) != "gcore" {
		t.signals++
	}
	for _, thread := range doc.Threads {
		frames := physical(thread.Frames)
		t.threads++
		if thread.Stop.Reason == unwind.Outermost {
			t.complete++
		}
		for _, f := range frames {
			t.methods[f.Method]++
			t.trust[f.Trust]++
		}
		where := fmt.Sprintf("%s/%s thread %d", t.name(), filepath.Base(dir), thread.TID)
		byGDB, byEU := gdb[thread.TID], eu[thread.TID]
		t.gdb.add(where, frames, thread.Stop.Reason, byGDB, byEU)
		t.eu.add(where, frames, thread.Stop.Reason, byEU, byGDB)
		t.doubt(doc.Modules, frames, byEU)
	}
	return nil
}

func readFile(path string, read func(io.Reader) (map[int]stack, error)) (map[int]stack, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	stacks, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return stacks, nil
}

// byUse orders the methods of a tally by how often they were used.
func (t *tally) byUse() []unwind.Method {
	methods := make([]unwind.Method, 0, len(t.methods))
	for m := range t.methods {
		methods = append(methods, m)
	}
	slices.SortFunc(methods, func(a, b unwind.Method) int {
		return cmp.Or(cmp.Compare(t.methods[b], t.methods[a]), cmp.Compare(a, b))
	})
	return methods
}
