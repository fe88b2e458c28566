package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newStore makes a store in which up to keep crashes of up to size bytes are kept.
func newStore(t *testing.T, keep int, size int64) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "store"), Limits{Crashes: keep, Bytes: size})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// add keeps a crash with a report of so many bytes that do not compress.
func add(t *testing.T, s *Store, id, kind string, size int) {
	t.Helper()
	r := &Record{Schema: Schema, ID: id, Kind: kind, UID: os.Getuid(), GID: os.Getgid()}
	err := s.Update(func(c *Counts) { r.Number = c.Count(kind, id, time.Now()) })
	if err := errors.Join(err, s.Put(r)); err != nil {
		t.Fatal(err)
	}
	if size == 0 {
		return
	}
	if err := os.WriteFile(s.path(id, reportSuffix), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
}

func ids(t *testing.T, s *Store) string {
	t.Helper()
	records, denied, err := s.Records()
	if err != nil || denied != 0 {
		t.Fatal(denied, err)
	}
	var all []string
	for _, r := range records {
		all = append(all, r.ID)
	}
	return strings.Join(all, " ")
}

// The oldest are removed first, but the first of a kind stays longer, and the newest
// always.
func TestStoreTrim(t *testing.T) {
	for _, tt := range []struct {
		name string
		keep int
		size int64
		want string
	}{
		{"room for all", 10, 1 << 20, "5-5 4-4 3-3 2-2 1-1"},
		{"room for four", 4, 1 << 20, "5-5 4-4 3-3 1-1"},
		{"room for three", 3, 1 << 20, "5-5 4-4 1-1"},
		{"room for two", 2, 1 << 20, "5-5 4-4"},
		{"room for one", 1, 1 << 20, "5-5"},
		{"room for none", 0, 1 << 20, "5-5"},
		{"few bytes", 10, 2500, "5-5 4-4"},
		{"more bytes", 10, 4000, "5-5 4-4 1-1"},
		{"no bytes", 10, 0, "5-5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t, tt.keep, tt.size)
			for _, c := range [][2]string{{"1-1", "a"}, {"2-2", "a"}, {"3-3", "a"}, {"4-4", "b"}, {"5-5", "a"}} {
				add(t, s, c[0], c[1], 1000)
			}
			if err := s.Trim(); err != nil {
				t.Fatal(err)
			}
			if got := ids(t, s); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			left, err := os.ReadDir(s.dir)
			if want := 2*len(strings.Fields(tt.want)) + 2; err != nil || len(left) != want { // and the counts and the lock
				t.Errorf("got %v, %v, want %d files", left, err, want)
			}
		})
	}
}

