package pclntab

import (
	"encoding/binary"
	"fmt"
	"sort"
	"sync"
)

const (
	// maxSteps bounds the steps of one function's table. The compiler writes about
	// one for each line.
	maxSteps = 1 << 16
	// between is how many steps are between the marks of a long table, and up to how
	// many are taken without marks.
	between = 128
	// maxMarked bounds the steps of all long tables for which marks are made. The
	// longest of the largest programs have some million together.
	maxMarked = 1 << 28
)

// walk is a place in a table of pctab: pairs of a difference to the value and one to
// the address up to which it holds.
type walk struct {
	at    int    // in pctab
	value int32  // before the step at this place
	pc    uint64 // from the function's entry
}

// step takes a step; ok is false at the end of the table.
func (w *walk) step(t *Table, first bool) (ok bool) {
	delta, n := binary.Uvarint(t.pctab[w.at:])
	if n <= 0 || delta == 0 && !first {
		return false
	}
	length, m := binary.Uvarint(t.pctab[w.at+n:])
	if m <= 0 {
		return false
	}
	w.at += n + m
	w.value += int32(uint32(delta)>>1) ^ -int32(delta&1)
	w.pc += uint64(uint32(length)) * t.quantum
	return true
}

// marks are places in long tables, made when they are first needed: frames in a
// function with many steps would otherwise take each of them again.
type marks struct {
	mu    sync.Mutex
	left  int // steps for which marks may be made
	of    map[uint32][]walk
	spent bool
}

func newMarks() *marks { return &marks{left: maxMarked, of: map[uint32][]walk{}} }

// find returns the last place of the table at off from which a walk gets to pc, bytes
// from the function's entry; false if there may be no more marks.
func (m *marks) find(t *Table, off uint32, from walk, pc uint64) (walk, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	places, ok := m.of[off]
	if !ok {
		if m.left < maxSteps {
			m.spent = true
			return from, false
		}
		w := from
		for i := between; i < maxSteps; i++ {
			if i%between == 0 {
				places = append(places, w)
			}
			if !w.step(t, false) {
				break
			}
			m.left--
		}
		m.of[off] = places
	}
	i := sort.Search(len(places), func(i int) bool { return places[i].pc > pc })
	if i == 0 {
		return from, true
	}
	return places[i-1], true
}

// Problem says what of the table was not read, because that would take too long.
func (t *Table) Problem() error {
	t.marks.mu.Lock()
	defer t.marks.mu.Unlock()
	switch {
	case t.marks.spent:
		return fmt.Errorf("pctab: the long tables of functions have more than %d steps together; the rest of them is ignored", maxMarked)
	case t.calls.Load() >= maxCalls:
		return fmt.Errorf("funcdata: more than %d inlined calls were asked for; the others are not shown", maxCalls)
	}
	return nil
}

// value reads the table at an offset of pctab, 0 if there is none. It returns -1 if
// that does not reach addr.
func (f *Func) value(off uint32, addr uint64) int32 {
	t := f.table
	if off == 0 || uint64(off) >= uint64(len(t.pctab)) || addr < f.Entry {
		return -1
	}
	pc := addr - f.Entry
	w := walk{at: int(off), value: -1}
	for i := range between {
		if !w.step(t, i == 0) {
			return -1
		}
		if pc < w.pc {
			return w.value
		}
	}
	w, ok := t.marks.find(t, off, w, pc)
	for range between {
		if !ok || !w.step(t, false) {
			return -1
		}
		if pc < w.pc {
			return w.value
		}
	}
	return -1
}
