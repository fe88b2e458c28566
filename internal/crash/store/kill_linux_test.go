package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/testkit"
)

// asWriter makes this test's program one that keeps crashes in the store that the
// variable names, and removes others, until it is killed.
const asWriter = "SFCORE_TEST_STORE"

func TestMain(m *testing.M) {
	dir, ok := os.LookupEnv(asWriter)
	if !ok {
		os.Exit(m.Run())
	}
	s, err := Open(dir, Limits{Crashes: 20, Bytes: 1 << 20})
	for n := uint64(0); err == nil; n++ {
		err = keep(s, NewID(time.Now(), uint64(os.Getpid())*1000+n), fmt.Sprint("kind", n%7))
		if err == nil {
			err = s.Trim()
		}
		if err == nil && n%5 == 0 {
			_ = s.Remove(firstID(s))
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// keep keeps a crash as a handler does.
func keep(s *Store, id, kind string) error {
	r := &Record{Schema: Schema, ID: id, Time: time.Now(), Kind: kind, UID: os.Getuid(), GID: os.Getgid()}
	p, err := s.CreateReport(id)
	if err != nil {
		return err
	}
	_, err = p.Write([]byte(strings.Repeat(id, 1000)))
	err = errors.Join(err, p.Finish(r.UID, r.GID), s.Update(func(c *Counts) { r.Number = c.Count(kind, id, r.Time) }))
	return errors.Join(err, s.Put(r))
}

func firstID(s *Store) string {
	ids, err := s.IDs()
	if err != nil || len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// Whenever writers and removers are killed, every crash that is there can be read, the
// counts are whole, and what is left is removed in time.
func TestKill(t *testing.T) {
	testkit.NeedRestart(t)
	s := newStore(t, 20, 1<<20)
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		var writers []*exec.Cmd
		for range 3 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = []string{asWriter + "=" + s.dir}
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			writers = append(writers, cmd)
		}
		time.Sleep(time.Duration(10+rand.IntN(50)) * time.Millisecond)
		for _, cmd := range writers {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != -1 {
				t.Fatalf("a writer ended by itself: %v", cmd.ProcessState)
			}
		}
		checkWhole(t, s)
	}
	if ids, err := s.IDs(); err != nil || len(ids) == 0 {
		t.Fatalf("got %d crashes, %v: nothing was tried", len(ids), err)
	}
	old := time.Now().Add(-2 * left)
	names, err := filepath.Glob(s.dir + "/*")
	for _, name := range names {
		err = errors.Join(err, os.Chtimes(name, old, old))
	}
	if err := errors.Join(err, keep(s, NewID(time.Now(), 1), "kind"), s.Trim()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		id, suffix, ok := cutSuffix(e.Name())
		if _, err := os.Stat(s.path(id, recordSuffix)); ok && (err != nil || strings.HasSuffix(suffix, partSuffix)) {
			t.Errorf("%s was left: %v", e.Name(), err)
		}
	}
}

// checkWhole checks that what can be seen of a store is whole.
func checkWhole(t *testing.T, s *Store) {
	t.Helper()
	ids, err := s.IDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		r, _, err := s.Get(id, maxRecord)
		if err != nil {
			t.Fatal(err)
		}
		if r.Number < 1 || s.Report(id) == "" {
			t.Errorf("%s: got %+v and report %q", id, r, s.Report(id))
		}
	}
	if _, err := s.Counts(); err != nil {
		t.Fatal(err)
	}
}

// The first and the last of each kind stay when others go, by number and by age.
func TestTrimKinds(t *testing.T) {
	for _, tt := range []struct {
		name string
		most Limits
		want string
	}{
		{"by number", Limits{Crashes: 5, Bytes: 1 << 20}, "9-9 8-8 6-6 5-5 1-1"},
		{"then the last of a kind", Limits{Crashes: 4, Bytes: 1 << 20}, "9-9 8-8 6-6 1-1"},
		{"by age", Limits{Crashes: 100, Bytes: 1 << 20, Age: time.Hour}, "9-9 8-8 6-6 5-5 1-1"},
		{"young", Limits{Crashes: 100, Bytes: 1 << 20, Age: 5 * time.Hour}, "9-9 8-8 7-7 6-6 5-5 4-4 3-3 2-2 1-1"},
	} {
		s := newStore(t, 100, 1<<20)
		for n, kind := range []string{"a", "a", "a", "a", "a", "b", "b", "b", "c"} {
			add(t, s, fmt.Sprint(n+1, "-", n+1), kind, 100)
		}
		names, err := filepath.Glob(s.dir + "/*-*")
		for _, name := range names {
			at := time.Now().Add(-2 * time.Hour)
			err = errors.Join(err, os.Chtimes(name, at, at))
		}
		s.most = tt.most
		if err := errors.Join(err, s.Trim()); err != nil {
			t.Fatal(err)
		}
		if got := ids(t, s); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
