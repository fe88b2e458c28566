// Package jit reads what just-in-time compilers tell of the code that they make:
// gdb's JIT compilation interface, the records that Erlang registers there, perf
// maps and jitdump files.
package jit

import (
	"cmp"
	"slices"
	"sort"
)

// Run is a run of code, Lo <= addr < Hi, with what is known about it.
type Run[T any] struct {
	Lo, Hi uint64
	Of     T

	age int
}

// Settle sorts runs, of which the newest is the first, by address. If two claim the
// same address, the code of the older one is assumed to be gone; Settle passes it to
// replaced. It reorders runs, and returns a part of them.
func Settle[T any](runs []Run[T], replaced func(*Run[T])) []Run[T] {
	for i := range runs {
		runs[i].age = i
	}
	slices.SortFunc(runs, func(a, b Run[T]) int { return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.age, b.age)) })
	settled := runs[:0]
	for _, c := range runs {
		for len(settled) > 0 && settled[len(settled)-1].Hi > c.Lo {
			last := &settled[len(settled)-1]
			if last.age < c.age {
				break
			}
			replaced(last)
			settled = settled[:len(settled)-1]
		}
		if n := len(settled); n > 0 && settled[n-1].Hi > c.Lo {
			replaced(&c)
			continue
		}
		settled = append(settled, c)
	}
	return settled
}

// Search returns the index of the first of the settled runs that ends above addr.
func Search[T any](runs []Run[T], addr uint64) int {
	return sort.Search(len(runs), func(i int) bool { return runs[i].Hi > addr })
}

// Find returns the run that contains addr, or nil. The runs are settled.
func Find[T any](runs []Run[T], addr uint64) *Run[T] {
	if i := Search(runs, addr); i < len(runs) && addr >= runs[i].Lo {
		return &runs[i]
	}
	return nil
}

// Func is a function that a just-in-time compiler made.
type Func struct {
	Name string
	// Lines ascend by address. They are empty if no lines are known.
	Lines []Line
}

// Line is the source line of the code from Addr on. Line and Column are 0 if they are
// unknown; they count from 1.
type Line struct {
	Addr         uint64
	File         string
	Line, Column int
}

// LineAt returns the line of the code at addr, or nil.
func (f *Func) LineAt(addr uint64) *Line {
	if i := sort.Search(len(f.Lines), func(i int) bool { return f.Lines[i].Addr > addr }); i > 0 {
		return &f.Lines[i-1]
	}
	return nil
}

const (
	// maxFuncs and maxLines bound what is read of one source. The longest perf maps
	// of long-running servers have some hundred thousand lines.
	maxFuncs = 1 << 20
	maxLines = 1 << 20

	// maxName bounds the bytes of a name that are kept, and maxNames those of all names
	// of a source that are copied.
	maxName  = 1 << 10
	maxNames = 64 << 20
)

func shorten(name string) string { return name[:min(len(name), maxName)] }
