package main

import (
	"encoding/json"
	"fmt"
	"os/exec"

	"github.com/sfcore/sfcore/report"
)

// read has sfcore print a core or a report.
func read(sfcore, file string) (*report.Document, error) {
	cmd := exec.Command(sfcore, "bt", "--format", "json", file)
	out, err := cmd.Output()
	if len(out) == 0 {
		return nil, fmt.Errorf("sfcore bt %s: %w", file, err)
	}
	doc := new(report.Document)
	return doc, json.Unmarshal(out, doc)
}

// delivered is the text of a signal without why: the handler copies stacks and not the
// heap, where for example exceptions are, so it may know less of that than a core.
func delivered(s *report.Signal) string {
	bare := *s
	bare.Meaning, bare.Cause, bare.Evidence = "", "", ""
	return bare.Text() + " " + string(bare.Fault)
}

// compare returns how the stacks of a crash, as they were read of the dying process,
// differ from those of its core.
func compare(crash, core *report.Document) (differences []string, frames int) {
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	if len(crash.Threads) != len(core.Threads) {
		differ("%d threads, and %d in the core", len(crash.Threads), len(core.Threads))
		return differences, 0
	}
	if a, b := crash.Process.Signal, core.Process.Signal; a == nil || b == nil || delivered(a) != delivered(b) {
		differ("the signal %+v, and %+v in the core", a, b)
	}
	threads := map[int]*report.Thread{}
	for i := range core.Threads {
		threads[core.Threads[i].TID] = &core.Threads[i]
	}
	for i := range crash.Threads {
		a := &crash.Threads[i]
		b := threads[a.TID]
		if b == nil {
			differ("thread %d is not in the core", a.TID)
			continue
		}
		if a.Stop.Reason != b.Stop.Reason || a.Crashed != b.Crashed {
			differ("thread %d: it ends with %v (%s), and with %v (%s) in the core", a.TID, a.Stop.Reason, a.Stop.Detail, b.Stop.Reason, b.Stop.Detail)
		}
		if len(a.Frames) != len(b.Frames) {
			differ("thread %d: %d frames, and %d in the core", a.TID, len(a.Frames), len(b.Frames))
			continue
		}
		for n := range a.Frames {
			frames++
			if x, y := key(&a.Frames[n]), key(&b.Frames[n]); x != y {
				differ("thread %d frame %d: %s, and %s in the core", a.TID, n, x, y)
			}
		}
	}
	return differences, frames
}

// key is what must be equal of a frame.
func key(f *report.Frame) string {
	return fmt.Sprintf("%#x cfa %#x %v %v %s %s:%d %s+%#x", uint64(f.PC), uint64(f.CFA.Addr), f.Method, f.Trust, f.Function, f.File, f.Line, f.ModuleName, uint64(f.ModuleOffset.Addr))
}
