package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/report/signature"
)

// grouping puts crashes into groups; "" is a group of its own for each crash.
type grouping struct {
	name string
	of   func([]crash) []string
}

// each makes a grouping of a signature.
func each(key func(*crash) string) func([]crash) []string {
	return func(all []crash) []string {
		keys := make([]string, len(all))
		for i := range all {
			keys[i] = key(&all[i])
		}
		return keys
	}
}

// groupings are sfcore's groups, its levels by themselves, and those of others.
var groupings = []grouping{
	{"sfcore, groups", func(all []crash) []string {
		var sigs []*signature.Signature
		for i := range all {
			sigs = append(sigs, all[i].sig)
		}
		_, of := signature.Group(sigs)
		keys := make([]string, len(all))
		for i, g := range of {
			keys[i] = fmt.Sprint(g)
		}
		return keys
	}},
	{"sfcore, `coarse` alone", each(func(c *crash) string { return c.sig.Coarse })},
	{"sfcore, `fine` alone", each(func(c *crash) string { return c.sig.Fine })},
	{"sfcore, `address` alone", each(func(c *crash) string { return c.sig.Address })},
	{"ClusterFuzz, type and top three frames", each(clusterFuzz)},
	{"Apport, address signature", each(apport)},
	{"Socorro, signature", each(socorro)},
}

// table prints how well each grouping does. Purity is the share of crashes that are in a
// group of which most crashes are of their bug; completeness is the share of those
// that are in the largest group of their bug.
func table(title string, all []crash, list bool) {
	bugs := map[string]bool{}
	for i := range all {
		bugs[all[i].bug] = true
	}
	fmt.Printf("\n%s: %d crashes of %d bugs\n\n| rule | groups | purity | completeness |\n|---|---|---|---|\n", title, len(all), len(bugs))
	for _, g := range groupings {
		keys := g.of(all)
		for i := range keys {
			if keys[i] == "" {
				keys[i] = fmt.Sprintf("crash %d", i)
			}
		}
		of := make([]string, len(all))
		for i := range all {
			of[i] = all[i].bug
		}
		fmt.Printf("| %s | %d | %.1f %% | %.1f %% |\n", g.name, len(counts(keys, of)), 100*share(keys, of), 100*share(of, keys))
	}
	if list {
		listMistakes(all, groupings[0].of(all))
	}
}

// counts counts how often each of b goes with each of a.
func counts(a, b []string) map[string]map[string]int {
	n := map[string]map[string]int{}
	for i := range a {
		if n[a[i]] == nil {
			n[a[i]] = map[string]int{}
		}
		n[a[i]][b[i]]++
	}
	return n
}

// share is the share of those that have the most frequent b of their a.
func share(a, b []string) float64 {
	sum := 0
	for _, of := range counts(a, b) {
		sum += slices.Max(slices.Collect(maps.Values(of)))
	}
	return float64(sum) / float64(len(a))
}

// listMistakes lists groups with several bugs, and bugs with several groups.
func listMistakes(all []crash, keys []string) {
	groups, bugs := map[string][]string{}, map[string][]string{}
	example := map[string]*crash{}
	for i := range all {
		c := &all[i]
		if !slices.Contains(groups[keys[i]], c.bug) {
			groups[keys[i]] = append(groups[keys[i]], c.bug)
		}
		if !slices.Contains(bugs[c.bug], keys[i]) {
			bugs[c.bug] = append(bugs[c.bug], keys[i])
			example[c.bug+keys[i]] = c
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		if of := groups[key]; len(of) > 1 {
			fmt.Printf("\none group: %s\n", strings.Join(of, ", "))
		}
	}
	for _, bug := range slices.Sorted(maps.Keys(bugs)) {
		if len(bugs[bug]) < 2 {
			continue
		}
		fmt.Printf("\n%s has %d groups:\n", bug, len(bugs[bug]))
		for _, key := range bugs[bug] {
			c := example[bug+key]
			var names []string
			for _, f := range c.sig.Frames {
				if f.Named {
					names = append(names, f.Name)
				}
			}
			fmt.Printf("  %s: %s: %s\n", c.run, cmp.Or(c.sig.Fault, "?"), strings.Join(names, " < "))
		}
	}
}
