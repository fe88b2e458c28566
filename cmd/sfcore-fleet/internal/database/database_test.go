package database_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/page"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/document"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

// each runs a test with a database of each kind.
func each(t *testing.T, test func(t *testing.T, name string)) {
	t.Run("SQLite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "fleet.db")) })
	t.Run("PostgreSQL", func(t *testing.T) {
		test(t, testkit.Postgres(t).URL(t))
	})
}

func TestMain(m *testing.M) { testkit.Main(m) }

func open(t *testing.T, name string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// item is the nth crash of a host, as a worker has it.
func item(t *testing.T, host string, n int, functions ...string) database.Item {
	t.Helper()
	m, err := message.Decode(testkit.Encode(t, testkit.Message(host, n, functions...)))
	if err != nil {
		t.Fatal(err)
	}
	return database.ItemOf(m)
}

func countItem(t *testing.T, host string, ids ...string) database.Item {
	t.Helper()
	r, _ := testkit.Crash(1, "parse", "main")
	m, err := message.Decode(testkit.Encode(t, message.NewCount(host, r, message.Names, ids)))
	if err != nil {
		t.Fatal(err)
	}
	return database.ItemOf(m)
}

func store1(t *testing.T, db *database.DB, items ...database.Item) []int {
	t.Helper()
	n, err := db.Store(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func groups(t *testing.T, db *database.DB) []index.Group {
	t.Helper()
	all, err := db.Index.Groups(t.Context(), index.Filter{}, index.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Whatever comes again, in whatever way, is stored and counted once.
func TestOnce(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		db := open(t, name)
		first := item(t, "web1", 1, "parse", "main")
		if n := store1(t, db, first, item(t, "web2", 1, "parse", "main"), first); fmt.Sprint(n) != "[1 1 0]" {
			t.Errorf("got %v", n)
		}
		if n := store1(t, db, first); n[0] != 0 {
			t.Errorf("again: got %v", n)
		}
		a, b, c := store.NewID(testkit.At, 101), store.NewID(testkit.At, 102), store.NewID(testkit.At, 103)
		if n := store1(t, db, countItem(t, "web1", a, b)); n[0] != 2 {
			t.Errorf("counted: got %v", n)
		}
		// A count that overlaps with one before, and a crash that was counted.
		if n := store1(t, db, countItem(t, "web1", a, b, c), countItem(t, "web1", store.NewID(testkit.At.Add(time.Second), 1))); fmt.Sprint(n) != "[1 0]" {
			t.Errorf("again: got %v", n)
		}
		all := groups(t, db)
		if len(all) != 1 || all[0].Count != 5 || all[0].Kept != 2 {
			t.Errorf("got %+v", all)
		}
		if n, err := db.Seen(t.Context()); n != 5 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}

// Many workers at once store each crash once, and lose none.
func TestConcurrent(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		const workers, crashes = 4, 40
		all := make([]database.Item, crashes)
		for i := range all {
			all[i] = item(t, "web1", i, fmt.Sprint("f", i%7), "main")
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		total := 0
		for w := range workers {
			db := open(t, name)
			wg.Go(func() {
				for i := range all {
					it := all[(i*7+w*13)%crashes]
					record := *it.Record
					it.Record = &record
					n, err := db.Store(context.WithoutCancel(t.Context()), []database.Item{it})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					total += n[0]
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		sum := 0
		for _, g := range groups(t, open(t, name)) {
			sum += g.Kept
		}
		if total != crashes || sum != crashes {
			t.Errorf("got %d stored, and %d in groups, want %d", total, sum, crashes)
		}
	})
}

// The page has all hosts, with the reports.
func TestPage(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		db := open(t, name)
		for i, host := range []string{"web1", "web2", "db1"} {
			store1(t, db, item(t, host, i, "parse", "main"), item(t, host, i+10, "idle", "main"))
		}
		hostile := item(t, "web3", 30, "x\x00\xff<b>", "main")
		hostile.Record.Program, hostile.Record.Problems = "/\x00\xff<b>", []string{"\x00", `\u0000`}
		store1(t, db, hostile)
		site := page.New(db.Source())
		get := func(path string) string {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = "localhost"
			w := httptest.NewRecorder()
			site.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("%s: got %d, %s", path, w.Code, w.Body)
			}
			return w.Body.String()
		}
		all := groups(t, db)
		if len(all) != 3 || all[0].Count != 3 {
			t.Fatalf("got %+v", all)
		}
		for path, want := range map[string]string{
			"/groups": "parse", "/groups?q=PARSE": "parse", "/groups?host=web2": "parse", "/crashes?host=db1": "db1", "/crashes?program=" + testkit.Secret: "db1",
			"/group/" + all[0].Key: "web2", "/group/" + all[0].Key[:6] + ".json": all[0].Key, "/crash/last": "main", "/build/" + testkit.Build: "parse",
			"/crashes.json?signal=SIGSEGV&since=2026-10-01&until=2026-12-01": "web1",
		} {
			if got := get(path); !strings.Contains(got, want) {
				t.Errorf("%s: there is no %q in %s", path, want, got)
			}
		}
		r, err := db.Find(t.Context(), message.ID("web2", store.NewID(testkit.At.Add(time.Second), 1)))
		if err != nil || r.Host != "web2" {
			t.Fatalf("got %+v, %v", r, err)
		}
		if doc, err := db.Report(t.Context(), r.ID, document.NewBudget()); err != nil || doc.Threads[0].Frames[0].Function != "parse" {
			t.Errorf("got %+v, %v", doc, err)
		}
		if _, err := db.Find(t.Context(), "2026"); !errors.Is(err, store.ErrNone) {
			t.Errorf("got %v", err)
		}
		if _, err := db.Get(t.Context(), "' OR 1=1", 1<<20); !errors.Is(err, store.ErrNone) {
			t.Errorf("got %v", err)
		}
	})
}

// Trimming keeps the first and the newest of a group whole, and what was counted.
func TestTrim(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		db := open(t, name)
		var items []database.Item
		for n := range 20 {
			items = append(items, item(t, "web1", n, "parse", "main"))
		}
		items = append(items, item(t, "web1", 30, "idle", "main"))
		store1(t, db, items...)
		removed, err := db.Trim(t.Context(), database.Retention{PerGroup: 5})
		if err != nil || removed != 15 {
			t.Errorf("got %d, %v", removed, err)
		}
		all := groups(t, db)
		if len(all) != 2 || all[0].Count != 20 || all[0].Kept != 5 || !all[0].First.Equal(testkit.At) || all[1].Kept != 1 {
			t.Errorf("got %+v", all)
		}
		kept, err := db.Index.Crashes(t.Context(), index.Filter{Group: all[0].Key}, index.Page{})
		if err != nil || len(kept) != 5 || kept[0].ID != items[19].Record.ID || kept[4].ID != items[0].Record.ID {
			t.Errorf("got %+v, %v", kept, err)
		}
		// What was removed is not new when it comes again.
		if n := store1(t, db, items[3]); n[0] != 0 {
			t.Errorf("got %v", n)
		}
		if _, err := db.Trim(t.Context(), database.Retention{Known: time.Hour}); err != nil {
			t.Error(err)
		}
		if n, err := db.Seen(t.Context()); n != 21 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}

// Crashes that lack symbols are found by the build, until they are named.
func TestReplace(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		db := open(t, name)
		it := item(t, "web1", 1, "parse", "main")
		it.Lacks = []string{"aa", "bb"}
		store1(t, db, it, item(t, "web1", 2, "parse", "main"))
		if builds, err := db.Lacking(t.Context(), "", 10); fmt.Sprint(builds) != "[aa bb]" || err != nil {
			t.Errorf("got %v, %v", builds, err)
		}
		again := item(t, "web1", 1, "other", "main")
		again.Lacks = []string{"bb"}
		if err := db.Replace(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		if ids, err := db.Lack(t.Context(), "aa", "~", 10); len(ids) != 0 || err != nil {
			t.Errorf("got %v, %v", ids, err)
		}
		if ids, err := db.Lack(t.Context(), "bb", "~", 10); fmt.Sprint(ids) != "["+it.Record.ID+"]" || err != nil {
			t.Errorf("got %v, %v", ids, err)
		}
		if all := groups(t, db); len(all) != 2 || all[0].Kept != 1 || all[1].Kept != 1 {
			t.Errorf("got %+v", all)
		}
		gone := item(t, "web1", 9, "x")
		if err := db.Replace(t.Context(), gone); !errors.Is(err, store.ErrNone) {
			t.Errorf("got %v", err)
		}
	})
}

// Workers that begin with a message are counted until one ends with it.
func TestBegun(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		db := open(t, name)
		begin := func(place string, want int) {
			t.Helper()
			if n, err := db.Begin(t.Context(), place); n != want || err != nil {
				t.Errorf("%s: got %d, %v, want %d", place, n, err, want)
			}
		}
		begin("1-1", 1)
		begin("1-1", 2)
		begin("1-2", 1)
		if err := db.End(t.Context(), "1-1"); err != nil {
			t.Error(err)
		}
		begin("1-1", 1)
		begin("1-2", 2)
		if _, err := db.Trim(t.Context(), database.Retention{Known: time.Hour}); err != nil {
			t.Error(err)
		}
		begin("1-2", 3)
		if err := db.Index.Change(t.Context(), func(c *index.Change) error {
			c.Exec("UPDATE begun SET time = time - 7200")
			return c.Err()
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Trim(t.Context(), database.Retention{Known: time.Hour}); err != nil {
			t.Error(err)
		}
		begin("1-2", 1)
	})
}

// A database of another version is refused, and an index of an older one is made again.
func TestVersions(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		db := open(t, name)
		store1(t, db, item(t, "web1", 1, "parse", "main"), item(t, "web2", 2, "idle", "main"))
		want := fmt.Sprint(groups(t, db))
		set := func(column string, version int) {
			t.Helper()
			if err := db.Index.Change(t.Context(), func(c *index.Change) error {
				c.Exec("UPDATE fleet SET "+column+" = ?", version)
				return c.Err()
			}); err != nil {
				t.Fatal(err)
			}
		}
		set("index_version", 1)
		if got := fmt.Sprint(groups(t, open(t, name))); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if err := db.Index.Change(t.Context(), func(c *index.Change) error {
			c.Exec("DROP TABLE begun")
			return c.Err()
		}); err != nil {
			t.Fatal(err)
		}
		set("version", 1)
		if n, err := open(t, name).Begin(t.Context(), "1-1"); n != 1 || err != nil {
			t.Errorf("got %d, %v of a database of version 1", n, err)
		}
		if n, err := open(t, name).Begin(t.Context(), "1-1"); n != 2 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		set("version", database.Version+1)
		if _, err := database.Open(t.Context(), name); !errors.Is(err, database.ErrNewer) {
			t.Errorf("got %v", err)
		}
	})
}

// The driver keeps passwords out of its errors, and so do ours.
func TestPassword(t *testing.T) {
	for _, url := range []string{"postgres://fleet:hunter2@127.0.0.1:1/fleet?connect_timeout=1", "postgres://fleet:hunter2@127.0.0.1:x/fleet"} {
		if _, err := database.Open(t.Context(), url); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
	}
}
