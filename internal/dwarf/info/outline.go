package info

import (
	"cmp"
	"slices"
)

// outline has places in a unit, with the entries around them, so that those around an
// entry are found from the place before it. The zero value has none.
type outline struct {
	marks []mark // by offset
	count int    // of the entries that were passed since the last mark
}

// mark is a place between two entries.
type mark struct {
	off  uint64
	path []entry // around it, the outermost first
}

const (
	// markEvery is the number of entries between two marks.
	markEvery = 1 << 8
	// maxMarkPath bounds the entries around a mark, and maxMarks the marks of a unit: they
	// suffice for a million entries, and take some 150 KiB, at worst 3 MiB.
	maxMarkPath = 16
	maxMarks    = 1 << 12
)

// before returns the last place that is not behind an offset, and the entries around it;
// 0 if there is none.
func (o *outline) before(off uint64) (path []entry, at uint64) {
	o.count = 0
	i, found := o.find(off)
	if !found {
		i--
	}
	if i < 0 {
		return nil, 0
	}
	return slices.Clone(o.marks[i].path), o.marks[i].off
}

func (o *outline) find(off uint64) (i int, found bool) {
	return slices.BinarySearchFunc(o.marks, off, func(m mark, off uint64) int { return cmp.Compare(m.off, off) })
}

// note notes the place at an offset, unless one before it is near.
func (o *outline) note(off uint64, path []entry) {
	if o.count++; o.count < markEvery || len(path) > maxMarkPath || len(o.marks) >= maxMarks {
		return
	}
	o.count = 0
	i, found := o.find(off)
	if found {
		return
	}
	if i > 0 && slices.EqualFunc(path, o.marks[i-1].path, func(a, b entry) bool { return a.off == b.off }) {
		path = o.marks[i-1].path // most are in one namespace
	} else {
		path = slices.Clone(path)
	}
	o.marks = slices.Insert(o.marks, i, mark{off, path})
}
