package database_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/page"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

var benchCrashes = flag.Int("crashes", 20000, "have so many crashes in the database of BenchmarkPages, in a hundredth of groups")

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// one is the nth of so many crashes: of 1,000 hosts and 500 programs, in a hundredth of groups,
// a second after the one before.
func one(n, all int) database.Item {
	at, kind := testkit.At.Add(time.Duration(n)*time.Second), n*7919%(all/100)
	r := &store.Record{
		Schema: store.Schema, ID: store.NewID(at, uint64(n)), Time: at, PID: n, Program: fmt.Sprint("/usr/bin/prog", kind%500), Host: fmt.Sprint("web", n%1000),
		Build: hash(fmt.Sprint("build", kind%500, n/10000)), Signal: "SIGSEGV", Number: n/1000 + 1, Kept: store.KeepReport, Kind: hash(fmt.Sprint("address", kind)),
		Signature: &signature.Signature{
			Schema: signature.Schema, Address: hash(fmt.Sprint("address", kind)), Coarse: hash(fmt.Sprint("coarse", kind)),
			Alias: hash(fmt.Sprint("alias", kind)), Fault: "null-access", Title: fmt.Sprint("null-access in f", kind, " < main"),
		},
	}
	return database.Item{Record: r}
}

// BenchmarkPages asks for pages of a database with many crashes:
// go test -run '^$' -bench Pages -crashes 1000000 -timeout 2h ./internal/database.
func BenchmarkPages(b *testing.B) {
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		b.Run(name, func(b *testing.B) {
			url := filepath.Join(b.TempDir(), "fleet.db")
			if name == "PostgreSQL" {
				url = testkit.Postgres(b).URL(b)
			}
			db, err := database.Open(b.Context(), url)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = db.Close() })
			begun, all := time.Now(), *benchCrashes
			const together = 2000
			for n := 0; n < all; n += together {
				items := make([]database.Item, min(together, all-n))
				for i := range items {
					items[i] = one(n+i, all)
				}
				if _, err := db.Store(b.Context(), items); err != nil {
					b.Fatal(err)
				}
			}
			b.Logf("%d crashes were stored in %v", all, time.Since(begun).Round(time.Second))
			site, newest := page.New(db.Source()), one(all-1, all).Record
			for _, path := range []string{
				"/groups", "/groups?q=f17", "/groups?host=web7", "/groups?program=prog4", "/crashes", "/crashes?host=web7",
				"/group/" + newest.Signature.Coarse, "/crash/" + newest.ID, "/build/" + newest.Build,
			} {
				b.Run(path[:min(len(path), 22)], func(b *testing.B) {
					for b.Loop() {
						r := httptest.NewRequest(http.MethodGet, path, nil)
						r.Host = "localhost"
						w := httptest.NewRecorder()
						if site.ServeHTTP(w, r); w.Code != http.StatusOK {
							b.Fatal(path, w.Code, w.Body)
						}
					}
				})
			}
		})
	}
}
