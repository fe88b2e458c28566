package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

const (
	// The bounds of one run, on cores of up to 9 MB. Memory is all that was
	// allocated, which is never less than what was in use at once.
	maxTime   = 2 * time.Second
	maxMemory = 256 << 20

	// retries is how often a slow run is repeated: other programs may have had
	// the processor.
	retries = 3

	// hang is when a run is given up, by a crash that shows where it was.
	hang = 30 * time.Second

	// currentFile holds the number of the run in progress.
	currentFile = "current"

	page = 4096

	// flushEvery is how many runs are counted in one line, so that a crash
	// does not lose the count.
	flushEvery = 100
)

// work makes the runs of the campaign in this process.
func (c *campaign) work(out io.Writer) error {
	debug.SetTraceback("all")
	all, cuts, err := subjects(c.corpus)
	if err != nil {
		return err
	}
	current, err := os.Create(filepath.Join(c.dir, currentFile))
	if err != nil {
		return err
	}
	defer current.Close()
	w := worker{campaign: c, subjects: all, cuts: cuts, loaded: -1}
	for n := c.first; n < c.first+c.runs; n++ {
		if _, err := current.WriteAt(fmt.Appendf(nil, "%-20d", n), 0); err != nil {
			return err
		}
		if err := w.run(n); err != nil {
			w.tally.Bad++
			fmt.Fprintf(out, "run %d: %v\n", n, err)
		}
		if w.tally.Runs == flushEvery || n == c.first+c.runs-1 {
			fmt.Fprintln(out, w.tally.line())
			w.tally = tally{}
		}
	}
	return nil
}

// worker makes runs.
type worker struct {
	*campaign
	tally    tally
	subjects []subject
	cuts     int
	loaded   int // which of subjects is loaded
}

// run makes run n.
func (w *worker) run(n int) error {
	i, cut, err := w.choose(n)
	if err != nil {
		return err
	}
	s := &w.subjects[i]
	rng := rand.New(rand.NewPCG(w.seed, uint64(n)))
	d := damage{rng: rng}
	coreFile, opts, object := filepath.Join(w.dir, "core"), options(s.dir), ""
	data := s.core
	switch {
	case cut >= 0:
		data = data[:cut]
		d.notef("cut at %#x", cut)
	case len(s.files) > 0 && rng.IntN(3) == 0:
		name := s.files[rng.IntN(len(s.files))]
		file, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			return err
		}
		d.notef("%s", name)
		object = filepath.Join(w.dir, filepath.Base(name))
		if err := os.WriteFile(object, d.apply(file), 0o600); err != nil {
			return err
		}
		defer func() { _ = os.Remove(object) }()
		opts.Paths = append([]string{object}, opts.Paths...)
		if filepath.Dir(name) == "exe" {
			opts.Exe = object
		}
	default:
		data = d.apply(bytes.Clone(data))
	}
	if err := os.WriteFile(coreFile, data, 0o600); err != nil {
		return err
	}

	var took time.Duration
	var memory uint64
	for range retries {
		took, memory, err = measure(func() error { return w.check(s, coreFile, opts, object, cut) })
		if took <= maxTime {
			break
		}
	}
	w.tally.Runs++
	w.tally.add(&tally{Time: took, TimeRun: n, Memory: memory, MemoryRun: n})
	switch {
	case err != nil:
	case took > maxTime:
		err = fmt.Errorf("it took %v", took)
	case memory > maxMemory:
		err = fmt.Errorf("it allocated %d bytes", memory)
	default:
		return nil
	}
	return fmt.Errorf("%s (%v): %w", filepath.Base(s.dir), d.log, err)
}

// choose returns the case of run n and where its core is to be cut off, -1 for
// random damage. The case is loaded.
func (w *worker) choose(n int) (i, cut int, err error) {
	cut = -1
	if n < w.cuts {
		for ; n >= w.subjects[i].cuts; i++ {
			n -= w.subjects[i].cuts
		}
		cut = n * page
	} else {
		const inARow = 100 // loading takes some time
		i = (n - w.cuts) / inARow % len(w.subjects)
	}
	if i == w.loaded {
		return i, cut, nil
	}
	if w.loaded >= 0 {
		old := &w.subjects[w.loaded]
		*old = subject{dir: old.dir, cuts: old.cuts}
	}
	w.loaded = i
	s := &w.subjects[i]
	if err := s.load(); err != nil {
		return 0, 0, err
	}
	whole := filepath.Join(w.dir, "whole")
	if err := os.WriteFile(whole, s.core, 0o600); err != nil {
		return 0, 0, err
	}
	return i, cut, s.walk(whole)
}

