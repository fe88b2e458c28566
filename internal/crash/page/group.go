package page

import (
	"context"
	"slices"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/picture"
	"github.com/sfcore/sfcore/report"
)

// groupDoc is a group.
type groupDoc struct {
	Schema string `json:"schema"`
	index.Group
	Days []index.Day `json:"days"`
	// What the crashes have in common and what not; of each the most frequent.
	Programs []index.Tally `json:"programs"`
	Builds   []index.Tally `json:"builds"`
	Hosts    []index.Tally `json:"hosts"`
	Places   []index.Tally `json:"places"`
	// FirstBuild is the build in which the group was seen first, of those that are kept.
	FirstBuild string `json:"firstBuild,omitempty"`
	Icicle     icicle `json:"icicle"`
	// Example is the newest crash of which stacks are kept.
	Example *crashDoc     `json:"example,omitempty"`
	Crashes []index.Crash `json:"crashes"` // the newest
	More    bool          `json:"more,omitempty"`
	Chart   *chart        `json:"-"`
}

// icicle is the merged stacks of the threads that crashed.
type icicle struct {
	Stacks int           `json:"stacks"` // how many there are in the picture
	Boxes  []picture.Box `json:"boxes"`
}

const (
	// maxMerged is how many crashes of a group are drawn, the newest, and maxLevels how
	// many frames of each.
	maxMerged = 40
	maxLevels = 40
	// maxRead is how many bytes of reports are read for a group, besides the last report:
	// four times what 1,000 threads with 50 frames have.
	maxRead = 64 << 20
)

func (s *Site) group(ctx context.Context, key string) (*groupDoc, error) {
	g, err := s.Index.Group(ctx, key)
	if err != nil {
		return nil, err
	}
	d, f := &groupDoc{Schema: Schema, Group: *g}, index.Filter{Group: g.Key}
	if d.Days, err = s.Index.Days(ctx, f); err != nil {
		return nil, err
	}
	d.Chart = chartOf(d.Days, lastOf(d.Days, g.Last))
	for by, to := range map[index.By]*[]index.Tally{
		index.ByProgram: &d.Programs, index.ByBuild: &d.Builds, index.ByHost: &d.Hosts, index.ByPlace: &d.Places,
	} {
		if *to, err = s.Index.Count(ctx, by, f, index.Page{Limit: perPage}); err != nil {
			return nil, err
		}
	}
	oldest, err := s.Index.Crashes(ctx, f, index.Page{Limit: 1, Oldest: true})
	if err != nil {
		return nil, err
	}
	if len(oldest) > 0 {
		d.FirstBuild = oldest[0].Build
	}
	newest, err := s.Index.Crashes(ctx, f, index.Page{Limit: maxMerged})
	if err != nil {
		return nil, err
	}
	d.Crashes, d.More = newest[:min(perPage, len(newest))], len(newest) > perPage
	return d, s.merge(ctx, d, newest)
}

// add reads the report of a crash, and takes it off left. It draws the stack that crashed.
func (s *Site) add(ctx context.Context, d *groupDoc, drawn *picture.Collection, id string, left *int64) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.leave()
	budget := document.NewBudget().Part(maxShare)
	before := budget.Left()
	doc, err := s.Report(ctx, id, budget)
	*left -= before - budget.Left()
	if ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil || doc == nil {
		return nil // the page of the crash says why
	}
	if d.Example == nil {
		if d.Example, err = s.crashOf(ctx, id, doc); err != nil {
			d.Example = nil // it was removed meanwhile
		}
	}
	i := slices.IndexFunc(doc.Threads, func(th report.Thread) bool { return th.Crashed })
	if i < 0 {
		return nil
	}
	th := &doc.Threads[i]
	d.Icicle.Stacks++
	return drawn.Add(&picture.Thread{ID: int64(th.TID), Frames: th.Frames[:min(len(th.Frames), maxLevels+1)], Stop: th.Stop, Crashed: true})
}

// merge draws crashes, and shows the first of which stacks are kept.
func (s *Site) merge(ctx context.Context, d *groupDoc, crashes []index.Crash) error {
	drawn := picture.New(picture.Threads, false)
	d.Icicle.Boxes = []picture.Box{}
	left := int64(maxRead)
	for i := range crashes {
		if left <= 0 {
			break // the picture says how many stacks it has
		}
		if err := s.add(ctx, d, drawn, crashes[i].ID, &left); err != nil {
			return err
		}
	}
	d.Icicle.Boxes = append(d.Icicle.Boxes, drawn.Icicle(maxLevels)...)
	for i := range d.Icicle.Boxes {
		b := &d.Icicle.Boxes[i]
		b.Name, b.Place, b.Module = short(b.Name), short(b.Place), short(b.Module)
	}
	return nil
}
