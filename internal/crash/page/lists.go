package page

import (
	"context"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
)

// groupRow is a group in a list.
type groupRow struct {
	index.Group
	Programs []index.Tally `json:"programs"`
	Builds   []index.Tally `json:"builds"`
	Days     []index.Day   `json:"days"`
	Chart    *chart        `json:"-"`
}

// groupsDoc is the list of groups.
type groupsDoc struct {
	Schema string       `json:"schema"`
	Stats  *index.Stats `json:"stats"`
	// Denied are crashes of other users, and Unreadable those with damaged records.
	Denied     int         `json:"denied"`
	Unreadable int         `json:"unreadable"`
	Asked      *asked      `json:"asked"`
	Days       []index.Day `json:"days"`
	Groups     []groupRow  `json:"groups"`
	Pages      pages       `json:"pages"`
	Chart      *chart      `json:"-"`
}

// someOf is how many builds and programs of a group a list has.
const someOf = 3

func (s *Site) groups(ctx context.Context, a *asked) (*groupsDoc, error) {
	stats, err := s.Index.Stats(ctx)
	if err != nil {
		return nil, err
	}
	d := &groupsDoc{Schema: Schema, Stats: stats, Asked: a}
	d.Denied, d.Unreadable = s.Index.Denied()
	if d.Days, err = s.Index.Days(ctx, a.filter); err != nil {
		return nil, err
	}
	last := lastOf(d.Days, stats.Last)
	d.Chart = chartOf(d.Days, last)
	groups, err := s.Index.Groups(ctx, a.filter, a.page())
	if err != nil {
		return nil, err
	}
	var shown int
	d.Pages, shown = pagesOf("/groups", a, len(groups))
	d.Groups, err = s.rows(ctx, groups[:shown], a.filter, last)
	return d, err
}

// lastOf is the last day with a crash.
func lastOf(days []index.Day, otherwise time.Time) time.Time {
	if len(days) > 0 {
		if t, err := time.Parse(time.DateOnly, days[len(days)-1].Date); err == nil {
			return t
		}
	}
	return otherwise
}

// rows adds to groups what lists show of them.
func (s *Site) rows(ctx context.Context, groups []index.Group, f index.Filter, last time.Time) ([]groupRow, error) {
	rows := []groupRow{}
	for i := range groups {
		row := groupRow{Group: groups[i]}
		f.Group = row.Key
		var err error
		if row.Days, err = s.Index.Days(ctx, f); err != nil {
			return nil, err
		}
		if row.Builds, err = s.Index.Count(ctx, index.ByBuild, f, index.Page{Limit: someOf + 1}); err != nil {
			return nil, err
		}
		if row.Programs, err = s.Index.Count(ctx, index.ByProgram, f, index.Page{Limit: someOf + 1}); err != nil {
			return nil, err
		}
		row.Chart = chartOf(row.Days, last)
		rows = append(rows, row)
	}
	return rows, nil
}

// crashesDoc is the list of crashes.
type crashesDoc struct {
	Schema  string        `json:"schema"`
	Asked   *asked        `json:"asked"`
	Crashes []index.Crash `json:"crashes"`
	Pages   pages         `json:"pages"`
}

func (s *Site) crashes(ctx context.Context, a *asked) (*crashesDoc, error) {
	all, err := s.Index.Crashes(ctx, a.filter, a.page())
	if err != nil {
		return nil, err
	}
	d := &crashesDoc{Schema: Schema, Asked: a, Crashes: []index.Crash{}}
	var shown int
	d.Pages, shown = pagesOf("/crashes", a, len(all))
	d.Crashes = append(d.Crashes, all[:shown]...)
	return d, nil
}

// buildDoc is what is known of a build: what is new in it, beside how many crashes of it
// and of other builds were seen, for what is rare may only not have been seen before.
type buildDoc struct {
	Schema   string        `json:"schema"`
	Build    string        `json:"build"`
	Programs []index.Tally `json:"programs"`
	Count    int           `json:"count"`  // of the crashes of the build
	Others   int           `json:"others"` // of those of other builds of its programs
	New      []groupRow    `json:"new"`    // groups that no other build of its programs has
	Groups   []groupRow    `json:"groups"` // all of the build
	More     bool          `json:"more,omitempty"`
	Days     []index.Day   `json:"days"`
	Chart    *chart        `json:"-"`
}

func (s *Site) build(ctx context.Context, build string) (*buildDoc, error) {
	d := &buildDoc{Schema: Schema, Build: build}
	f := index.Filter{Build: build}
	var err error
	if d.Programs, err = s.Index.Count(ctx, index.ByProgram, f, index.Page{Limit: perPage}); err != nil {
		return nil, err
	}
	if len(d.Programs) == 0 {
		return nil, index.ErrNoGroup
	}
	for _, p := range d.Programs {
		d.Count += p.Count
		builds, err := s.Index.Count(ctx, index.ByBuild, index.Filter{Program: p.Name}, index.Page{Limit: 1000})
		if err != nil {
			return nil, err
		}
		for _, b := range builds {
			if b.Name != build && b.Name != "" {
				d.Others += b.Count
			}
		}
	}
	if d.Days, err = s.Index.Days(ctx, f); err != nil {
		return nil, err
	}
	last := lastOf(d.Days, time.Time{})
	d.Chart = chartOf(d.Days, last)
	list := index.Page{Limit: perPage + 1}
	fresh, err := s.Index.NewIn(ctx, build, list)
	if err != nil {
		return nil, err
	}
	groups, err := s.Index.Groups(ctx, f, list)
	if err != nil {
		return nil, err
	}
	d.More = len(fresh) > perPage || len(groups) > perPage
	if d.New, err = s.rows(ctx, fresh[:min(perPage, len(fresh))], f, last); err != nil {
		return nil, err
	}
	d.Groups, err = s.rows(ctx, groups[:min(perPage, len(groups))], f, last)
	return d, err
}
