package signature

// maxCycle bounds the functions that call each other in turn whose recursion is
// recognized.
const maxCycle = 16

// cycle is a run of a sequence that was repeated.
type cycle struct{ start, size, times int }

// folded returns which keys of a stack are left when recursion is folded. keys has the
// frames from the innermost; so has the result, which are indexes of keys.
//
// How deep a recursion went, and in which of its functions the walk ended, is chance;
// where it was entered is not. So an anchored stack, whose outermost frame is there, is
// folded from the outermost frame, any other from the innermost. Where the stack
// overflowed, chance also chose what came last: only the recursion counts then, and
// what led to it.
func folded(keys []int, anchored, overflow bool, less func(a, b int) bool) []int {
	at := make([]int, len(keys))
	for i := range at {
		at[i] = i
		if anchored {
			at[i] = len(keys) - 1 - i
		}
	}
	kept, longest := foldRuns(at, keys)
	end := longest.start + longest.size
	switch {
	case longest.times == 0:
	case overflow && anchored:
		kept = kept[:end]
	case overflow:
		kept = rotated(kept[longest.start:end], less)
	case !anchored && longest.times > 1 && partOf(kept[end:], kept[longest.start:end], keys):
		kept = kept[:end]
	}
	if anchored {
		for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
			kept[i], kept[j] = kept[j], kept[i]
		}
	}
	return kept
}

// foldRuns keeps one of each run that follows itself. It returns the cycle that took
// the most frames, which is among those that are kept; its times are 0 if there is
// none.
func foldRuns(at, keys []int) (kept []int, longest cycle) {
	var last cycle
	for _, i := range at {
		kept = append(kept, i)
		n := len(kept)
		for size := 1; size <= min(maxCycle, n/2); size++ {
			if !same(kept[n-2*size:n-size], kept[n-size:], keys) {
				continue
			}
			kept = kept[:n-size]
			if start := n - 2*size; last.start != start || last.size != size {
				last = cycle{start, size, 1}
			}
			last.times++
			break
		}
		if longest.start+longest.size > len(kept) {
			longest = cycle{} // it became a part of another
		}
		if last.times*last.size > longest.times*longest.size && last.start+last.size <= len(kept) {
			longest = last
		}
	}
	return kept, longest
}

func same(a, b, keys []int) bool {
	for i := range a {
		if keys[a[i]] != keys[b[i]] {
			return false
		}
	}
	return true
}

// partOf reports whether rest is the beginning of another turn of a cycle.
func partOf(rest, turn, keys []int) bool {
	return len(rest) < len(turn) && same(rest, turn, keys)
}

// rotated returns a cycle from its least key on.
func rotated(turn []int, less func(a, b int) bool) []int {
	least := 0
	for i := range turn {
		if less(turn[i], turn[least]) {
			least = i
		}
	}
	return append(append([]int(nil), turn[least:]...), turn[:least]...)
}
