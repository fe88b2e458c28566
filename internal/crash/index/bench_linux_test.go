package index

import (
	"fmt"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"
)

// many are crashes of 2000 kinds in 1000 groups, by 50 programs: half of the kinds have
// no names.
func many(n int) *store.Record {
	at := begun.Add(time.Duration(n) * time.Minute)
	kind := n * n % 2000
	sig := &signature.Signature{Schema: signature.Schema, Address: hash(fmt.Sprint("address", kind)), Alias: hash(fmt.Sprint("alias", kind/2)), Fault: "null-access", Title: fmt.Sprint("null-access in f", kind/2, " < main")}
	if kind%2 == 0 {
		sig.Coarse = hash(fmt.Sprint("coarse", kind/2))
	}
	return &store.Record{
		Schema: store.Schema, ID: store.NewID(at, uint64(n)), Time: at, PID: n, UID: n % 5, Program: fmt.Sprint("/usr/bin/prog", kind%50),
		Build: hash(fmt.Sprint(n / 10000)), Signal: "SIGSEGV", Kind: sig.Address, Number: n/2000 + 1, Signature: sig, Kept: store.KeepReport,
	}
}

// filled returns an index of so many crashes, which has no files.
func filled(b *testing.B, crashes int) *Index {
	b.Helper()
	s, err := store.Open(b.TempDir(), store.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	ix := mustOpen(b, s)
	err = ix.change(b.Context(), func(w *writer) {
		for n := range crashes {
			w.add(many(n), 4096)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	return ix
}

func BenchmarkQueries(b *testing.B) {
	ix := filled(b, 100000)
	user := 3
	groups := func(f Filter) func() error {
		return func() error {
			got, err := ix.Groups(b.Context(), f, Page{Limit: 20})
			if err == nil && len(got) == 0 {
				return ErrNoGroup
			}
			return err
		}
	}
	for _, bb := range []struct {
		name string
		ask  func() error
	}{
		{"top", groups(Filter{})},
		{"top of a program", groups(Filter{Program: "prog4"})},
		{"top of a user", groups(Filter{User: &user})},
		{"top with text", groups(Filter{Text: "f17"})},
		{"list", func() error { _, err := ix.Crashes(b.Context(), Filter{}, Page{}); return err }},
		{"list a group", func() error { _, err := ix.Crashes(b.Context(), Filter{Group: hash("coarse8")}, Page{}); return err }},
		{"days of a group", func() error { _, err := ix.Days(b.Context(), Filter{Group: hash("coarse8")}); return err }},
		{"new in a build", func() error { _, err := ix.NewIn(b.Context(), hash("3"), Page{}); return err }},
		{"stats", func() error { _, err := ix.Stats(b.Context()); return err }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				if err := bb.ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Each crash is a transaction.
func BenchmarkAdd(b *testing.B) {
	ix := filled(b, 100000)
	n := 100000
	for b.Loop() {
		if err := ix.Add(b.Context(), many(n), 4096); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "inserts/s")
}

// All crashes go at once.
func BenchmarkRemove(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		ix := filled(b, 10000)
		b.StartTimer()
		if err := ix.Sync(b.Context()); err != nil { // the store has none
			b.Fatal(err)
		}
	}
}
