package core

import "time"

// A thread in futex(2) waits on a word of a lock. The locks of C libraries begin up to
// lockBefore bytes before that word, and have the id of their owner up to lockBehind
// bytes behind it.
const (
	lockBefore = 16
	lockBehind = 32
)

// copyLocks copies the memory of locks that threads may wait for: what is at the first
// argument of their system calls, if the process could write there. Often it is on a
// stack, and copied.
func (v *visit) copyLocks(deadline time.Time) {
	var spans []span
	for _, word := range v.waits {
		if m := mappingOf(v.maps, word); m != nil && m.read && m.write {
			spans = append(spans, lockAt(word, m))
		}
	}
	stacks := v.snap.Copied
	v.copySpans(without(apart(spans), v.ascending()), nil, deadline)
	v.snap.Copied = stacks
}

// lockAt returns what to copy of a lock.
func lockAt(word uint64, m *procMapping) span {
	lo, hi := max(m.Lo, word-min(lockBefore, word)), word+min(lockBehind, m.Hi-word)
	return span{lo, hi, hi}
}

// addLocks adds copies of locks, which ascend, where they are not copied with a stack.
func (v *visit) addLocks(locks []copied) {
	spans := make([]span, len(locks))
	for i := range locks {
		spans[i] = locks[i].span
	}
	for _, s := range without(spans, v.ascending()) {
		for locks[0].hi <= s.lo {
			locks = locks[1:]
		}
		at := &locks[0]
		v.stacks = append(v.stacks, copied{span: s, data: at.data[s.lo-at.lo : s.hi-at.lo]})
	}
	v.stacks = v.ascending()
}