// measure calls f and returns the time it took and the bytes it allocated.
func measure(f func() error) (time.Duration, uint64, error) {
	watchdog := time.AfterFunc(hang, func() { panic(fmt.Sprintf("a run takes more than %v", hang)) })
	defer watchdog.Stop()
	before, start := allocated(), time.Now()
	err := f()
	return time.Since(start), allocated() - before, err
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// check does what commands do with a damaged core, and with the damaged object if
// there is one.
func (w *worker) check(s *subject, coreFile string, opts process.Options, object string, cut int) error {
	ctx := context.Background()
	if object != "" {
		checkObject(object)
	}
	img, err := core.Open(ctx, coreFile, core.Options{})
	if err != nil {
		w.tally.Refused++
		return nil //nolint:nilerr // as it should
	}
	t := process.New(img, opts)
	defer t.Close()
	r, err := t.Report(ctx, t.Threads())
	if err != nil {
		return err
	}
	if err := roundTrip(r); err != nil {
		return err
	}
	frames := 0
	for i := range r.Threads {
		frames += len(r.Threads[i].Frames)
	}
	if frames == 0 {
		w.tally.Empty++
	} else {
		w.tally.Walked++
	}
	if cut < 0 {
		return nil
	}
	if img.Truncated == nil {
		return errors.New("a core that is cut off passes for whole")
	}
	return w.compare(s, t, uint64(cut))
}

// roundTrip checks that a report says the same after it went through JSON,
// where bytes that are no UTF-8 become U+FFFD.
func roundTrip(r *report.Document) error {
	doc, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var back report.Document
	if err := json.Unmarshal(doc, &back); err != nil {
		return err
	}
	again, err := json.Marshal(&back)
	if err != nil {
		return err
	}
	plain := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`\ufffd`), []byte("\ufffd")) }
	if !bytes.Equal(plain(doc), plain(again)) {
		return errors.New("the report differs after it went through JSON")
	}
	return nil
}

// compare checks that stacks are whole that need no byte beyond the cut.
func (w *worker) compare(s *subject, t *process.Process, cut uint64) error {
	for i := range s.threads {
		want := &s.threads[i]
		if want.needs > cut {
			continue
		}
		got, err := t.Stack(want.tid)
		if err != nil {
			return err
		}
		if len(got.Frames) != len(want.frames) || got.Stop.Reason != want.reason {
			return fmt.Errorf("thread %d needs %#x bytes and has %d frames, %v (%w); want %d, %v",
				want.tid, want.needs, len(got.Frames), got.Stop.Reason, got.Stop.Detail, len(want.frames), want.reason)
		}
		for n := range got.Frames {
			g, f := &got.Frames[n], &want.frames[n]
			if g.PC != f.PC || g.Method != f.Method || g.Trust != f.Trust {
				return fmt.Errorf("thread %d needs %#x bytes; frame %d: got %#x %v %v, want %#x %v %v",
					want.tid, want.needs, n, g.PC, g.Method, g.Trust, f.PC, f.Method, f.Trust)
			}
		}
		w.tally.Whole++
	}
	return nil
}

// maxListed bounds the functions and rows of a damaged object that are listed:
// listing is linear in them, and the bound on time is for stacks.
const maxListed = 100_000

// checkObject reads everything in a damaged executable or library.
func checkObject(name string) {
	set, err := module.OpenFile(name, nil)
	if err != nil {
		return
	}
	defer set.Close()
	for m := range set.All() {
		s := m.Tables.SFrame
		if s == nil {
			continue
		}
		_ = s.Validate()
		n := 0
		for f, err := range s.Funcs() {
			if err != nil {
				continue
			}
			for range s.FREs(f) {
				n++
			}
			if n++; n > maxListed {
				break
			}
			set.Locate(f.Start, nil)
		}
	}
}
