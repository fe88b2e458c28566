package process_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind"
)

// smash is a word of a stack that is to be overwritten: the return address to
// frame n, or the frame pointer that is saved beside it.
type smash struct {
	n    int
	addr uint64
	fp   bool
}

// smashes returns the words by which the frames of a stack were found.
func smashes(frames []unwind.Frame) []smash {
	var all []smash
	for n := range frames[:len(frames)-1] {
		f := &frames[n]
		if f.Signal || f.Row.Signal {
			continue
		}
		for _, rule := range []arch.Rule{f.Row.RA, f.Row.FP} {
			if rule.Base == arch.CFA && rule.Deref {
				all = append(all, smash{n + 1, f.CFA + uint64(rule.Off), rule == f.Row.FP})
			}
		}
	}
	return all
}

// values returns what the word is overwritten with: garbage, its own address,
// starts of functions, return addresses to other places, and frame pointers of
// other frames.
func (s *smash) values(tg *process.Process, frames []unwind.Frame) []uint64 {
	values := []uint64{0x4141414141414141, 1, s.addr, s.addr + 8, s.addr + 64}
	for n := range frames {
		f := &frames[n]
		if s.fp {
			if fp, ok := f.Regs.Get(tg.Image().Arch.FP); ok {
				values = append(values, fp)
			}
			continue
		}
		values = append(values, f.PC)
		if name, start := tg.SymbolAt(f.LookupPC()); name != "" {
			values = append(values, start)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// edge is a call: a return address, and the function that returned to it.
type edge struct {
	ra uint64
	to string
}

func edgeTo(tg *process.Process, f, below *unwind.Frame) edge {
	to, _ := tg.SymbolAt(below.LookupPC())
	return edge{f.PC, to}
}

// edges adds the calls of an undamaged stack, by their return addresses and by
// where they go. Some functions are reached by jumps from the ones that were called.
func edges(tg *process.Process, frames []unwind.Frame, known map[edge]bool) {
	for n := 1; n < len(frames); n++ {
		e := edgeTo(tg, &frames[n], &frames[n-1])
		known[e] = true
		if to, direct := callTarget(tg, frames[n].PC); direct {
			known[edge{to, e.to}] = true
		}
	}
}

// callTarget returns where the call before an address goes, if it tells.
func callTarget(tg *process.Process, ra uint64) (uint64, bool) {
	code := make([]byte, 8)
	if _, err := tg.Memory().ReadMem(code, ra-8); err != nil {
		return 0, false
	}
	return tg.Image().Arch.CallTarget(code, ra)
}

// excused reports whether a wrong return address in frame f may have full trust
// because the call before it may have led to the frame below: it is indirect,
// or its target has the name of that frame's function or is a stub, or it, or
// another call of the same function, did lead there elsewhere.
func excused(tg *process.Process, f, below *unwind.Frame, known map[edge]bool) bool {
	if known[edgeTo(tg, f, below)] {
		return true
	}
	to, direct := callTarget(tg, f.PC)
	if !direct {
		return true
	}
	called, _ := tg.SymbolAt(to)
	is, _ := tg.SymbolAt(below.LookupPC())
	if known[edge{to, is}] {
		return true
	}
	if called == "" || is == "" {
		return true // names do not tell
	}
	return called == is || strings.HasSuffix(called, "@plt")
}

// Whatever a word of the stack is overwritten with, the frames before it are
// what they were, and none that is wrong has full trust.
func TestDamagedStacks(t *testing.T) {
	each, tried := 1, 0
	if testkit.Slow() {
		each = 5
	}
	damaged, lowered, excuses := 0, 0, 0
	cases(t, func(t *testing.T, name string, want *expected) {
		if want.Status != "" {
			t.Skip("damaged already")
		}
		tg := openCase(t, name, process.Options{})
		a, w := tg.Image().Arch, tg.NewWalker()
		var order binary.ByteOrder = binary.LittleEndian
		if a.BigEndian {
			order = binary.BigEndian
		}
		known := map[edge]bool{}
		for _, th := range tg.Threads() {
			edges(tg, w.Walk(th).Frames, known)
		}
		for _, th := range tg.Threads() {
			frames := slices.Clone(w.Walk(th).Frames)
			whole := smashes(frames)
			if step := len(whole) / 24; step > 0 { // enough of a deep stack
				few := whole[:0]
				for i := 0; i < len(whole); i += step {
					few = append(few, whole[i])
				}
				whole = few
			}
			for _, s := range whole {
				mem, base := tg.Image().Mem.(memreader.Viewer).View(s.addr)
				if mem == nil {
					continue
				}
				word := mem[s.addr-base:][:8]
				old := order.Uint64(word)
				for _, v := range s.values(tg, frames) {
					if v == old || v == old&^a.PACMask {
						continue
					}
					if tried++; tried%each != 0 {
						continue
					}
					order.PutUint64(word, v)
					got := w.Walk(th).Frames
					damaged++
					from := s.n
					if s.fp {
						from++
					}
					for n := range min(from, len(frames)) {
						if n >= len(got) || got[n].PC != frames[n].PC || got[n].Trust != frames[n].Trust {
							t.Fatalf("thread %d: frame %d is not what it was with %#x for frame %d", th.ID, n, v, s.n)
						}
					}
					for n := from; n < len(got); n++ {
						if n < len(frames) && got[n].PC == frames[n].PC && got[n].CFA == frames[n].CFA {
							continue
						}
						if got[n].Trust != unwind.Full {
							lowered++
							break
						}
						if n < len(frames) && got[n].PC == frames[n].PC {
							continue // the frame is right, what it will lead to is not
						}
						if excused(tg, &got[n], &got[n-1], known) {
							excuses++
							break
						}
						names := tg.Locate(got[n].LookupPC()).Functions
						t.Errorf("thread %d: frame %d of %d, %#x %v, is wrong and fully trusted, with %#x for frame %d (frame pointer: %v)",
							th.ID, n, len(frames), got[n].PC, names, v, s.n, s.fp)
						break
					}
				}
				order.PutUint64(word, old)
			}
		}
	})
	t.Logf("%d damaged stacks, %d with a frame of less trust, %d excused", damaged, lowered, excuses)
	if damaged < 10000/each || lowered < damaged/10 {
		t.Errorf("got %d damaged stacks, %d with a frame of less trust", damaged, lowered)
	}
}
