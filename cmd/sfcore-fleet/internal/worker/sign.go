package worker

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// maxLacks bounds the builds without symbols of one crash.
const maxLacks = 100

// sign names the stacks of a crash if symbols are to be had, and signs the names. A report
// whose stacks cannot be named is stored as it came.
func (w *Worker) sign(ctx context.Context, m *message.Message, doc *report.Document, item *database.Item) {
	item.Lacks = unnamed(doc)
	if w.Symbols != nil && len(item.Lacks) > 0 {
		begun := time.Now()
		named, err := w.Symbols.Name(ctx, m.Report, item.Lacks)
		w.Metrics.Naming.Observe(time.Since(begun).Seconds())
		switch {
		case err != nil:
			w.Metrics.NamingFailed.Inc()
			item.Record.Problems = append(item.Record.Problems, message.Short(err.Error(), maxProblem))
		case named.Report != nil:
			item.Report, item.Lacks = named.Report, named.Lacks
			if named.Signature != nil {
				item.Record.Signature = named.Signature
				return
			}
		}
	}
	if s, err := signature.Of(doc, signature.Default()); err == nil {
		s.Frames = nil
		item.Record.Signature = s
	}
}

// maxProblem bounds what is said of a report that could not be named, in bytes.
const maxProblem = 500

// unnamed returns the build-ids of modules in the stacks of threads that crashed of which
// frames have no names.
func unnamed(doc *report.Document) (builds []string) {
	seen := map[string]bool{}
	for i := range doc.Threads {
		th := &doc.Threads[i]
		if !th.Crashed {
			continue
		}
		for j := range th.Frames {
			f := &th.Frames[j]
			if f.Function == "" && !seen[f.Module] && isBuildID(f.Module) && len(builds) < maxLacks {
				seen[f.Module] = true
				builds = append(builds, f.Module)
			}
		}
	}
	return builds
}

// isBuildID reports whether a text is a build-id.
func isBuildID(s string) bool {
	id, err := hex.DecodeString(s)
	return err == nil && len(id) >= 2 && len(id) <= 64
}
