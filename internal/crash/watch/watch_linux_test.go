package watch

import (
	"bytes"
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

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/crash/store"
)

// quick is for tests.
var quick = times{settle: 20 * time.Millisecond, patience: 300 * time.Millisecond, rescan: time.Hour, poll: 30 * time.Millisecond}

// watched is a directory with a watcher that notes what it would handle.
type watched struct {
	t     *testing.T
	dir   string
	state string
	w     *Watcher

	mu      sync.Mutex
	handled []string
	said    []string
	keeps   bool
	fails   error
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	s := &watched{t: t, dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state"), keeps: true}
	return s
}

// watcher returns a new one, as after a restart.
func (s *watched) watcher() *Watcher {
	s.w = &Watcher{
		Dir: s.dir, State: s.state, times: quick, Kept: func(string) *store.Record { return nil },
		Handle: func(_ context.Context, c *crash.CoreFile) (bool, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.handled = append(s.handled, filepath.Base(c.Path))
			if st, err := c.File.Stat(); err != nil || st.Size() != c.Size || c.UID != os.Getuid() || !store.ValidID(c.ID) {
				s.t.Errorf("%s: got %+v, %v", c.Path, c, err)
			}
			return s.keeps, s.fails
		},
		Say: func(line string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.said = append(s.said, line)
		},
	}
	return s.w
}

// once runs a watcher until all is handled, and returns what was.
func (s *watched) once(change func(*Watcher)) []string {
	s.t.Helper()
	w := s.watcher()
	w.Once = true
	if change != nil {
		change(w)
	}
	if err := w.Run(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return s.took()
}

// took returns what was handled since it was called last.
func (s *watched) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.handled
	s.handled = nil
	slices.Sort(got)
	return got
}

// run runs a watcher while the test runs.
func (s *watched) run(change func(*Watcher)) {
	s.t.Helper()
	w := s.watcher()
	if change != nil {
		change(w)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
}

// until waits until a file is handled.
func (s *watched) until(name string) bool {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		found := slices.Contains(s.handled, name)
		s.mu.Unlock()
		if found {
			return true
		}
	}
	return false
}

func (s *watched) write(name string, text []byte) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), text, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Only cores are handled, whatever else is there; and each once.
func TestWatchHostile(t *testing.T) {
	s := newWatched(t)
	core := theDump()
	program := bytes.Clone(core)
	program[16] = 2 // ET_EXEC
	odd := "core\n\x1b[31m\xff"
	s.write("core.1", core)
	s.write(odd, core)
	s.write("cut", core[:len(core)/2])
	s.write("half a header", core[:50])
	s.write("program", program)
	s.write("text", []byte("hello"))
	s.write("empty", nil)
	s.write("linked", core)
	s.write("sparse", nil)
	err := errors.Join(
		os.Truncate(filepath.Join(s.dir, "sparse"), 1<<40),
		os.Link(filepath.Join(s.dir, "linked"), filepath.Join(s.dir, "linked too")),
		os.Symlink("core.1", filepath.Join(s.dir, "link")),
		os.Symlink("/dev/zero", filepath.Join(s.dir, "link away")),
		os.Symlink("nowhere", filepath.Join(s.dir, "link to nothing")),
		unix.Mkfifo(filepath.Join(s.dir, "fifo"), 0o600),
		os.Mkdir(filepath.Join(s.dir, "dir"), 0o700),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{odd, "core.1", "cut"}
	slices.Sort(want)
	if got := s.once(nil); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := s.once(nil); got != nil {
		t.Errorf("after a restart: got %q again", got)
	}
	s.write("core.2", core)
	s.write("core.1", append(core, 0)) // another core of the same name
	if got, want := s.once(nil), []string{"core.1", "core.2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := s.once(func(w *Watcher) { w.Present = PresentAll }); len(got) != 4 {
		t.Errorf("got %q, want all", got)
	}
	if s.said != nil {
		t.Errorf("got %q", s.said)
	}
}

// Files that are there at the start are left alone if that is wanted, then and later.
func TestWatchPresentNone(t *testing.T) {
	s := newWatched(t)
	s.write("old", theDump())
	if got := s.once(func(w *Watcher) { w.Present = PresentNone }); got != nil {
		t.Errorf("got %q", got)
	}
	s.write("new", theDump())
	if got, want := s.once(nil), []string{"new"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A core that is still written is not handled before it is closed and whole, also where
// the kernel tells nothing.
func TestWatchGrowing(t *testing.T) {
	core := theDump()
	s := newWatched(t)
	s.run(nil)
	f, err := os.Create(filepath.Join(s.dir, "core"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	forever, err := os.Create(filepath.Join(s.dir, "forever"))
	if err != nil {
		t.Fatal(err)
	}
	defer forever.Close()
	if _, err := forever.Write(core); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(core); at += 1 << 13 {
		if _, err := f.Write(core[at:min(len(core), at+1<<13)]); err != nil {
			t.Fatal(err)
		}
		if _, err := forever.WriteString("more"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * quick.settle)
	}
	time.Sleep(5 * quick.settle)
	if got := s.took(); got != nil && leases(t, f.Name()) {
		t.Errorf("got %q while it is open for writing", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if !s.until("core") {
		t.Error("it was not handled when it was closed")
	}
	s.write("another", core)
	if !s.until("another") {
		t.Error("a file that grows for ever holds up another")
	}
}

// leases reports whether a file system tells of who has a file open.
func leases(t *testing.T, name string) bool {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return isWritten(f)
}

// New files are found by looking, where the kernel does not tell, and those that are
// moved into the directory.
func TestWatchMoved(t *testing.T) {
	s := newWatched(t)
	s.run(nil)
	s.write("here", theDump())
	if !s.until("here") {
		t.Fatal("a new file was not found")
	}
	other := filepath.Join(t.TempDir(), "there")
	if err := errors.Join(os.WriteFile(other, theDump(), 0o600), os.Rename(other, filepath.Join(s.dir, "there"))); err != nil {
		t.Fatal(err)
	}
	if !s.until("there") {
		t.Error("a file that was moved there was not found")
	}
}

// Without inotify, changes of the directory are found by its time.
func TestWatchPolled(t *testing.T) {
	s := newWatched(t)
	w := s.watcher()
	dir, err := os.Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	w.dir, w.files, w.owned, w.waiting = dir, map[string]*candidate{}, map[int]int{}, map[string]*candidate{}
	if w.seen, err = openSeen(s.state); err != nil {
		t.Fatal(err)
	}
	defer w.seen.close()
	if err := w.scan(false); err != nil {
		t.Fatal(err)
	}
	s.write("core", theDump())
	for _, told := range []bool{true, false} {
		time.Sleep(2 * quick.poll)
		if err := w.scanIfDue(told); err != nil || (w.files["core"] != nil) == told {
			t.Errorf("told %v: got %v, %v", told, w.files, err)
		}
	}
}

// A core is removed when it was kept, and only then; and only the file that was read.
func TestWatchRemove(t *testing.T) {
	remove := func(w *Watcher) { w.Remove = true }
	s := newWatched(t)
	s.write("kept", theDump())
	s.write("text", []byte("hello"))
	s.once(remove)
	s.keeps = false
	s.write("not kept", theDump())
	s.once(remove)
	s.keeps = true
	s.write("another", theDump())
	s.once(func(w *Watcher) {
		remove(w)
		handle := w.Handle
		w.Handle = func(ctx context.Context, c *crash.CoreFile) (bool, error) {
			if err := os.Remove(c.Path); err != nil {
				t.Error(err)
			}
			s.write("another", []byte("another file"))
			return handle(ctx, c)
		}
	})
	var left []string
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"another", "not kept", "text"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("got %q, %v, want %q", left, err, want)
	}
}

// A program that was killed while it handled a core handles it again, but not if the
// crash was kept, and not for ever.
func TestWatchKilled(t *testing.T) {
	s := newWatched(t)
	s.write("core", theDump())
	killed := func(w *Watcher) {
		ctx, cancel := context.WithCancel(t.Context())
		handle := w.Handle
		w.Handle = func(_ context.Context, c *crash.CoreFile) (bool, error) {
			cancel() // before it is noted that it was handled
			return handle(ctx, c)
		}
		if err := w.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
	killed(s.watcher())
	if got := s.took(); len(got) != 1 {
		t.Fatalf("got %q", got)
	}
	before, err := os.ReadFile(s.state)
	if err != nil {
		t.Fatal(err)
	}
	var asked string
	if got := s.once(func(w *Watcher) { w.Kept = func(id string) *store.Record { asked = id; return &store.Record{ID: id} } }); got != nil || !strings.Contains(string(before), asked) || asked == "" {
		t.Errorf("got %q though it was kept as %q of %q", got, asked, before)
	}
	if err := os.WriteFile(s.state, before, 0o600); err != nil {
		t.Fatal(err)
	}
	killed(s.watcher())
	if got := s.took(); len(got) != 1 {
		t.Errorf("got %q, want it handled again", got)
	}
	if got := s.once(nil); got != nil || !strings.Contains(strings.Join(s.said, ""), "core: left alone, for it was begun 2 times") {
		t.Errorf("got %q, said %q, want it left alone", got, s.said)
	}
	if got := s.once(nil); got != nil || len(s.said) != 1 {
		t.Errorf("got %q, said %q", got, s.said)
	}
}

// Many files are handled in parts, and what is said of them is bounded.
func TestWatchMany(t *testing.T) {
	const many = maxOwned + 200
	s := newWatched(t)
	s.fails = errors.New("it failed")
	core := theDump()[:1000]
	for i := range many {
		s.write(fmt.Sprint("core.", i), core)
	}
	got := s.once(func(w *Watcher) {
		w.patience = quick.settle
		handle := w.Handle
		w.Handle = func(ctx context.Context, c *crash.CoreFile) (bool, error) {
			if len(w.files) > maxOwned {
				t.Errorf("%d files are kept in mind", len(w.files))
			}
			return handle(ctx, c)
		}
	})
	if got = slices.Compact(got); len(got) != many {
		t.Errorf("got %d, want %d", len(got), many)
	}
	if len(s.said) != maxSaidFiles || s.said[0] != filepath.Join(s.dir, got[0])+": it failed" && !strings.HasSuffix(s.said[0], ": it failed") {
		t.Errorf("got %d lines, %q", len(s.said), s.said[0])
	}
}

// The owners have their turns.
func TestWatchTurns(t *testing.T) {
	w := &Watcher{ready: map[int][]*candidate{}, turns: map[int]int{}, owned: map[int]int{}}
	for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1"} {
		owner := int(name[0])
		w.ready[owner] = append(w.ready[owner], &candidate{name: name, owner: owner})
		w.owned[owner]++
	}
	var got []string
	for c := w.pick(); c != nil; c = w.pick() {
		got = append(got, c.name)
	}
	order := strings.Join(got, " ")
	first := slices.Sorted(slices.Values(got[:3]))
	if len(got) != 7 || !slices.Equal(first, []string{"a1", "b1", "c1"}) || !strings.HasSuffix(order, "a3 a4") || len(w.owned) != 0 {
		t.Errorf("got %s, owned %v", order, w.owned)
	}
}

// Two watchers of a directory would handle each core twice.
func TestWatchTwice(t *testing.T) {
	s := newWatched(t)
	s.run(nil)
	s.write("core", theDump())
	if !s.until("core") {
		t.Fatal("nothing was handled")
	}
	second := *s.w
	second.dir = nil
	if err := second.Run(t.Context()); !errors.Is(err, errWatched) {
		t.Errorf("got %v, want %v", err, errWatched)
	}
}

// A directory that goes away ends the watcher, and one that is not there is an error.
func TestWatchGone(t *testing.T) {
	s := newWatched(t)
	w := s.watcher()
	done := make(chan error)
	go func() { done <- w.Run(t.Context()) }()
	s.write("core", theDump())
	if !s.until("core") {
		t.Fatal("nothing was handled")
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "was removed") {
		t.Errorf("got %v", err)
	}
	if err := s.watcher().Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
