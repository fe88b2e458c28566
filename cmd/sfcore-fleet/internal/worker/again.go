package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
)

const (
	// againEvery is how often crashes without symbols are looked at again, and againMost how
	// many builds and crashes of each then.
	againEvery = 5 * time.Minute
	againMost  = 50
)

// RunAgain names crashes again whose symbols came later, from time to time until ctx ends.
func (w *Worker) RunAgain(ctx context.Context) {
	t := time.NewTicker(againEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if _, err := w.Again(ctx); err != nil {
				w.say(ctx, fmt.Sprintf("crashes were not named again: %v", err))
			}
		}
	}
}

// Again names crashes again that lack the symbols of a build. Where the newest of a build does
// not get other names, the others are left alone. It returns how many got other names.
func (w *Worker) Again(ctx context.Context) (changed int, err error) {
	builds, err := w.DB.Lacking(ctx, againMost)
	if err != nil || w.Symbols == nil {
		return 0, err
	}
	for _, build := range builds {
		ids, err := w.DB.Lack(ctx, build, againMost)
		if err != nil {
			return changed, err
		}
		for _, id := range ids {
			did, err := w.again(ctx, id, build)
			if err != nil && !errors.Is(err, errGone) {
				return changed, fmt.Errorf("%s: %w", id, err)
			}
			if !did {
				break
			}
			changed++
		}
	}
	return changed, nil
}

func (w *Worker) again(ctx context.Context, id, build string) (changed bool, err error) {
	text, err := w.DB.RawReport(ctx, id)
	if err != nil {
		return false, gone(err)
	}
	n, err := w.Symbols.Name(ctx, text, []string{build})
	if err != nil || n.Report == nil {
		return false, err
	}
	r, err := w.DB.Get(ctx, id, 1<<20)
	if err != nil {
		return false, gone(err)
	}
	if n.Signature != nil {
		r.Signature = n.Signature
	}
	return true, gone(w.DB.Replace(ctx, database.Item{Record: r, Report: n.Report, Lacks: n.Lacks}))
}

func gone(err error) error {
	if errors.Is(err, store.ErrNone) {
		return errGone
	}
	return err
}
