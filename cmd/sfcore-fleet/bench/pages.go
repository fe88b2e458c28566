package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/page"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

const (
	// together is how many crashes are stored in a transaction.
	together = 2000
	// asked is how often each page is asked for.
	asked = 40
)

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// record is that of the nth crash, a second after the one before: of 500 programs, with a new
// build of each every three hours.
func (b *bench) record(n int) *store.Record {
	at, kind := testkit.At.Add(time.Duration(n)*time.Second), n*7919%b.groups
	return &store.Record{
		Schema: store.Schema, ID: store.NewID(at, uint64(n)), Time: at, PID: n, Program: fmt.Sprint("/usr/bin/prog", kind%500), Host: fmt.Sprint("web", n%b.hosts),
		Build: hash(fmt.Sprint("build", kind%500, n/10000)), Signal: "SIGSEGV", Number: n/1000 + 1, Kept: store.KeepReport, Kind: hash(fmt.Sprint("address", kind)),
		Signature: &signature.Signature{
			Schema: signature.Schema, Address: hash(fmt.Sprint("address", kind)), Coarse: hash(fmt.Sprint("coarse", kind)),
			Alias: hash(fmt.Sprint("alias", kind)), Fault: "null-access", Title: fmt.Sprint("null-access in f", kind, " < main"),
		},
	}
}

// pages prints how long pages of a database with all crashes take.
func (b *bench) pages(ctx context.Context) error {
	name := b.database
	if name == "" {
		name = filepath.Join(b.dir, "crashes.db")
	}
	if b.from != "" {
		if err := b.copyFrom(ctx); err != nil {
			return err
		}
	}
	db, err := database.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	there, err := db.Seen(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	for n := there; n < b.crashes; n += together {
		items := make([]database.Item, min(together, b.crashes-n))
		for i := range items {
			items[i].Record = b.record(n + i)
		}
		if _, err := db.Store(ctx, items); err != nil {
			return err
		}
	}
	fmt.Printf("%d crashes were stored in %v\n", b.crashes-there, time.Since(begun).Round(time.Second))
	site, newest := page.New(db.Source()), b.record(b.crashes-1)
	fmt.Printf("%-40s %8s %8s %8s\n", "page", "p50 ms", "p95 ms", "CPU ms") // of this process
	for _, path := range []string{
		"/groups", "/groups.json", "/groups?page=100", "/groups?q=f17", "/groups?q=null", "/groups?host=web7", "/groups?program=prog4", "/groups?signal=SIGSEGV", "/groups?since=2026-11-05&until=2026-11-07", "/groups?build=" + newest.Build,
		"/crashes", "/crashes?host=web7", "/group/" + newest.Signature.Coarse, "/crash/" + newest.ID, "/build/" + newest.Build,
	} {
		var times []time.Duration
		before := own()
		for range asked {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
			r.Host = "localhost"
			w, begun := httptest.NewRecorder(), time.Now()
			if site.ServeHTTP(w, r); w.Code != http.StatusOK {
				return fmt.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
			times = append(times, time.Since(begun))
		}
		slices.Sort(times)
		fmt.Printf("%-40.40s %8.1f %8.1f %8.1f\n", path, ms(times[asked/2]), ms(times[asked*95/100]), ms(own()-before)/asked)
	}
	return nil
}

// own is the processor time of this process.
func own() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
