package index

import (
	"strings"
	"time"
)

// Filter chooses crashes. A field that has no value chooses all.
type Filter struct {
	Group   string // the key of a group
	Program string // the path of a program, or its name if there is no slash in it
	PID     int
	User    *int
	Signal  string // as SIGSEGV
	Build   string // the build-id of the program
	Host    string
	// Since and Until are the first moment and that behind the last.
	Since, Until time.Time
	// Text is in the title, the path of the program, the place or the id.
	Text string
}

// Page is a part of a list.
type Page struct {
	// Limit is how many there are at most; 0 is 50, and more than 1000 is 1000.
	Limit int
	// Offset is how many are left out before.
	Offset int
	// Oldest has the oldest first, or the rarest.
	Oldest bool
}

const (
	usualLimit = 50
	maxLimit   = 1000
)

func (p Page) bounds() (limit, offset int) {
	if p.Limit <= 0 {
		p.Limit = usualLimit
	}
	return min(p.Limit, maxLimit), max(0, p.Offset)
}

func (p Page) order() string {
	if p.Oldest {
		return "ASC"
	}
	return "DESC"
}

// tallied reports whether the tallies tell which crashes fit: they have no build, no host, no pid
// and no id, and times by the day.
func (f *Filter) tallied() bool {
	return f.Build == "" && f.Host == "" && f.PID == 0 && wholeDay(f.Since) && wholeDay(f.Until) && (f.Text == "" || strings.Trim(f.Text, idCharacters) != "")
}

// idCharacters are all that ids have: a text with another one is in none.
const idCharacters = "0123456789.-"

const daySeconds = 86400

func wholeDay(t time.Time) bool {
	return t.IsZero() || t.Unix() >= 0 && t.Unix()%daySeconds == 0 && t.Nanosecond() == 0
}

// counted are what a question counts: crashes, or tallies of them.
type counted struct {
	table, count, first, last, oldest, newest string
}

var (
	crashRows = counted{" FROM crashes c", "count(*)", "c.time", "c.time", "c.id", "c.id"}
	tallyRows = counted{" FROM tallies c", "CAST(sum(c.n) AS INTEGER)", "c.first", "c.last", "c.oldest", "c.newest"}
)

// from returns what is read for a filter, with the condition: tallies if they have all that is
// asked for, of each day if daily. A question by host or build has crashes.
func (f *Filter) from(daily, tallies bool) (of counted, where string, args []any) {
	if tallies && f.tallied() {
		where, args = f.where(true, daily)
		return tallyRows, where, args
	}
	where, args = f.where(false, daily)
	return crashRows, where, args
}

// where is the condition of a filter for the rows of crashes c, or of tallies c: of each day, or
// of all days together where the filter asks for no time.
func (f *Filter) where(tallied, daily bool) (condition string, args []any) {
	var all []string
	add := func(condition string, values ...any) {
		all = append(all, condition)
		args = append(args, values...)
	}
	switch {
	case !tallied:
		if !f.Since.IsZero() {
			add("c.time >= ?", f.Since.UnixNano())
		}
		if !f.Until.IsZero() {
			add("c.time < ?", f.Until.UnixNano())
		}
	case f.Since.IsZero() && f.Until.IsZero() && !daily:
		add("c.day = ?", int64(allDays))
	default:
		if f.Since.IsZero() {
			add("c.day > ?", int64(allDays))
		} else {
			add("c.day >= ?", f.Since.Unix()/daySeconds)
		}
		if !f.Until.IsZero() {
			add("c.day < ?", f.Until.Unix()/daySeconds)
		}
	}
	if f.Group != "" {
		add("c.sig IN (SELECT id FROM signatures WHERE grp = ?)", f.Group)
	}
	if strings.Contains(f.Program, "/") {
		add("c.program IN (SELECT id FROM programs WHERE path = ?)", f.Program)
	} else if f.Program != "" {
		add("c.program IN (SELECT id FROM programs WHERE name = ?)", f.Program)
	}
	if f.PID != 0 {
		add("c.pid = ?", f.PID)
	}
	if f.User != nil {
		add("c.uid = ?", *f.User)
	}
	for _, equal := range []struct{ column, value string }{{"c.signal", f.Signal}, {"c.build", f.Build}, {"c.host", f.Host}} {
		if equal.value != "" {
			add(equal.column+" = ?", equal.value)
		}
	}
	if f.Text != "" {
		like := like(f.Text)
		condition := `c.sig IN (SELECT id FROM signatures WHERE title LIKE ? ESCAPE '\') OR c.program IN (SELECT id FROM programs WHERE path LIKE ? ESCAPE '\')`
		if f.Group != "" { // of which there are few, so that not all titles need be looked at
			condition = `(SELECT title FROM signatures WHERE id = c.sig) LIKE ? ESCAPE '\' OR (SELECT path FROM programs WHERE id = c.program) LIKE ? ESCAPE '\'`
		}
		if condition += ` OR c.place LIKE ? ESCAPE '\'`; tallied {
			add("("+condition+")", like, like, like)
		} else {
			add("("+condition+` OR c.id LIKE ? ESCAPE '\')`, like, like, like, like)
		}
	}
	if all == nil {
		return "", nil
	}
	return " WHERE " + strings.Join(all, " AND "), args
}

// like is a pattern for what contains a text. SQLite takes 50,000 bytes.
func like(text string) string {
	text = cut(text)
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
}
