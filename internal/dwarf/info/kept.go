package info

// maxParts bounds the parts of all answers of a sort that are kept: the members or
// enumerators of types, the variables of functions, the parameters of calls. It is the
// largest type at each level that is shown, and takes some 20 MiB.
const maxParts = 1 << 17

// kept are answers that are asked for again: variables of a type are often next to each
// other, recursive structures consist of each other, and threads are in the same
// functions.
type kept[K comparable, T any] struct {
	lists map[K]T
	sum   int
}

// get returns an answer.
func (k *kept[K, T]) get(key K) (list T, ok bool) {
	list, ok = k.lists[key]
	return list, ok
}

// put keeps an answer of n parts, and forgets all others if they become too many.
func (k *kept[K, T]) put(key K, list T, n int) {
	n++ // an empty one takes something, too
	if k.sum += n; k.lists == nil || k.sum > maxParts {
		k.lists, k.sum = map[K]T{}, n
	}
	k.lists[key] = list
}
