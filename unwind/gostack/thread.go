package gostack

import (
	"errors"

	"github.com/sfcore/sfcore/memreader"
)

// thread is what is known about the thread whose stack is walked.
type thread struct {
	known         bool
	layout        layout
	m             uint64
	g0, gsignal   uint64 // stacks of the thread itself
	curg          uint64 // the goroutine that it runs, or 0
	parked        uint64 // the goroutine that it waits for, or 0
	expected      uint64 // SP when the goroutine called C; 0 if sched.sp has it
	callback      uint64 // SP of the last frame of cgocallback on g0 that the walk passed, or 0
	leftScheduler bool   // whether the walk already went from g0 to a goroutine
}

// stack are the bounds of a stack.
type stack struct{ lo, hi uint64 }

func (s stack) contains(sp uint64) bool { return s.lo < s.hi && sp-s.lo < s.hi-s.lo }

var (
	errNoG       = errors.New("the thread's current goroutine is unknown")
	errG         = errors.New("g and m of this thread do not refer to each other")
	errAmbiguous = errors.New("g and m refer to each other by more than one layout")
)

// words reads words of the runtime's structures, and keeps the first error.
type words struct {
	mem *memreader.Words
	err error
}

func (w *words) at(addr uint64) uint64 {
	if w.err != nil {
		return 0
	}
	v, err := w.mem.Uint64(addr)
	w.err = err
	return v
}

// lockedFrom to lockedTo is the part of g, in bytes, that has g.lockedm in all versions.
const lockedFrom, lockedTo = 200, 240

// learnWaiting finds the structures of the thread that waits for goroutine g, which
// no thread runs: the runtime keeps a goroutine that C called with the thread of
// that call [src/runtime/cgocall.go: cgocallbackg, lockOSThread].
func (t *thread) learnWaiting(mem *memreader.Words, g uint64) error {
	w := words{mem: mem}
	if t.known || w.at(g+gM) != 0 || w.err != nil {
		return errors.Join(errG, w.err)
	}
	for off := uint64(lockedFrom); off < lockedTo; off += 8 {
		w := words{mem: mem}
		m := w.at(g + off)
		if m == 0 || m%8 != 0 {
			continue
		}
		g0 := w.at(m + mG0)
		var found thread
		if w.err == nil && w.at(g0+gM) == m && w.err == nil && found.learn(mem, g0) == nil && found.curg == 0 {
			found.parked = g
			*t = found
			return nil
		}
	}
	return errG
}

// learn finds the structures of the thread from g, one of the thread's three
// stacks. It accepts them if m.g0.m, m.gsignal.m and m.curg.m are all m, and if g
// is g0, gsignal or curg.
func (t *thread) learn(mem *memreader.Words, g uint64) error {
	if t.known {
		return nil
	}
	w := words{mem: mem}
	m := w.at(g + gM)
	if w.err != nil || m == 0 || m%8 != 0 { // mostly
		return errors.Join(errG, w.err)
	}
	g0 := w.at(m + mG0)
	if own := w.at(g0 + gM); w.err != nil || own != m {
		return errors.Join(errG, w.err)
	}
	found := thread{m: m, g0: g0}
	for _, l := range layouts {
		w := words{mem: mem}
		gsignal, curg := w.at(m+l.gsignal), w.at(m+l.curg)
		ok := gsignal != g0 && w.at(gsignal+gM) == m
		if curg != 0 {
			ok = ok && curg != g0 && curg != gsignal && w.at(curg+gM) == m
		}
		if !ok || w.err != nil || g != g0 && g != gsignal && g != curg {
			continue
		}
		if found.known {
			return errAmbiguous
		}
		found.known, found.layout, found.gsignal, found.curg = true, l, gsignal, curg
	}
	if !found.known {
		return errG
	}
	*t = found
	return nil
}

// stackOf returns the bounds of a goroutine's stack.
func stackOf(w *words, g uint64) stack { return stack{w.at(g + gStackLo), w.at(g + gStackHi)} }
