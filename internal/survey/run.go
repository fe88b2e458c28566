package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sfcore/sfcore/internal/artifact"
	"github.com/sfcore/sfcore/internal/gate"
)

// Run measures sources, several at once.
type Run struct {
	// Each calls a function for every ELF file in a source, as [artifact.Each] does.
	Each func(*artifact.Source, func(artifact.File) error) error
	// Owner returns the name of the package that a source comes from.
	Owner func(*artifact.Source) string
	// Journal remembers what is done; it may be nil.
	Journal *Journal
	// Workers is how many sources are measured at once.
	Workers int
	// Progress, if not nil, is called with how many sources are done.
	Progress func(done int, last string)
}

// Measure measures the sources, until the context ends. What was done until then is in
// the journal.
func (r *Run) Measure(ctx context.Context, sources []artifact.Source) (*Survey, error) {
	var (
		mu      sync.Mutex
		wg      sync.WaitGroup
		parts   []finished
		skipped int
		unread  []string
		failed  error
		done    int
		next    = make(chan int)
	)
	add := func(source int, e *Entry, err error) {
		mu.Lock()
		defer mu.Unlock()
		if len(e.Rows) > 0 {
			parts = append(parts, finished{source, e.Rows})
		}
		skipped, unread = skipped+e.Skipped, append(unread, e.Unread...)
		if done++; r.Progress != nil {
			r.Progress(done, e.Path)
		}
		if err != nil && failed == nil {
			failed = err
		}
	}
	for range max(r.Workers, 1) {
		wg.Go(func() {
			for i := range next {
				s := &sources[i]
				e, known := r.Journal.Done(s)
				var err error
				if !known {
					if e = r.source(ctx, s); ctx.Err() == nil {
						err = r.Journal.Note(&e)
					}
				}
				add(i, &e, err)
			}
		})
	}
	for i := range sources {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return New(inOrder(parts), skipped, unread), failed
}

// finished are the rows of a source.
type finished struct {
	source int
	rows   []Row
}

// inOrder returns the rows in the order of their sources, however long each took.
func inOrder(parts []finished) []Row {
	slices.SortFunc(parts, func(a, b finished) int { return cmp.Compare(a.source, b.source) })
	var rows []Row
	for _, p := range parts {
		rows = append(rows, p.rows...)
	}
	return rows
}

// maxUnread bounds the files of a source that are said not to be readable. An archive of
// 100 MB may have a million.
const maxUnread = 100

// source measures one source.
func (r *Run) source(ctx context.Context, s *artifact.Source) Entry {
	e := Entry{Path: s.Path, Size: s.Size, Modified: s.Modified}
	more := 0
	err := r.Each(s, func(f artifact.File) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		examined, err := gate.Examine(f.Path, f.Name, f.Data)
		switch {
		case errors.Is(err, gate.ErrForeign):
			e.Skipped++
		case err != nil && len(e.Unread) == maxUnread:
			more++
		case err != nil:
			e.Unread = append(e.Unread, err.Error())
		default:
			e.Rows = append(e.Rows, Measure(r.Owner(s), examined, len(f.Data)))
		}
		return nil
	})
	if more > 0 {
		e.Unread = append(e.Unread, fmt.Sprintf("%s: %d more files", s.Path, more))
	}
	if errors.Is(err, artifact.ErrNone) {
		e.Skipped++
	} else if err != nil {
		e.Unread = append(e.Unread, s.Path+": "+err.Error())
	}
	return e
}
