package perfdata

import (
	"cmp"
	"container/heap"
	"slices"
)

// An Epoch is a time in which no file of a process was replaced by another.
type Epoch struct {
	// Mappings do not overlap, and are sorted. They are those that the process had at
	// the end of the epoch.
	Mappings []Mapping
	// Samples are those that were taken in the epoch.
	Samples []*Sample
}

const (
	// maxEpochs bounds the epochs of a process. Each takes as long as to read all its files.
	maxEpochs = 64
	// maxLaid bounds the mappings that are put one over the other for the epochs of a
	// process, which takes a second for each million.
	maxLaid = 4 << 20
)

// Epochs divides samples of the process, which are in the order in which they were taken.
// If files are replaced too often, the first epoch has more samples than it should, and
// whole is false.
func (s *Space) Epochs(samples []*Sample) (list []Epoch, whole bool) {
	whole = true
	limit := min(maxEpochs, 1+maxLaid/max(len(s.Mappings), 1))
	for len(samples) > 0 {
		seen, replacing := overlay(s.Mappings[:samples[len(samples)-1].mapped])
		first := len(samples)
		for first > 0 && samples[first-1].mapped > replacing {
			first--
		}
		if whole = first == 0 || len(list) < limit-1; !whole {
			first = 0
		}
		list, samples = append(list, Epoch{seen, samples[first:]}), samples[:first]
	}
	slices.Reverse(list)
	return list, whole
}

// overlay puts each mapping over those before it. It returns what can be seen of each,
// in the order of addresses, and the index of the last one that hides code of another
// file, -1 if none does.
func overlay(all []Mapping) (seen []Mapping, replacing int) {
	replacing = -1
	order := make([]int, len(all))
	edges := make([]uint64, 0, 2*len(all))
	for i := range all {
		order[i] = i
		edges = append(edges, all[i].Lo, all[i].Hi)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(all[a].Lo, all[b].Lo) })
	slices.Sort(edges)
	edges = slices.Compact(edges)
	here := latest{} // the mappings that are at an address, and some that ended before
	for i, lo := range edges[:max(len(edges), 1)-1] {
		for len(order) > 0 && all[order[0]].Lo == lo {
			heap.Push(&here, order[0])
			order = order[1:]
		}
		top, ok := here.at(all, lo)
		if !ok {
			continue
		}
		if len(seen) == maxMappings {
			break
		}
		m := all[top]
		m.Off, m.Lo, m.Hi = m.Off+(lo-m.Lo), lo, edges[i+1]
		if n := len(seen); n > 0 && seen[n-1].Hi == lo && seen[n-1].follows(&m) {
			seen[n-1].Hi = m.Hi
		} else {
			seen = append(seen, m)
		}
		if top > replacing && here.hides(all, lo) {
			replacing = top
		}
	}
	return seen, replacing
}

// follows reports whether next is the next part of the same mapping.
func (m *Mapping) follows(next *Mapping) bool {
	return m.Path == next.Path && m.Exec == next.Exec && m.BuildID == next.BuildID && m.Off+(m.Hi-m.Lo) == next.Off
}

// latest is a heap of indexes of mappings, the highest first.
type latest []int

// at returns the latest mapping that has not ended before an address, and drops later
// ones that have.
func (h *latest) at(all []Mapping, addr uint64) (int, bool) {
	for len(*h) > 0 {
		if top := (*h)[0]; all[top].Hi > addr {
			return top, true
		}
		heap.Pop(h)
	}
	return 0, false
}

// maxHidden bounds how far hides looks below what is visible.
const maxHidden = 4

// hides reports whether the latest mapping at an address hides code of another file.
func (h *latest) hides(all []Mapping, addr uint64) (hides bool) {
	top, _ := h.at(all, addr)
	taken := []int{heap.Pop(h).(int)}
	for len(taken) <= maxHidden && !hides {
		under, ok := h.at(all, addr)
		if !ok {
			break
		}
		taken = append(taken, heap.Pop(h).(int))
		hides = all[under].Exec && !all[under].Anonymous() && all[under].Path != all[top].Path
	}
	for _, i := range taken {
		heap.Push(h, i)
	}
	return hides
}

func (h *latest) Len() int           { return len(*h) }
func (h *latest) Less(i, j int) bool { return (*h)[i] > (*h)[j] }
func (h *latest) Swap(i, j int)      { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }
func (h *latest) Push(x any)         { *h = append(*h, x.(int)) }
func (h *latest) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
