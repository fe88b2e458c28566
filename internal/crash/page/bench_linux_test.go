package page

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"
)

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// one is a crash of 2,000 kinds in 1,000 groups, by 50 programs, a minute after the one
// before.
func one(n int) *store.Record {
	at, kind := time.Date(2026, 8, 1, 0, n, 0, 0, time.UTC), n*n%2000
	return &store.Record{
		Schema: store.Schema, ID: store.NewID(at, uint64(n)), Time: at, PID: n, Program: fmt.Sprint("/usr/bin/prog", kind%50),
		Build: hash(fmt.Sprint("build", kind%50, n/10000)), Signal: "SIGSEGV", Number: n/2000 + 1, Kept: store.KeepReport, Kind: hash(fmt.Sprint("address", kind)),
		Signature: &signature.Signature{
			Schema: signature.Schema, Address: hash(fmt.Sprint("address", kind)), Coarse: hash(fmt.Sprint("coarse", kind/2)),
			Alias: hash(fmt.Sprint("alias", kind/2)), Fault: "null-access", Title: fmt.Sprint("null-access in f", kind/2, " < main"),
		},
	}
}

// BenchmarkPages asks for pages of a store of 100,000 crashes, of which the newest have
// reports.
func BenchmarkPages(b *testing.B) {
	const crashes = 100000
	dir := filepath.Join(b.TempDir(), "store")
	s, err := store.Open(dir, store.Limits{Crashes: 1 << 20, Bytes: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	put := func(n int) *store.Record {
		r := one(n)
		if err := s.Put(r); err != nil {
			b.Fatal(err)
		}
		if n > crashes-1000 {
			writeReport(b, filepath.Join(dir, r.ID+".jsonl.zst"), []string{fmt.Sprint("f", n), "handle", "main"})
		}
		return r
	}
	var newest *store.Record
	for n := range crashes {
		newest = put(n)
	}
	begun := time.Now()
	ix, err := index.Open(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = ix.Close() })
	site := New(Files(s, ix))
	ask := func(b *testing.B, path string) {
		b.Helper()
		if got := get(site, path, nil); got.Code != http.StatusOK {
			b.Fatal(path, got.Code, got.Body)
		}
	}
	ask(b, "/groups")
	b.Logf("the first page, with the index: %v", time.Since(begun).Round(time.Millisecond))
	time.Sleep(time.Second) // from when on the time of the directory tells that nothing has changed
	for _, path := range []string{
		"/groups", "/groups?q=f17", "/groups?program=prog4", "/crashes", "/crashes?q=f17",
		"/group/" + newest.Signature.Coarse, "/crash/" + newest.ID, "/build/" + newest.Build,
	} {
		b.Run(path[:min(len(path), 20)], func(b *testing.B) {
			for b.Loop() {
				ask(b, path)
			}
		})
	}
	n := crashes
	b.Run("/groups after a crash", func(b *testing.B) {
		for b.Loop() {
			put(n)
			n++
			ask(b, "/groups")
		}
	})
}
