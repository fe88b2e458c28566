package index

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"
)

var update = flag.Bool("update", false, "write the fixture of a schema that has none")

// begun is when the crashes of tests begin.
var begun = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// newStore makes a store with crashes: two groups of a program with names, of which one
// has a stripped run; one without names; and one of which no stack was read.
func newStore(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"), store.Limits{Crashes: 1 << 20, Bytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	for n, sig := range []*signature.Signature{
		{Address: hash("x1"), Fine: hash("f1"), Coarse: hash("c1"), Alias: hash("a1"), Title: "null-access in parse < main"},
		{Address: hash("x1"), Fine: hash("f1"), Coarse: hash("c1"), Alias: hash("a1"), Title: "null-access in parse < main"},
		{Address: hash("x2"), Fine: hash("f2"), Coarse: hash("c1"), Alias: hash("a2"), Title: "null-access in parse < main"},
		{Address: hash("x9"), Fine: hash("f9"), Alias: hash("a2"), Title: "null-access in prog+0x10"}, // stripped
		{Address: hash("x3"), Fine: hash("f3"), Coarse: hash("c2"), Alias: hash("a3"), Title: "abort in 100% < main"},
		{Address: hash("x4"), Fine: hash("f4"), Title: "null-access in lib+0x20"},
		nil,
	} {
		put(t, s, n, sig, nil)
	}
	return s
}

// put keeps a crash: the n-th, a day after the one before.
func put(t testing.TB, s *store.Store, n int, sig *signature.Signature, change func(*store.Record)) *store.Record {
	t.Helper()
	at := begun.AddDate(0, 0, n)
	r := &store.Record{
		Schema: store.Schema, ID: store.NewID(at, uint64(100+n)), Time: at, PID: 100 + n, UID: os.Getuid(), GID: os.Getgid(),
		Program: fmt.Sprint("/usr/bin/prog", n%2), Build: fmt.Sprint("b", n/3), Signal: "SIGSEGV", Kind: "/usr/bin/prog0 SIGSEGV", Number: 1, Signature: sig, Kept: store.KeepLine,
	}
	if sig != nil {
		r.Kind = sig.Address
	}
	if change != nil {
		change(r)
	}
	if err := s.Put(r); err != nil {
		t.Fatal(err)
	}
	return r
}

func mustOpen(t testing.TB, s *store.Store) *Index {
	t.Helper()
	ix, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	return ix
}

// answers are all that an index says, as text.
func answers(t testing.TB, ix *Index) string {
	t.Helper()
	ctx := t.Context()
	groups, err1 := ix.Groups(ctx, Filter{}, Page{})
	crashes, err2 := ix.Crashes(ctx, Filter{}, Page{})
	for i := range crashes {
		crashes[i].UID, crashes[i].Bytes = 0, 0 // which depend on who tests
	}
	days, err3 := ix.Days(ctx, Filter{})
	builds, err4 := ix.Count(ctx, ByBuild, Filter{}, Page{})
	stats, err5 := ix.Stats(ctx)
	stats.Bytes = 0
	b, err6 := json.MarshalIndent([]any{groups, crashes, days, builds, stats}, "", " ")
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// hash is a hash of a signature, and named tells what of.
func hash(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:16])
}

func named(key string) string {
	for _, of := range []string{"c1", "c2", "a1", "a2", "a3", "a4", "f4"} {
		if hash(of) == key {
			return of
		}
	}
	return "?"
}

func keys(groups []Group) string {
	var all []string
	for _, g := range groups {
		if len(g.Key) != 32 {
			g.Key = "a key of another length: " + g.Key
		}
		all = append(all, fmt.Sprint(named(g.Key), ":", g.Count))
	}
	return strings.Join(all, " ")
}

func crashes(t *testing.T, ix *Index, f Filter, p Page) string {
	t.Helper()
	found, err := ix.Crashes(t.Context(), f, p)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range found {
		all = append(all, fmt.Sprint(c.PID-100))
	}
	return strings.Join(all, " ")
}

