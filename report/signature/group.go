package signature

import "strings"

// Level is one of the levels on which crashes are equal.
type Level string

// The levels, the most exact first. ByAlias is none of its own: it stands for ByCoarse
// where names are not known.
const (
	ByAddress Level = "address"
	ByFine    Level = "fine"
	ByCoarse  Level = "coarse"
	ByAlias   Level = "alias"
)

// Groups tells of which group a crash is. docs/signature.md says what a group is.
type Groups struct {
	coarse, alias   index // of crashes with Coarse
	unnamed, frames index // of those without, by Key and by each of Alias
	address, fine   index // of all
	next            int
}

// index has the group of crashes by something that they have in common.
type index map[string]int

// several stands for more than one group.
const several = -1

func (x index) add(key string, group int) {
	if before, ok := x[key]; ok && before != group {
		group = several
	}
	if key != "" {
		x[key] = group
	}
}

// one returns the only group that has a key.
func (x index) one(key string) (group int, ok bool) {
	group, ok = x[key]
	return group, ok && group != several
}

// Group puts crashes into groups, which are numbered from 0 on, and returns the group of
// each. Those with one Coarse are a group. A crash without joins that of the crashes
// with one of its aliases, or with its Address, if these are of one group, and else those
// without that have the same frames by build-id and offset.
func Group(all []*Signature) (*Groups, []int) {
	g := &Groups{coarse: index{}, alias: index{}, unnamed: index{}, frames: index{}, address: index{}, fine: index{}}
	of := make([]int, len(all))
	for n, s := range all {
		if s.Coarse != "" {
			of[n] = g.add(s, g.coarse, s.Coarse)
		}
	}
	for n, s := range all {
		if s.Coarse != "" {
			continue
		}
		if id, ok := g.joined(s); ok {
			of[n] = id
			g.learn(s, id)
			continue
		}
		of[n] = g.add(s, g.unnamed, s.Key())
		for alias := range strings.FieldsSeq(s.Alias) {
			g.frames.add(alias, of[n])
		}
	}
	return g, of
}

// add adds a crash to the group of those with its key.
func (g *Groups) add(s *Signature, to index, key string) int {
	id, ok := to[key]
	if !ok {
		id = g.next
		g.next++
		to.add(key, id)
	}
	g.learn(s, id)
	return id
}

// learn makes a crash known to be of a group.
func (g *Groups) learn(s *Signature, id int) {
	g.address.add(s.Address, id)
	g.fine.add(s.Fine, id)
	if s.Coarse != "" {
		g.alias.add(s.Alias, id)
	}
}

// joined returns the group of crashes with Coarse that a crash without is of.
func (g *Groups) joined(s *Signature) (group int, ok bool) {
	for alias := range strings.FieldsSeq(s.Alias) {
		if id, ok := g.alias.one(alias); ok {
			return id, true
		}
	}
	return g.address.one(s.Address)
}

// Find returns the group that another crash belongs to, and the most exact level on
// which it is equal to one of that group; false if it is of none.
func (g *Groups) Find(s *Signature) (group int, by Level, ok bool) {
	by = ByAlias
	switch {
	case s.Coarse == "":
		if group, ok = g.joined(s); !ok {
			group, ok = g.unnamed.one(s.Key())
		}
	default:
		if group, ok = g.coarse[s.Coarse]; ok {
			by = ByCoarse
		} else {
			group, ok = g.frames.one(s.Alias) // the first of its kind that has names
		}
	}
	if !ok {
		return 0, "", false
	}
	if id, ok := g.address.one(s.Address); ok && id == group {
		by = ByAddress
	} else if id, ok := g.fine.one(s.Fine); ok && id == group {
		by = ByFine
	}
	return group, by, true
}
