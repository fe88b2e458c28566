package crash

import (
	"cmp"
	"slices"
	"time"
)

// Group is the crashes of a kind.
type Group struct {
	Kind    string    `json:"kind"`
	Count   int       `json:"count"` // of all, also of those that are not kept any more
	Kept    int       `json:"kept"`
	Last    time.Time `json:"last"`
	Program string    `json:"program"`
	Title   string    `json:"title"`
	// First and Newest are the ids of the oldest and the newest crash that are kept.
	First  string `json:"first"`
	Newest string `json:"newest"`
}

// Kinds groups records, which have the newest first. The most frequent kind is first.
func Kinds(records []Record) []Group {
	var groups []Group
	at := map[string]int{}
	for i := range records {
		r := &records[i]
		n, ok := at[r.Kind]
		if !ok {
			n = len(groups)
			at[r.Kind] = n
			groups = append(groups, Group{Kind: r.Kind, Last: r.Time, Program: r.Program, Title: r.Title(), Newest: r.ID})
		}
		g := &groups[n]
		g.Kept++
		g.Count = max(g.Count, g.Kept, r.Number)
		g.First = r.ID
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(b.Count, a.Count) })
	return groups
}