// Crashes are found by everything that a filter may ask for.
func TestFilter(t *testing.T) {
	ix := mustOpen(t, newStore(t))
	me, other := os.Getuid(), os.Getuid()+1
	for _, tt := range []struct {
		name string
		f    Filter
		p    Page
		want string
	}{
		{"all", Filter{}, Page{}, "6 5 4 3 2 1 0"},
		{"oldest", Filter{}, Page{Oldest: true, Limit: 2}, "0 1"},
		{"a page", Filter{}, Page{Limit: 2, Offset: 2}, "4 3"},
		{"a group, also stripped", Filter{Group: hash("c1")}, Page{}, "3 2 1 0"},
		{"a path", Filter{Program: "/usr/bin/prog1"}, Page{}, "5 3 1"},
		{"a name", Filter{Program: "prog0"}, Page{}, "6 4 2 0"},
		{"a process", Filter{PID: 103}, Page{}, "3"},
		{"a user", Filter{User: &me}, Page{Limit: 1}, "6"},
		{"another user", Filter{User: &other}, Page{}, ""},
		{"a signal", Filter{Signal: "SIGBUS"}, Page{}, ""},
		{"a build", Filter{Build: "b1"}, Page{}, "5 4 3"},
		{"since", Filter{Since: begun.AddDate(0, 0, 5)}, Page{}, "6 5"},
		{"until", Filter{Until: begun.AddDate(0, 0, 1)}, Page{}, "0"},
		{"text", Filter{Text: "PARSE"}, Page{}, "2 1 0"},
		{"text with a sign of patterns", Filter{Text: "100%"}, Page{}, "4"},
		{"text that is nowhere", Filter{Text: "_"}, Page{}, ""},
		{"several", Filter{Group: hash("c1"), Build: "b0", Program: "prog0", Text: "main"}, Page{}, "2 0"},
		{"SQL", Filter{Group: "' OR 1=1 --", Text: "'"}, Page{}, ""},
	} {
		if got := crashes(t, ix, tt.f, tt.p); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestGroups(t *testing.T) {
	s := newStore(t)
	put(t, s, 7, &signature.Signature{Address: hash("x1"), Fine: hash("f1"), Coarse: hash("c1"), Alias: hash("a1"), Title: "null-access in parse < main"}, func(r *store.Record) { r.Number = 40 })
	ix, ctx := mustOpen(t, s), t.Context()
	groups, err := ix.Groups(ctx, Filter{}, Page{})
	if want := "c1:42 ?:1 f4:1 c2:1"; err != nil || keys(groups) != want {
		t.Errorf("got %s, %v, want %s", keys(groups), err, want)
	}
	first := Group{
		Key: hash("c1"), Title: "null-access in parse < main", Count: 42, Kept: 5, First: begun, Last: begun.AddDate(0, 0, 7),
		Oldest: store.NewID(begun, 100), Newest: store.NewID(begun.AddDate(0, 0, 7), 107), Program: "/usr/bin/prog1",
	}
	if !reflect.DeepEqual(groups[0], first) {
		t.Errorf("got %+v, want %+v", groups[0], first)
	}
	groups, err = ix.Groups(ctx, Filter{Build: "b1"}, Page{Limit: 2})
	if want := "f4:1 c2:1"; err != nil || keys(groups) != want {
		t.Errorf("of a build: got %s, %v, want %s", keys(groups), err, want)
	}
	groups, err = ix.NewIn(ctx, "b1", Page{})
	if want := "f4:1 c2:1"; err != nil || keys(groups) != want {
		t.Errorf("new in a build: got %s, %v, want %s", keys(groups), err, want)
	}
	if g, err := ix.Group(ctx, hash("f4")[:6]); err != nil || g.Key != hash("f4") {
		t.Errorf("by the beginning: got %+v, %v", g, err)
	}
	for _, key := range []string{hash("f4")[:2], "", "x", "%"} {
		if g, err := ix.Group(ctx, key); !errors.Is(err, ErrNoGroup) {
			t.Errorf("%q: got %+v, %v", key, g, err)
		}
	}
	days, err := ix.Days(ctx, Filter{Group: hash("c1")})
	if want := []Day{{"2026-11-20", 1}, {"2026-11-21", 1}, {"2026-11-22", 1}, {"2026-11-23", 1}, {"2026-11-27", 1}}; err != nil || !reflect.DeepEqual(days, want) {
		t.Errorf("got %v, %v, want %v", days, err, want)
	}
	builds, err := ix.Count(ctx, ByBuild, Filter{Group: hash("c1")}, Page{})
	if err != nil || len(builds) != 3 || builds[0] != (Tally{"b0", 3, begun, begun.AddDate(0, 0, 2)}) {
		t.Errorf("got %+v, %v", builds, err)
	}
	if _, err := ix.Count(ctx, "c.id; DROP TABLE crashes", Filter{}, Page{}); err == nil {
		t.Error("crashes are counted by anything")
	}
}

// An index that was brought up to date says what one says that is made anew, whatever
// came and went.
func TestSync(t *testing.T) {
	s := newStore(t)
	ix := mustOpen(t, s)
	same := func(when string) {
		t.Helper()
		if err := ix.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		fresh, err := open(t.Context(), s, "")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = fresh.Close() }()
		if got, want := answers(t, ix), answers(t, fresh); got != want {
			t.Errorf("%s: got %s, want %s", when, got, want)
		}
	}
	same("at the beginning")
	r := put(t, s, 8, &signature.Signature{Address: hash("x4"), Fine: hash("f5"), Coarse: hash("c2"), Alias: hash("a4"), Title: "abort in 100% < main"}, nil)
	same("with names of a crash that had none")
	if groups, err := ix.Groups(t.Context(), Filter{Group: hash("c2")}, Page{}); err != nil || keys(groups) != "c2:2" && keys(groups) != "c2:3" {
		t.Errorf("got %s, %v, want the crash without names in the group", keys(groups), err)
	}
	if err := s.Remove(r.ID); err != nil {
		t.Fatal(err)
	}
	same("without them")
	ids, err := s.IDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := s.Remove(id); err != nil {
			t.Fatal(err)
		}
		same("without " + id)
	}
	added := put(t, s, 9, &signature.Signature{Address: hash("x9"), Title: "again"}, nil)
	if err := ix.Add(t.Context(), added, 0); err != nil {
		t.Fatal(err)
	}
	if got := crashes(t, ix, Filter{}, Page{}); got != "9" {
		t.Errorf("got %s, want what was added", got)
	}
	added.Signature.Title = "changed"
	if err := errors.Join(s.Put(added), ix.Forget(t.Context(), added.ID), ix.Sync(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := crashes(t, ix, Filter{Text: "changed"}, Page{}); got != "9" {
		t.Errorf("got %q, want what was changed", got)
	}
}

// Whatever is found as the index, the answers are those of the files.
func TestRebuild(t *testing.T) {
	s := newStore(t)
	file := filepath.Join(s.Dir(), File)
	want := answers(t, mustOpen(t, s))
	if st, err := os.Stat(file); err != nil || st.Mode() != 0o600 {
		t.Fatalf("got mode %v, %v", st.Mode(), err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	foreign := func(query string) func() error {
		return func() error {
			db, err := sql.Open("sqlite", "file:"+file)
			if err != nil {
				return err
			}
			_, err = db.Exec(query)
			return errors.Join(err, db.Close())
		}
	}
	for _, tt := range []struct {
		name string
		make func() error
	}{
		{"nothing", func() error { return nil }},
		{"an empty file", func() error { return os.WriteFile(file, nil, 0o600) }},
		{"text", func() error { return os.WriteFile(file, bytes.Repeat([]byte("text"), 5000), 0o600) }},
		{"half an index", func() error { return os.WriteFile(file, whole[:len(whole)/2], 0o600) }},
		{"a damaged index", func() error {
			return os.WriteFile(file, append(bytes.Clone(whole[:4096]), make([]byte, len(whole)-4096)...), 0o600)
		}},
		{"a link", func() error { return os.Symlink("/etc/passwd", file) }},
		{"another program's", foreign("CREATE TABLE crashes (x); PRAGMA user_version = 1")},
		{"an older one", foreign(fmt.Sprintf("CREATE TABLE old (x); PRAGMA user_version = 0; PRAGMA application_id = %d", application))},
		{"one without tables", foreign(fmt.Sprintf("CREATE TABLE state (changed INTEGER); PRAGMA user_version = %d; PRAGMA application_id = %d", schemaVersion, application))},
	} {
		if err := errors.Join(remove(file), tt.make()); err != nil {
			t.Fatal(err)
		}
		ix := mustOpen(t, s)
		if got := answers(t, ix); got != want {
			t.Errorf("%s: got %s, want %s", tt.name, got, want)
		}
		if st, err := os.Lstat(file); err != nil || !st.Mode().IsRegular() || ix.file == "" {
			t.Errorf("%s: the index was not made again: %v", tt.name, err)
		}
		_ = ix.Close()
	}
	if err := errors.Join(remove(file), foreign(fmt.Sprintf("CREATE TABLE new (x); PRAGMA user_version = %d; PRAGMA application_id = %d", schemaVersion+1, application))()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), s); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), file) {
		t.Errorf("a newer one: got %v", err)
	}
}

// Who may not write the index gets the same answers, of what may be read.
func TestReadOnly(t *testing.T) {
	s := newStore(t)
	want := answers(t, mustOpen(t, s))
	file := filepath.Join(s.Dir(), File)
	if err := errors.Join(remove(file), os.Mkdir(file, 0o700), os.WriteFile(file+"/x", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	ix := mustOpen(t, s)
	if got := answers(t, ix); got != want || ix.file != "" {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What another user wrote, or could replace, is neither read nor changed.
func TestOfOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const other = 12345
	s := newStore(t)
	want := answers(t, mustOpen(t, s))
	file := filepath.Join(s.Dir(), File)
	for name, of := range map[string]string{"index": file, "directory": s.Dir()} {
		if err := errors.Join(remove(file), os.WriteFile(file, []byte("theirs"), 0o600), os.Chown(of, other, other)); err != nil {
			t.Fatal(err)
		}
		ix := mustOpen(t, s)
		if got := answers(t, ix); got != want || ix.file != "" {
			t.Errorf("%s: got %s in %q, want %s", name, got, ix.file, want)
		}
		if now, err := os.ReadFile(file); string(now) != "theirs" || err != nil {
			t.Errorf("%s: it became %q, %v", name, now, err)
		}
		if err := os.Chown(of, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// A record that is too large, or damaged, is left out and told.
func TestHostile(t *testing.T) {
	s := newStore(t)
	long := strings.Repeat("x", 6000)
	put(t, s, 20, nil, func(r *store.Record) { r.Program, r.Signal, r.Build, r.Kind = long, long, long, long })
	for n, text := range []string{"{", "", `{"schema":"other"}`, strings.Repeat(" ", 2<<20)} {
		if err := os.WriteFile(filepath.Join(s.Dir(), fmt.Sprintf("%d.json", n)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ix := mustOpen(t, s)
	if others, unreadable := ix.Denied(); others != 0 || unreadable != 4 {
		t.Errorf("got %d, %d left out", others, unreadable)
	}
	if got := crashes(t, ix, Filter{PID: 120}, Page{}); got != "20" {
		t.Errorf("got %s", got)
	}
}

// The index of the first schema that was committed can still be used: it is brought up
// to date, or made again.
func TestFirstSchema(t *testing.T) {
	const fixture = "testdata/schema-1.db"
	s := newStore(t)
	ix := mustOpen(t, s)
	want := answers(t, ix)
	file := filepath.Join(s.Dir(), File)
	if *update {
		if _, err := os.Stat(fixture); err == nil {
			t.Fatalf("%s is there, and stays as it is", fixture)
		}
		if _, err := ix.db.Exec("VACUUM INTO ?", fixture); err != nil {
			t.Fatal(err)
		}
	}
	_ = ix.Close()
	text, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(remove(file), os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := answers(t, mustOpen(t, s)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
