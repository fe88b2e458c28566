package page

import (
	"context"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/picture"
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

// merge draws crashes, and shows the first of which stacks are kept.
func (s *Site) merge(ctx context.Context, d *groupDoc, crashes []index.Crash) error {
	drawn := picture.New(picture.Threads, false)
	d.Icicle.Boxes = []picture.Box{}
	for i := range crashes {
		doc, err := s.read(ctx, crashes[i].ID)
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil || doc == nil {
			continue // the page of the crash says why
		}
		if d.Example == nil {
			if d.Example, err = s.crashOf(ctx, crashes[i].ID, doc); err != nil {
				d.Example = nil // it was removed meanwhile
			}
		}
		for j := range doc.Threads {
			th := &doc.Threads[j]
			if !th.Crashed {
				continue
			}
			if err := drawn.Add(&picture.Thread{ID: int64(th.TID), Frames: th.Frames[:min(len(th.Frames), maxLevels+1)], Stop: th.Stop, Crashed: true}); err != nil {
				return err
			}
			d.Icicle.Stacks++
			break
		}
	}
	d.Icicle.Boxes = append(d.Icicle.Boxes, drawn.Icicle(maxLevels)...)
	for i := range d.Icicle.Boxes {
		b := &d.Icicle.Boxes[i]
		b.Name, b.Place, b.Module = short(b.Name), short(b.Place), short(b.Module)
	}
	return nil
}
