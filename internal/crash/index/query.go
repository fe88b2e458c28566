package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Group is what is known of the crashes of a group.
type Group struct {
	// Key names the group, also when the index is made again: the hash on the first of
	// the levels coarse, alias, fine and address that its crashes have.
	Key   string `json:"key"`
	Title string `json:"title"`
	Fault string `json:"fault,omitempty"`
	// Count is how many there were, and Kept how many of these are kept. With a filter
	// Count is how many that are kept fit.
	Count int       `json:"count"`
	Kept  int       `json:"kept"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Oldest and Newest are the ids of the oldest and the newest that are kept.
	Oldest string `json:"oldest"`
	Newest string `json:"newest"`
	// Program is the path of the program of the newest.
	Program string `json:"program"`
}

// Crash is a crash in a list.
type Crash struct {
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Group   string    `json:"group"`
	Title   string    `json:"title"`
	Program string    `json:"program"`
	PID     int       `json:"pid"`
	UID     int       `json:"uid"`
	Signal  string    `json:"signal"`
	Build   string    `json:"build,omitempty"`
	Host    string    `json:"host,omitempty"`
	Place   string    `json:"place,omitempty"` // the pod, the container or the unit
	Number  int       `json:"number"`
	Kept    string    `json:"kept"`
	Bytes   int64     `json:"bytes"` // of its files
}

// Tally is how many crashes have something in common, as a build.
type Tally struct {
	Name  string    `json:"name"`
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Day is how many crashes there were on a day.
type Day struct {
	Date  string `json:"date"` // in UTC, as 2006-01-02
	Count int    `json:"count"`
}

// ErrNoGroup is for a key that no group has.
var ErrNoGroup = errors.New("no such group of crashes")

// programOf is the program of the newest crash of a group.
const programOf = "coalesce((SELECT path FROM crashes JOIN programs ON programs.id = program WHERE crashes.id = newest), '')"

// groupColumns are what of a group is scanned.
const groupColumns = "g.key, g.title, g.fault, g.count, g.kept, g.first, g.last, g.oldest, g.newest"

// shortKey is how long the beginning of a key must be to name a group.
const shortKey = 4

// Groups returns the groups of the crashes that fit, the most frequent first.
func (ix *Index) Groups(ctx context.Context, f Filter, p Page) ([]Group, error) {
	limit, offset := p.bounds()
	order := " ORDER BY count " + p.order() + ", last " + p.order()
	if f == (Filter{Group: f.Group}) {
		return ix.groups(ctx, "SELECT "+groupColumns+", "+programOf+" FROM groups g WHERE ?1 IN ('', key)"+order+" LIMIT ? OFFSET ?", f.Group, limit, offset)
	}
	of, where, args := f.from(false, true)
	// The program is looked up for those that are returned.
	return ix.groups(ctx, "SELECT found.*, "+programOf+` FROM (SELECT g.key, g.title, g.fault, c.count, g.kept, c.first, c.last, c.oldest, c.newest FROM
		(SELECT s.grp AS grp, `+of.count+" AS count, min("+of.first+") AS first, max("+of.last+") AS last, min("+of.oldest+") AS oldest, max("+of.newest+") AS newest"+
		of.table+" JOIN signatures s ON s.id = c.sig"+where+` GROUP BY s.grp) AS c
		JOIN groups g ON g.key = c.grp ORDER BY c.count `+p.order()+", c.last "+p.order()+" LIMIT ? OFFSET ?) AS found"+order, append(args, limit, offset)...)
}

// Group returns a group, or [ErrNoGroup]. The beginning of a key is enough if no other
// begins like that.
func (ix *Index) Group(ctx context.Context, key string) (*Group, error) {
	key = cut(key)
	behind := key // the first that does not begin like that
	if len(key) >= shortKey {
		behind += "\x7f"
	}
	all, err := ix.groups(ctx, "SELECT "+groupColumns+", "+programOf+" FROM groups g WHERE key = ?1 OR key >= ?1 AND key < ?2 ORDER BY key <> ?1 LIMIT 2", key, behind)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, fmt.Errorf("%q: %w", key, ErrNoGroup)
	case len(all) > 1 && all[0].Key != key:
		return nil, fmt.Errorf("%q: several groups begin like that: %w", key, ErrNoGroup)
	}
	return &all[0], nil
}

// NewIn returns the groups that have crashes of a build, and none of another build of
// the same programs.
func (ix *Index) NewIn(ctx context.Context, build string, p Page) ([]Group, error) {
	limit, offset := p.bounds()
	return ix.groups(ctx, "SELECT "+groupColumns+", "+programOf+` FROM groups g WHERE g.key IN (SELECT s.grp FROM crashes c JOIN signatures s ON s.id = c.sig WHERE c.build = ?1)
		AND NOT EXISTS (SELECT 1 FROM crashes c JOIN signatures s ON s.id = c.sig WHERE s.grp = g.key AND c.build NOT IN (?1, '') AND c.program IN (SELECT program FROM crashes WHERE build = ?1))
		ORDER BY count `+p.order()+`, last `+p.order()+` LIMIT ?2 OFFSET ?3`, build, limit, offset)
}

func (ix *Index) groups(ctx context.Context, query string, args ...any) ([]Group, error) {
	return list(ctx, ix, func(rows *sql.Rows, g *Group) error {
		var first, last int64
		err := rows.Scan(&g.Key, &g.Title, &g.Fault, &g.Count, &g.Kept, &first, &last, &g.Oldest, &g.Newest, &g.Program)
		g.First, g.Last = moment(first), moment(last)
		return err
	}, query, args...)
}

// Crashes returns the crashes that fit, the newest first.
func (ix *Index) Crashes(ctx context.Context, f Filter, p Page) ([]Crash, error) {
	limit, offset := p.bounds()
	of, where, args := f.from(false, false)
	query := "SELECT c.id, c.time, s.grp, s.title, p.path, c.pid, c.uid, c.signal, c.build, c.host, c.place, c.number, c.kept, c.bytes" +
		of.table + " JOIN signatures s ON s.id = c.sig JOIN programs p ON p.id = c.program" + where + " ORDER BY c.id " + p.order() + " LIMIT ? OFFSET ?"
	return list(ctx, ix, func(rows *sql.Rows, c *Crash) error {
		var at int64
		err := rows.Scan(&c.ID, &at, &c.Group, &c.Title, &c.Program, &c.PID, &c.UID, &c.Signal, &c.Build, &c.Host, &c.Place, &c.Number, &c.Kept, &c.Bytes)
		c.Time = moment(at)
		return err
	}, query, append(args, limit, offset)...)
}

// By is what crashes may be counted by.
type By string

// What they may be counted by.
const (
	ByBuild   By = "build"
	ByHost    By = "host"
	ByProgram By = "program"
	BySignal  By = "signal"
	ByUser    By = "uid"
	ByPlace   By = "place"
)

var columns = map[By]string{ByBuild: "c.build", ByHost: "c.host", ByProgram: "c.program", BySignal: "c.signal", ByUser: "c.uid", ByPlace: "c.place"}

// Count counts the crashes that fit by something, the most frequent first.
func (ix *Index) Count(ctx context.Context, by By, f Filter, p Page) ([]Tally, error) {
	column, ok := columns[by]
	if !ok {
		return nil, fmt.Errorf("crashes are not counted by %q", by)
	}
	limit, offset := p.bounds()
	of, where, args := f.from(false, by != ByBuild && by != ByHost)
	query := "SELECT " + column + " AS name, " + of.count + " AS n, min(" + of.first + ") AS first, max(" + of.last + ") AS last" + of.table + where + " GROUP BY 1"
	if by == ByProgram {
		query = "SELECT p.path AS name, n, first, last FROM (" + query + ") AS c JOIN programs p ON p.id = c.name"
	}
	return list(ctx, ix, func(rows *sql.Rows, t *Tally) error {
		var first, last int64
		err := rows.Scan(&t.Name, &t.Count, &first, &last)
		t.First, t.Last = moment(first), moment(last)
		return err
	}, query+" ORDER BY n "+p.order()+", name LIMIT ? OFFSET ?", append(args, limit, offset)...)
}

// Days returns how many of the crashes that fit there were on each day on which there
// were any, the oldest first. It returns the last 1000 of these days.
func (ix *Index) Days(ctx context.Context, f Filter) ([]Day, error) {
	query, args := "SELECT day, n FROM days ORDER BY day DESC LIMIT ?", []any(nil)
	if f != (Filter{}) {
		var of counted
		var where string
		of, where, args = f.from(true, true)
		query = "SELECT c.day AS day, " + of.count + of.table + where + " GROUP BY c.day ORDER BY c.day DESC LIMIT ?"
	}
	return list(ctx, ix, func(rows *sql.Rows, d *Day) error {
		var day int64
		err := rows.Scan(&day, &d.Count)
		d.Date = time.Unix(day*daySeconds, 0).UTC().Format(time.DateOnly)
		return err
	}, "SELECT * FROM ("+query+") AS days ORDER BY day", append(args, maxLimit)...)
}

// Stats is what a store has.
type Stats struct {
	Groups int       `json:"groups"`
	Count  int       `json:"count"` // of all crashes, also of those that are not kept
	Kept   int       `json:"kept"`
	Bytes  int64     `json:"bytes"` // of the files of those that are kept
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

// Stats counts all that is kept.
func (ix *Index) Stats(ctx context.Context) (*Stats, error) {
	s := new(Stats)
	var first, last int64
	err := ix.db.QueryRowContext(ctx, ix.dialect.Text(`SELECT count(*), coalesce(sum(count), 0), coalesce(sum(kept), 0), coalesce(min(first), 0), coalesce(max(last), 0),
		coalesce(sum(bytes), 0) FROM groups`)).Scan(&s.Groups, &s.Count, &s.Kept, &first, &last, &s.Bytes)
	s.First, s.Last = moment(first), moment(last)
	return s, err
}

func moment(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// list reads rows.
func list[T any](ctx context.Context, ix *Index, scan func(*sql.Rows, *T) error, query string, args ...any) (all []T, err error) {
	rows, err := ix.db.QueryContext(ctx, ix.dialect.Text(query), args...)
	if err != nil {
		return nil, fmt.Errorf("the index of crashes: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, fmt.Errorf("the index of crashes: %w", err)
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
