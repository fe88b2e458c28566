package crash

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// A small core is kept if a rule asks for it and the reader comes to its end, and never
// a part of one.
func TestHandleSmall(t *testing.T) {
	whole := outlineLine + nameLine(t, "") + reportLines
	for _, tt := range []struct {
		name, reader string
		rules        []Rule
		kept         store.Keep
		core         string
		problem      string
	}{
		{"wanted", whole + "\x01small", []Rule{{Keep: store.KeepSmall}}, store.KeepSmall, "a small core", ""},
		{"of another program", whole + "\x01small", []Rule{{Keep: store.KeepSmall, Program: "other"}}, store.KeepReport, "", ""},
		{"none made", whole, []Rule{{Keep: store.KeepSmall}}, store.KeepReport, "", "the small core: the reader made none"},
		{"cut", outlineLine + "\x01small hang", []Rule{{Keep: store.KeepSmall}}, store.KeepLine, "", "the small core: the reader ended before it was complete"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := DefaultConfig()
			c.Time, c.Rules = duration{20 * time.Second}, tt.rules
			if strings.HasSuffix(tt.reader, "hang") {
				c.Time = duration{300 * time.Millisecond}
			}
			r := handle(t, c, bytes.NewReader(theDump()), tt.reader)
			if r.err != nil || r.rec == nil || r.rec.Kept != tt.kept || !r.dump.closed {
				t.Fatalf("got %+v, %v, want kept %s", r.rec, r.err, tt.kept)
			}
			if got := string(unpack(t, r.h.store.Core(r.rec.ID))); got != tt.core {
				t.Errorf("got the core %q, want %q", got, tt.core)
			}
			if got := strings.Join(r.rec.Problems, "; "); tt.problem == "" && got != "" || !strings.Contains(got, tt.problem) {
				t.Errorf("got the problems %q, want %q", got, tt.problem)
			}
			if parts, _ := filepath.Glob(filepath.Join(c.Store, "*.part")); parts != nil {
				t.Errorf("%v is left", parts)
			}
		})
	}
}

// A reader of a core that is over budget does not wait for a decision until its time is up.
func TestSmallOverBudget(t *testing.T) {
	testkit.NeedRestart(t)
	dir, c := t.TempDir(), DefaultConfig()
	c.Store, c.Time, c.Rules, c.Rate.Crashes = dir+"/store", duration{20 * time.Second}, []Rule{{Keep: store.KeepSmall}}, 0
	if err := os.WriteFile(dir+"/core", theDump(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir + "/core")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, begun := newHandler(t, c, outlineLine+"\x01small", dir+"/journal", func(string) {}), time.Now()
	r, err := h.HandleCore(t.Context(), &CoreFile{ID: "1-7", File: f, Size: int64(len(theDump())), UID: os.Getuid(), GID: os.Getgid()}, ReaderOptions{})
	if took := time.Since(begun); r != nil || err != nil || took > c.Time.Duration/2 {
		t.Errorf("got %+v, %v after %v", r, err, took)
	}
}

// keptFile is a file in memory.
type keptFile struct {
	bytes.Buffer
	closed bool
}

func (f *keptFile) Close() error { f.closed = true; return nil }

// What a reader writes as a small core has the same stacks. Without a rule that asks for
// one it writes none.
func TestReadSmall(t *testing.T) {
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		opts := process.Options{Methods: process.Methods(), Paths: []string{filepath.Join(coresDir, name)}, Context: t.Context()}
		for asked, want := range map[string]bool{"s": true, "": false} {
			img, err := core.Open(t.Context(), filepath.Join(coresDir, name, "core.zst"), core.Options{})
			if err != nil {
				t.Fatal(err)
			}
			small := &keptFile{}
			r := &Reader{Small: &Small{Asked: strings.NewReader(asked), Core: small}}
			of, beside := r.beside(img)
			p := process.New(of, opts)
			beside.process = p
			if err := writeReportWith(t.Context(), io.Discard, p, maxKeptFrames, beside); err != nil {
				t.Fatal(err)
			}
			if whole, err := p.Report(t.Context(), p.Threads()); err != nil {
				t.Error(err)
			} else if got := stacksOf(t, small, opts); !small.closed || want && !reflect.DeepEqual(got, whole.Threads) || !want && got != nil {
				t.Errorf("asked %q: got other stacks: %d bytes", asked, small.Len())
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// stacksOf returns the stacks of a core, nil if there is none.
func stacksOf(t *testing.T, f *keptFile, opts process.Options) []report.Thread {
	if f.Len() == 0 {
		return nil
	}
	name := filepath.Join(t.TempDir(), "small")
	if err := os.WriteFile(name, f.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	img, err := core.Open(t.Context(), name, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := process.New(img, opts)
	defer p.Close()
	r, err := p.Report(t.Context(), p.Threads())
	if err != nil {
		t.Fatal(err)
	}
	return r.Threads
}
