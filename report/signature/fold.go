package signature

import (
	"cmp"
	"slices"
)

// maxCycle bounds the functions that call each other in turn whose recursion is
// recognized.
const maxCycle = 16

// folded returns which keys of a stack, the innermost first, are left when of each run
// that follows itself only one is kept: how deep a recursion went is chance. The result
// has indexes of keys.
func folded(keys []int) []int {
	var kept []int
	for i := range keys {
		kept = append(kept, i)
		n := len(kept)
		for size := 1; size <= min(maxCycle, n/2); size++ {
			if same(kept[n-2*size:n-size], kept[n-size:], keys) {
				kept = kept[:n-size]
				break
			}
		}
	}
	return kept
}

func same(a, b, keys []int) bool {
	for i := range a {
		if keys[a[i]] != keys[b[i]] {
			return false
		}
	}
	return true
}

// recursion returns an index of each key that a stack overflowed with, ordered by name:
// those that are there twice, and make up a 32nd of the stack. Where a stack overflows,
// chance chooses the function that does, the order of those that call each other in
// turn, and how far the walk comes. It returns nil if there are none. Keys are numbers
// from 0 on.
func recursion(keys []int, name func(at int) string) []int {
	first, times := make([]int, len(keys)), make([]int, len(keys))
	for i, k := range keys {
		if times[k]++; times[k] == 1 {
			first[k] = i
		}
	}
	var found []int
	for k, n := range times {
		if n > 1 && n*2*maxCycle >= len(keys) {
			found = append(found, first[k])
		}
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Compare(name(a), name(b)) })
	return found
}
