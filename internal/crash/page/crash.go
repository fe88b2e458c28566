package page

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"
)

// crashDoc is a crash.
type crashDoc struct {
	Schema string        `json:"schema"`
	Group  string        `json:"group"` // its key
	Record *store.Record `json:"record"`
	// Why says why there are no threads.
	Why     string         `json:"why,omitempty"`
	Process report.Process `json:"process,omitzero"`
	// Threads are those that crashed and then the others, and MoreThreads how many are left out.
	Threads     []thread `json:"threads"`
	MoreThreads int      `json:"moreThreads,omitempty"`
	Problems    []string `json:"problems"`
}

// thread is a thread with as many frames as are shown.
type thread struct {
	report.Thread
	MoreFrames int `json:"moreFrames,omitempty"`
}

// Bounds of what a page shows of a crash, which sfcore crash show shows whole.
const (
	maxRecord      = 64 << 10 // bytes
	maxThreads     = 200
	maxCrashFrames = 200
	maxFrames      = 40
	maxText        = 1 << 10 // bytes of a name
	maxTexts       = 1 << 20 // bytes of all frames
)

// MaxReport is how many bytes of a report are read, which is compressed.
const MaxReport = 8 << 20

// maxShare is the part of what a program may read of reports that one page may.
const maxShare = 16

func (s *Site) crash(ctx context.Context, id string) (*crashDoc, error) {
	if id == "last" || !s.has(ctx, id) {
		r, err := s.Find(ctx, id)
		if err != nil {
			return nil, err
		}
		id = r.ID
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	doc, err := s.Report(ctx, id, document.NewBudget().Part(maxShare))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	d, failed := s.crashOf(ctx, id, doc)
	if failed == nil && err != nil {
		d.Why = err.Error()
	}
	return d, failed
}

func (s *Site) has(ctx context.Context, id string) bool {
	_, err := s.Get(ctx, id, maxRecord)
	return err == nil || errors.Is(err, store.ErrLarge)
}

// crashOf describes a crash by its record and its report, which may be nil.
func (s *Site) crashOf(ctx context.Context, id string, doc *report.Document) (*crashDoc, error) {
	r, err := s.Get(ctx, id, maxRecord)
	if errors.Is(err, store.ErrLarge) {
		return nil, failure{500, "the record of this crash is larger than those that are written, and not shown"}
	} else if err != nil {
		return nil, err
	}
	d := &crashDoc{Schema: Schema, Record: r, Threads: []thread{}, Problems: []string{}}
	known, err := s.Index.Crashes(ctx, index.Filter{PID: r.PID, Since: r.Time, Until: r.Time.Add(time.Nanosecond)}, index.Page{Limit: 1000})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(known, func(c index.Crash) bool { return c.ID == id }); i >= 0 {
		d.Group = known[i].Group
	}
	if doc == nil {
		d.Why = "of this crash only the line was kept"
		return d, nil
	}
	d.Process = doc.Process
	d.Process.Command, d.Process.Executable = short(d.Process.Command), short(d.Process.Executable)
	if g := doc.Process.Signal; g != nil {
		g.Name, g.CodeName, g.Fault, g.Meaning, g.Cause = short(g.Name), short(g.CodeName), report.Fault(short(string(g.Fault))), short(g.Meaning), short(g.Cause)
		g.Evidence = short(g.Evidence)
	}
	for _, p := range doc.Problems[:min(len(doc.Problems), perPage)] {
		d.Problems = append(d.Problems, short(p))
	}
	slices.SortStableFunc(doc.Threads, func(a, b report.Thread) int { return cmp.Compare(crashedFirst(&a), crashedFirst(&b)) })
	left := maxTexts
	for i := range doc.Threads {
		if len(d.Threads) >= maxThreads || left <= 0 {
			d.MoreThreads = len(doc.Threads) - i
			break
		}
		d.Threads = append(d.Threads, shorten(&doc.Threads[i], &left))
	}
	return d, nil
}

func crashedFirst(t *report.Thread) int {
	if t.Crashed {
		return 0
	}
	return 1
}

// shorten returns what is shown of a thread, and takes it off left.
func shorten(t *report.Thread, left *int) thread {
	most := maxFrames
	if t.Crashed {
		most = maxCrashFrames
	}
	th := thread{Thread: *t}
	th.Frames = []report.Frame{}
	th.Scene = shortScene(t.Scene, left)
	th.Name, th.State, th.Stop.Detail = short(t.Name), short(t.State), short(t.Stop.Detail)
	for i := range t.Frames {
		if i >= most || *left <= 0 {
			th.MoreFrames = len(t.Frames) - i
			break
		}
		f := t.Frames[i]
		f.Function, f.LinkageName, f.File, f.Module, f.ModuleName = short(f.Function), short(f.LinkageName), short(f.File), short(f.Module), short(f.ModuleName)
		f.Doubt, f.Rule, f.Skipped, f.Variables = short(f.Doubt), "", "", nil
		const usual = 300 // what a frame has besides names
		*left -= usual + len(f.Function) + len(f.LinkageName) + len(f.File) + len(f.Module) + len(f.Doubt)
		th.Frames = append(th.Frames, f)
	}
	return th
}

// maxScene bounds the registers, the instructions and the accesses of a thread, of which
// machines have fewer than 100.
const maxScene = 100

// shortScene returns what a document has of a scene, and takes it off left.
func shortScene(s *report.Scene, left *int) *report.Scene {
	if s == nil || *left <= 0 {
		return nil
	}
	text := func(t string) string {
		t = short(t)
		*left -= len(t)
		return t
	}
	one := *s
	one.Registers = slices.Clone(s.Registers[:min(len(s.Registers), maxScene)])
	for i := range one.Registers {
		r := &one.Registers[i]
		r.Name, r.Kind, r.Text = text(r.Name), report.Kind(text(string(r.Kind))), text(r.Text)
	}
	one.Instructions = slices.Clone(s.Instructions[:min(len(s.Instructions), maxScene)])
	for i := range one.Instructions {
		in := &one.Instructions[i]
		in.Text, in.Bytes, in.Function = text(in.Text), text(in.Bytes), text(in.Function)
	}
	one.Accesses = slices.Clone(s.Accesses[:min(len(s.Accesses), maxScene)])
	for i := range one.Accesses {
		a := &one.Accesses[i]
		a.Kind, a.Text = report.Kind(text(string(a.Kind))), text(a.Text)
	}
	return &one
}

// short cuts a text that is longer than names are.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// take waits for the turn to read a report, which lasts until it has become a page: of
// those that are asked for at the same time, there is one in memory.
func (s *Site) take(ctx context.Context) error {
	select {
	case s.reading <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Site) leave() { <-s.reading }
