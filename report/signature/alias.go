package signature

import (
	"slices"
	"strings"
)

// maxAliases bounds the frames of an alias.
const maxAliases = 32

// alias returns the Alias of the frames outside, which are on the stack: if the functions
// are known by which the crash is grouped, the hash of those up to the last of these, and
// else all. Where the stack overflowed there is one, of all frames: they have no order.
func (c *counter) alias(outside, named []int, known bool) string {
	if len(outside) == 0 {
		return ""
	}
	if !slices.IsSorted(outside) {
		return c.hashOf(outside)
	}
	outside = outside[:min(maxAliases, len(outside))]
	if known {
		last := slices.Max(named)
		for last+1 < len(c.frames) && !c.onStackAt(last) {
			last++ // of an inlined function, or of one that jumped to another
		}
		at, _ := slices.BinarySearch(outside, last+1)
		return c.hashOf(outside[:max(1, at)])
	}
	hashes := make([]string, len(outside))
	for i := range outside {
		hashes[i] = c.hashOf(outside[:i+1])
	}
	return strings.Join(hashes, " ")
}

func (c *counter) hashOf(frames []int) string {
	return c.hash("alias", "", frames, depthOfAll, (*counter).appendAddress)[:16]
}

// Key returns the hash that names the group of a crash if it is the first of that: its
// Coarse, or what it has in common with others that have none, "" if that is nothing.
func (s *Signature) Key() string {
	if s.Coarse != "" {
		return s.Coarse
	}
	hashes := strings.Fields(s.Alias)
	n := depth
	if deliberate(s.Fault) {
		n = 16 // what raises a panic takes many frames of a static program
	}
	if n = min(n, len(hashes)); n > 0 {
		return hashes[n-1]
	}
	return s.Fine
}
