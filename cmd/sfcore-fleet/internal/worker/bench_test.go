package worker_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/worker"
)

// BenchmarkReports takes crashes from the queue to their groups, with an embedded server that
// syncs. Publishing is not timed.
func BenchmarkReports(b *testing.B) {
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		b.Run(name, func(b *testing.B) {
			_, _, q := testkit.Queue(b)
			url := filepath.Join(b.TempDir(), "fleet.db")
			if name == "PostgreSQL" {
				url = testkit.Postgres(b).URL(b)
			}
			db, err := database.Open(b.Context(), url)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			for n := range b.N {
				m := testkit.Message("web1", n, fmt.Sprint("f", n%100), "parse", "handle", "main")
				if err := q.Publish(b.Context(), m.Subject(), m.ID, testkit.Encode(b, m)); err != nil {
					b.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(b.Context())
			w := &worker.Worker{Queue: q, DB: db, Metrics: metrics.New(), Say: func(line string) { b.Log(line) }, Parallel: 2}
			b.ResetTimer()
			var wg sync.WaitGroup
			wg.Go(func() { _ = w.Run(ctx) })
			for n := 0; n < b.N; time.Sleep(5 * time.Millisecond) {
				if n, err = db.Seen(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			stop()
			wg.Wait()
		})
	}
}
