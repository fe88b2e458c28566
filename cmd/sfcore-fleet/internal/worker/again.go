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
	// many builds then: the next ones the next time.
	againEvery = 5 * time.Minute
	againMost  = 50
	// againTime bounds what one build takes: others come, too. What is left is done the next
	// time that it is its turn.
	againTime = 2 * time.Minute
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

// Again names crashes again that lack the symbols of a build, of the builds whose turn it is.
// Where the newest of a build does not get other names, the others are left alone. It returns
// how many got other names.
func (w *Worker) Again(ctx context.Context) (changed int, err error) {
	if w.Symbols == nil {
		return 0, nil
	}
	builds, err := w.DB.Lacking(ctx, w.lastBuild, againMost)
	if err != nil {
		return 0, err
	}
	w.lastBuild = ""
	if len(builds) == againMost {
		w.lastBuild = builds[againMost-1]
	}
	var errs []error
	for _, build := range builds {
		n, err := w.againBuild(ctx, build)
		changed += n
		errs = append(errs, err)
	}
	return changed, errors.Join(errs...)
}

func (w *Worker) againBuild(ctx context.Context, build string) (changed int, err error) {
	deadline := time.Now().Add(againTime)
	for before := behindAll; ; {
		ids, err := w.DB.Lack(ctx, build, before, againMost)
		if err != nil || len(ids) == 0 {
			return changed, err
		}
		for _, id := range ids {
			did, err := w.again(ctx, id, build)
			if err != nil && !errors.Is(err, errGone) {
				return changed, fmt.Errorf("%s: %w", id, err)
			}
			if !did && err == nil || time.Now().After(deadline) {
				return changed, nil
			}
			if did {
				changed++
			}
			before = id
		}
	}
}

// behindAll is behind all ids: they have digits, dashes and dots.
const behindAll = "~"

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

// errGone is for a crash that was removed meanwhile.
var errGone = errors.New("it was removed meanwhile")
