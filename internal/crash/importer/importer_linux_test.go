package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/foreign"
)

// fake is a store in memory, and what is done to it.
type fake struct {
	mu    sync.Mutex
	state string
	kept  map[string]string // by id
	fail  map[string]error  // by the cursor of a crash
	hook  func(ctx context.Context, c *foreign.Crash)
	said  []string
}

func newFake(t *testing.T) *fake {
	return &fake{state: filepath.Join(t.TempDir(), "imported"), kept: map[string]string{}, fail: map[string]error{}}
}

// run imports crashes with these cursors.
func (f *fake) run(ctx context.Context, cursors ...string) (Sum, error) {
	m := &Importer{
		State: f.state, Workers: 3,
		Import: func(ctx context.Context, c *foreign.Crash, id string) error {
			if f.hook != nil {
				f.hook(ctx, c)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if err := errors.Join(ctx.Err(), f.fail[c.Cursor]); err != nil {
				return err
			}
			if f.kept[id] != "" {
				return fmt.Errorf("%s is there", id)
			}
			f.kept[id] = c.Cursor
			return nil
		},
		Kept: func(id string) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.kept[id] != ""
		},
		Step: func(_ Sum, c *foreign.Crash, err error) {
			if err != nil {
				f.said = append(f.said, c.Cursor+": "+err.Error())
			}
		},
	}
	for _, cursor := range cursors {
		c := foreign.Crash{Cursor: cursor, PID: 7, Time: time.UnixMilli(1700000000000)}
		if strings.HasPrefix(cursor, "no ") {
			c.Missing = "none"
		}
		m.Crashes = append(m.Crashes, c)
	}
	return m.Run(ctx)
}

func (f *fake) want(t *testing.T, what string, got Sum, err error, want Sum, kept int) {
	t.Helper()
	if err != nil || got != want || len(f.kept) != kept || got.Done() != got.All {
		t.Errorf("%s: got %+v, %v, %d kept, want %+v, %d", what, got, err, len(f.kept), want, kept)
	}
}

// Crashes are imported once, also those of the same process and moment; what failed is
// tried again.
func TestRun(t *testing.T) {
	f := newFake(t)
	f.fail["c"] = errors.New("broken")
	sum, err := f.run(t.Context(), "a", "b", "c", "no core")
	f.want(t, "first", sum, err, Sum{All: 4, Imported: 2, Missing: 1, Failed: 1}, 2)
	if want := []string{"c: broken"}; !slices.Equal(f.said, want) {
		t.Errorf("said %q, want %q", f.said, want)
	}
	delete(f.fail, "c")
	sum, err = f.run(t.Context(), "a", "b", "c", "d")
	f.want(t, "again", sum, err, Sum{All: 4, Imported: 2, Known: 2}, 4)
	clear(f.kept) // as when the store is full
	sum, err = f.run(t.Context(), "a", "b", "c", "d")
	f.want(t, "when all were removed", sum, err, Sum{All: 4, Known: 4}, 0)
}

// What an import that was killed has begun is known if it was kept, and tried twice.
func TestKilled(t *testing.T) {
	f := newFake(t)
	a, b := string(keyOf("cursor a")), string(keyOf("cursor b"))
	f.kept["1-7"] = "a"
	text := "begun " + a + " 1-7\nbegun " + b + " 2-7\nnonsense\nbegun " + b + "\nbegun x 1\nbegun " + b + " ../x\nbegun " + b + " 3-"
	if err := os.WriteFile(f.state, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := f.run(t.Context(), "a", "b")
	f.want(t, "begun twice", sum, err, Sum{All: 2, Known: 1, Failed: 1}, 1)
	if len(f.said) != 1 || !strings.Contains(f.said[0], "begun 2 times") {
		t.Errorf("said %q", f.said)
	}
	if err := os.WriteFile(f.state, []byte("begun "+b+" 2-7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err = f.run(t.Context(), "b")
	f.want(t, "begun once", sum, err, Sum{All: 1, Imported: 1}, 2)
}

// An import that is interrupted does not count as tried, and goes on where it was.
func TestInterrupted(t *testing.T) {
	f := newFake(t)
	var all []string
	for i := range 50 {
		all = append(all, fmt.Sprint(i))
	}
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		f.hook = func(_ context.Context, c *foreign.Crash) {
			if strings.HasSuffix(c.Cursor, "5") {
				cancel()
			}
		}
		if sum, err := f.run(ctx, all...); !errors.Is(err, context.Canceled) || sum.Failed > 0 {
			t.Errorf("got %+v, %v", sum, err)
		}
		cancel()
	}
	f.hook = nil
	sum, err := f.run(t.Context(), all...)
	if err != nil || sum.Failed > 0 || sum.Imported+sum.Known != 50 || len(f.kept) != 50 {
		t.Errorf("got %+v, %v, %d kept", sum, err, len(f.kept))
	}
}

// Two imports do not write to a store at once, and a ledger that cannot be written ends one.
func TestLedger(t *testing.T) {
	f := newFake(t)
	l, err := openLedger(f.state)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.run(t.Context(), "a"); !errors.Is(err, errImporting) {
		t.Errorf("got %v", err)
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
	f.state = filepath.Join(f.state, "none")
	if _, err := f.run(t.Context(), "a"); err == nil {
		t.Error("a ledger that cannot be made is no error")
	}
}

func TestRecord(t *testing.T) {
	c := foreign.Crash{
		Kind: foreign.Systemd, File: "/x/core", Cursor: "s=1", PID: 7, UID: 33, Owner: 0, Program: "/bin/a", Signal: "SIGSEGV", Unit: "b.service",
		Cgroup: "0::/system.slice/a.service\n", Time: time.Unix(1700000000, 0),
	}
	r := Record(&c, "1-7")
	if r.ID != "1-7" || r.UID != 0 || *r.Origin.User != 33 || r.Unit != "a.service" || r.Origin.Store != "systemd" || r.Origin.Cursor != "s=1" || !r.Time.Equal(c.Time) {
		t.Errorf("got %+v", r)
	}
	c.Cgroup, c.UID, c.Missing, c.Time = "", -1, "it was removed", time.Now().Add(time.Hour)
	if r := Record(&c, "1-7"); r.Unit != "b.service" || r.Origin.User != nil || r.Time.After(time.Now()) || len(r.Problems) != 1 {
		t.Errorf("got %+v", r)
	}
}