func TestStoreFind(t *testing.T) {
	s := newStore(t, 10, 1<<20)
	add(t, s, "20260101-000000.001-7", "a", 0)
	add(t, s, "20260101-000000.002-7", "a", 10)
	for _, name := range []string{"notes.json", "../x.json", "9.txt"} {
		if err := os.WriteFile(filepath.Join(s.dir, filepath.Base(name)), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(s.path("20260101-000000.003-7", recordSuffix), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"last": "20260101-000000.002-7", "20260101-000000.001": "20260101-000000.001-7", "20260101-000000.002-7": "20260101-000000.002-7",
		"2026": "", "": "", "x": "", "../x": "", "notes": "", "20260101-000000.003": "",
	} {
		r, err := s.Find(id)
		if want == "" {
			if err == nil {
				t.Errorf("%q: got %+v", id, r)
			}
			continue
		}
		if err != nil || r.ID != want {
			t.Errorf("%q: got %+v, %v, want %s", id, r, err, want)
		}
	}
	if got := s.Report("20260101-000000.001-7") + s.Core("20260101-000000.002-7"); got != "" {
		t.Errorf("got %s, want no files", got)
	}
	if got := s.Report("20260101-000000.002-7"); got != s.path("20260101-000000.002-7", reportSuffix) {
		t.Errorf("got report %s", got)
	}
	if err := s.Remove("20260101-000000.002-7"); err != nil {
		t.Error(err)
	}
	if err := s.Remove("20260101-000000.002-7"); !errors.Is(err, ErrNone) {
		t.Errorf("got %v, want %v", err, ErrNone)
	}
	if got := ids(t, s); got != "20260101-000000.001-7" {
		t.Errorf("got %s", got)
	}
}

// The files of a crash are for its user only, as soon as they are there.
func TestStoreModes(t *testing.T) {
	s := newStore(t, 10, 1<<20)
	add(t, s, "1-1", "a", 0)
	p, err := s.create("1-1", reportSuffix)
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		entries, err := os.ReadDir(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s: %s has mode %v, %v", when, e.Name(), info.Mode(), err)
			}
		}
	}
	check("while it is written")
	if _, err := s.create("1-1", reportSuffix); err == nil {
		t.Error("a file is written by two")
	}
	if s.Report("1-1") != "" {
		t.Error("there is a report before it is complete")
	}
	if _, err := p.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(os.Getuid(), os.Getgid()); err != nil {
		t.Fatal(err)
	}
	check("when it is complete")
	if s.Report("1-1") == "" {
		t.Error("there is no report")
	}
	p, err = s.create("1-1", coreSuffix)
	if err != nil {
		t.Fatal(err)
	}
	p.Abandon()
	if names, _ := filepath.Glob(s.dir + "/*core*"); names != nil {
		t.Errorf("got %v, want nothing of what was abandoned", names)
	}
}

// A crash that is forgotten leaves no trace, and another of its kind keeps its own.
func TestStoreForget(t *testing.T) {
	s := newStore(t, 10, 1<<20)
	now := time.Now()
	for _, id := range []string{"1-7", "2-17", "3-7"} {
		add(t, s, id, "a", 10)
		r := &Record{Schema: Schema, ID: id, Kind: "a", Program: "/p", UID: os.Getuid(), GID: os.Getgid(), PID: 7, Time: now}
		if id == "2-17" {
			r.PID = 17
		}
		if err := s.Put(r); err != nil || !s.Within(Rate{Crashes: 9, Per: time.Hour}, "/p", r.UID, now, func(string) {}) {
			t.Fatal(err)
		}
	}
	r, err := s.ByProcess(7, now)
	if err != nil || r == nil || r.ID != "3-7" {
		t.Fatalf("got %+v, %v", r, err)
	}
	if other, err := s.ByProcess(7, now.Add(time.Hour)); other != nil || err != nil {
		t.Errorf("got %+v, %v of a time to come", other, err)
	}
	if err := s.Forget(r); err != nil {
		t.Fatal(err)
	}
	c, err := s.Counts()
	if err != nil || c.Kinds["a"].Count != 2 || c.Rates[rateKey("/p", os.Getuid())].Crashes != 2 || ids(t, s) != "2-17 1-7" || s.Report("3-7") != "" {
		t.Errorf("got %+v, %v, %s", c, err, ids(t, s))
	}
}

// Records that are larger than any that is written share an allowance, and what is left
// out is an error besides the others. A report that is a link is not there.
func TestHostileRecords(t *testing.T) {
	s := newStore(t, 100, 1<<40)
	large := `{"schema":"` + Schema + `","problems":["` + strings.Repeat("x", maxRecord-100) + `"]}`
	const most = maxLarge / (maxRecord - usualRecord)
	for i := range most + 3 {
		if err := os.WriteFile(s.path(fmt.Sprint(100+i), recordSuffix), []byte(large), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(s.path("1", recordSuffix), []byte(`{"schema":"`+Schema+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	records, _, err := s.Records()
	if !errors.Is(err, ErrLarge) || len(records) > most+1 || len(records) < most || records[len(records)-1].ID != "1" {
		t.Errorf("got %d records, %v", len(records), err)
	}
	if err := os.Symlink(s.path("1", recordSuffix), s.path("1", reportSuffix)); err != nil {
		t.Fatal(err)
	}
	if got := s.Report("1"); got != "" {
		t.Errorf("got the report %s, which is a link", got)
	}
}
