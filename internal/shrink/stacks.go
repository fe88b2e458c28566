package shrink

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

const (
	// redZone is how far below SP a function may keep values [System V psABI, 3.2.2].
	redZone = 128
	// behindStack is what is kept above the outermost frame, in bytes: the thread's own
	// structures of the C library, or arguments, environment and auxiliary vector.
	behindStack = 64 << 10
	// behindCut is the same where the walk did not come to an end.
	behindCut = 256 << 10
	// maxStacks bounds all stacks together, in bytes, and tailShare is the part of a
	// stack beyond its share that is kept from the outermost frames.
	maxStacks = 256 << 20
	tailShare = 64
	// maxPrivateStacks bounds them in a core that is sent to others, and is made in memory.
	maxPrivateStacks = 64 << 20
	// MaxPrivateModules bounds the modules whose headers are in such a core. Large
	// processes have a thousand.
	MaxPrivateModules = 1 << 14
	// leastShare is what is kept of every stack, in bytes, as long as there is room.
	leastShare = 2 * pageSize
)

// stacks are the used parts of the stacks.
type stacks struct {
	of   *Shrinker
	most uint64 // bytes of all stacks together; 0 stands for maxStacks

	mu   sync.Mutex
	list []used
	pcs  map[uint64]bool // pages of code
	code []uint64        // the same, ascending, once all stacks were added
}

// used are the used parts of a thread's stacks, the innermost first.
type used struct {
	thread *core.Thread
	parts  []core.Range
	size   uint64
}

// add adds the stack of a thread.
func (s *stacks) add(st *process.Stack) {
	u := used{thread: st.Thread}
	var (
		cur  core.Range
		load *core.Load
	)
	end := func(behind uint64) {
		if load != nil {
			cur.Hi += min(behind, load.Hi-cur.Hi)
			u.parts = append(u.parts, cur)
		}
	}
	note := func(addr uint64) {
		switch {
		case load != nil && load.Lo <= addr && addr <= load.Hi:
			cur.Lo, cur.Hi = min(cur.Lo, addr), max(cur.Hi, addr)
		default:
			end(behindStack)
			if load = s.of.load(addr); load != nil {
				cur = core.Range{Lo: addr - min(redZone, addr-load.Lo), Hi: addr}
			}
		}
	}
	if sp, ok := st.Thread.Regs.Get(s.of.img.Arch.SP); ok {
		note(sp)
	}
	for i := range st.Frames {
		if sp, ok := st.Frames[i].Regs.Get(s.of.img.Arch.SP); ok && s.of.load(sp) != nil {
			note(sp)
		}
		if cfa := st.Frames[i].CFA; cfa != 0 && load != nil && load.Lo <= cfa && cfa <= load.Hi {
			note(cfa)
		}
	}
	if st.Complete() {
		end(behindStack)
	} else {
		end(behindCut)
	}
	u.parts = core.Whole(u.parts, unit)
	for _, p := range u.parts {
		u.size += p.Hi - p.Lo
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, u)
	if s.pcs == nil {
		s.pcs = map[uint64]bool{}
	}
	for i := range st.Frames {
		s.pcs[st.Frames[i].PC&^(pageSize-1)] = true
	}
}

// through reports whether a stack goes through code from lo to hi.
func (s *stacks) through(lo, hi uint64) bool {
	if s.code == nil {
		s.code = slices.Sorted(maps.Keys(s.pcs))
	}
	i, _ := slices.BinarySearch(s.code, lo)
	return i < len(s.code) && s.code[i] < hi
}

// load returns the mapping that contains addr, or nil.
func (s *Shrinker) load(addr uint64) *core.Load {
	i := sort.Search(len(s.loads), func(i int) bool { return s.loads[i].Hi > addr })
	if i == len(s.loads) || s.loads[i].Lo > addr {
		return nil
	}
	return &s.loads[i]
}

// ranges returns the used parts of all stacks. If they are too large together, the
// largest are cut.
func (s *stacks) ranges() []core.Range {
	s.mu.Lock()
	defer s.mu.Unlock()
	order := make(map[*core.Thread]int, len(s.list))
	for i := range s.of.img.Threads {
		th := &s.of.img.Threads[i]
		if order[th] = i + 1; th.Crashed {
			order[th] = 0
		}
	}
	slices.SortFunc(s.list, func(a, b used) int { return order[a.thread] - order[b.thread] })
	share := max(s.share(), leastShare)
	var keep []core.Range
	left, cut := s.room(), 0
	for _, u := range s.list {
		if u.size > min(share, left) {
			cut++
			u.cut(min(share, left))
		}
		for _, p := range u.parts {
			left -= min(left, p.Hi-p.Lo)
		}
		keep = append(keep, u.parts...)
	}
	if cut > 0 {
		s.of.leaveOut("parts of the stacks of %d threads, because all stacks have more than %d MiB", cut, s.room()>>20)
	}
	return keep
}

// room returns how many bytes all stacks may have together.
func (s *stacks) room() uint64 { return cmp.Or(s.most, maxStacks) }

// share returns how many bytes of each stack fit maxStacks.
func (s *stacks) share() uint64 {
	sizes := make([]uint64, len(s.list))
	for i := range s.list {
		sizes[i] = s.list[i].size
	}
	slices.Sort(sizes)
	left := s.room()
	for i, size := range sizes {
		if n := uint64(len(sizes) - i); size > left/n {
			return left / n
		}
		left -= size
	}
	return s.room()
}

// cut leaves the innermost part of so many bytes, of which some are from the far end.
func (u *used) cut(size uint64) {
	tail := size / tailShare &^ (pageSize - 1)
	head := (size - tail) &^ (pageSize - 1)
	var parts []core.Range
	for _, p := range u.parts {
		if p.Hi-p.Lo > head {
			p.Hi = p.Lo + head
		}
		head -= p.Hi - p.Lo
		parts = append(parts, p)
	}
	if n := len(u.parts); n > 0 && tail > 0 {
		last := u.parts[n-1]
		parts = append(parts, core.Range{Lo: last.Hi - min(tail, last.Hi-last.Lo), Hi: last.Hi})
	}
	u.parts = parts
}

// leaveOut notes what is not in the small core.
func (s *Shrinker) leaveOut(format string, args ...any) {
	s.leftOut = append(s.leftOut, "left out: "+fmt.Sprintf(format, args...))
}
