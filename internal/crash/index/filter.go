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

// from joins what a filter may ask for.
const from = " FROM crashes c JOIN signatures s ON s.id = c.sig JOIN programs p ON p.id = c.program"

// where is the condition of a filter.
func (f *Filter) where() (condition string, args []any) {
	var all []string
	add := func(condition string, values ...any) {
		all = append(all, condition)
		args = append(args, values...)
	}
	if f.Group != "" {
		add("s.grp = ?", f.Group)
	}
	if strings.Contains(f.Program, "/") {
		add("p.path = ?", f.Program)
	} else if f.Program != "" {
		add("p.name = ?", f.Program)
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
	if !f.Since.IsZero() {
		add("c.time >= ?", f.Since.UnixNano())
	}
	if !f.Until.IsZero() {
		add("c.time < ?", f.Until.UnixNano())
	}
	if f.Text != "" {
		like := like(f.Text)
		add(`(s.title LIKE ? ESCAPE '\' OR p.path LIKE ? ESCAPE '\' OR c.place LIKE ? ESCAPE '\' OR c.id LIKE ? ESCAPE '\')`, like, like, like, like)
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
