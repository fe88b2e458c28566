package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
)

// maxDays is how many days a line shows: the last ones.
const maxDays = 60

// chart is crashes per day, as a line in a box of 100 by 30.
type chart struct {
	Days []index.Day
	// From and To are the first and the last date, Peak the day with the most.
	From, To string
	Peak     index.Day
	Total    int
}

// chartOf returns the line of the days that end with a date; nil if there are none. Days
// on which there were none are left out of days.
func chartOf(days []index.Day, last time.Time) *chart {
	first := last.AddDate(0, 0, 1-maxDays).Format(time.DateOnly)
	days = days[indexOf(days, first):]
	if len(days) == 0 {
		return nil
	}
	c := &chart{Days: days, From: first, To: last.Format(time.DateOnly)}
	for _, d := range days {
		c.Total += d.Count
	}
	c.Peak = slices.MaxFunc(days, func(a, b index.Day) int { return cmp.Compare(a.Count, b.Count) })
	return c
}

func indexOf(days []index.Day, date string) int {
	i, _ := slices.BinarySearchFunc(days, date, func(d index.Day, date string) int { return cmp.Compare(d.Date, date) })
	return i
}

// Points are those of the line.
func (c *chart) Points() string {
	var b strings.Builder
	at, err := time.Parse(time.DateOnly, c.From)
	if err != nil {
		return ""
	}
	for n, i := 0, 0; n < maxDays; n++ {
		count, date := 0, at.AddDate(0, 0, n).Format(time.DateOnly)
		for ; i < len(c.Days) && c.Days[i].Date <= date; i++ {
			count = c.Days[i].Count
		}
		fmt.Fprintf(&b, "%.2f,%.2f ", float64(n)*100/(maxDays-1), 29-28*float64(count)/float64(max(1, c.Peak.Count)))
	}
	return strings.TrimSpace(b.String())
}

// Label says what the line shows.
func (c *chart) Label() string {
	return fmt.Sprintf("Crashes per day from %s to %s: %d in all, at most %d, on %s", c.From, c.To, c.Total, c.Peak.Count, c.Peak.Date)
}
