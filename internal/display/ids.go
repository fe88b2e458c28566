package display

import (
	"slices"
	"strconv"
)

// IDs returns ids in order, with a hyphen where at least three follow each other.
func IDs[T int | int64](ids []T) string {
	var b []byte
	ids = slices.Sorted(slices.Values(ids))
	for i := 0; i < len(ids); {
		last := i
		for last+1 < len(ids) && ids[last+1] == ids[last]+1 {
			last++
		}
		if last < i+2 { // two are shorter by themselves
			last = i
		}
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(ids[i]), 10)
		if last > i {
			b = strconv.AppendInt(append(b, '-'), int64(ids[last]), 10)
		}
		i = last + 1
	}
	return string(b)
}
