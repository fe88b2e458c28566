package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"
)

// knownCrashes are the groups of a store of crashes.
type knownCrashes struct {
	groups *signature.Groups
	known  map[int]*knownGroup
}

// knownGroup is what a store knows of a group.
type knownGroup struct {
	// Key names the group: the hash on the first of its levels.
	Key   string `json:"key"`
	Title string `json:"title"`
	// Count is how many there were, and Kept how many of these are in the store.
	Count int       `json:"count"`
	Kept  int       `json:"kept"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Examples are ids of crashes: the first, the last, and one between.
	Examples []string `json:"examples"`
}

// against says what a store knows of a crash.
type against struct {
	// New is set if no crash in the store is of its group.
	New bool `json:"new"`
	// By is the most exact level on which one of the group is equal.
	By    signature.Level `json:"by,omitempty"`
	Group *knownGroup     `json:"group,omitempty"`
}

// readKnown reads the groups of a store. It says on stderr what it leaves out.
func readKnown(dir string, rules *signature.Rules, stderr io.Writer) (*knownCrashes, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("--against %s: this is no directory", dir)
	}
	s, err := store.Open(dir, store.Limits{})
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	records, denied, err := s.Records()
	switch {
	case errors.Is(err, store.ErrLarge):
		fmt.Fprintf(stderr, "sfcore: %s\n", plain(err.Error()))
	case err != nil:
		return nil, fmt.Errorf("--against: %w", err)
	}
	if denied > 0 {
		fmt.Fprintf(stderr, "sfcore: %s: %d crashes belong to other users, and are not read\n", plain(dir), denied)
	}
	var of []*store.Record
	var sigs []*signature.Signature
	other := 0
	for i := range records {
		r := &records[len(records)-1-i] // the oldest first
		switch {
		case r.Signature == nil:
		case r.Signature.Schema != signature.Schema || r.Signature.Rules != rules.Version:
			other++
		default:
			of, sigs = append(of, r), append(sigs, r.Signature)
		}
	}
	if other > 0 {
		fmt.Fprintf(stderr, "sfcore: %s: the signatures of %d crashes were made by other rules than %s, and are not compared\n", plain(dir), other, plain(rules.Version))
	}
	k := &knownCrashes{known: map[int]*knownGroup{}}
	var ids []int
	k.groups, ids = signature.Group(sigs)
	numbers := map[int]map[string]int{} // of a group, by the kinds that the store counts
	for n, id := range ids {
		g := k.known[id]
		if g == nil {
			g = &knownGroup{Key: sigs[n].Key(), First: of[n].Time}
			k.known[id], numbers[id] = g, map[string]int{}
		}
		if g.Title == "" || sigs[n].Coarse != "" {
			g.Title = of[n].Title()
		}
		if sigs[n].Coarse != "" {
			g.Key = sigs[n].Coarse
		}
		g.Kept++
		g.Last = of[n].Time
		g.Examples = append(g.Examples, of[n].ID)
		kind := numbers[id]
		kind[of[n].Kind] = max(kind[of[n].Kind], of[n].Number)
	}
	for id, g := range k.known {
		for _, n := range numbers[id] {
			g.Count += n
		}
		g.Count = max(g.Count, g.Kept)
		if n := len(g.Examples); n > 3 {
			g.Examples = []string{g.Examples[0], g.Examples[n/2], g.Examples[n-1]}
		}
	}
	return k, nil
}

// find says what is known of a crash.
func (k *knownCrashes) find(s *signature.Signature) *against {
	id, by, ok := k.groups.Find(s)
	if !ok {
		return &against{New: true}
	}
	return &against{By: by, Group: k.known[id]}
}

func writeAgainst(out *bufio.Writer, a *against) {
	if a.New {
		fmt.Fprintln(out, "  new: no crash in the store is like it")
		return
	}
	g := a.Group
	const form = "2006-01-02 15:04:05"
	fmt.Fprintf(out, "  known by %s: %s\n  count %d, %s to %s UTC: %s\n", a.By, plain(g.Title), g.Count,
		g.First.UTC().Format(form), g.Last.UTC().Format(form), plain(strings.Join(slices.Compact(g.Examples), ", ")))
}
