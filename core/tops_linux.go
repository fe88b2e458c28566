package core

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// halted is what is known of a thread that stands still.
type halted struct {
	regs *arch.Regs
	sp   uint64
	wait uint64 // the first argument of its system call; 0 if it is in none
}

// tops copies the top of each stack, and the locks that threads wait for, while the
// tracer's thread still reads registers. Most stacks are no longer than that. It goes by
// the mappings as they were before the stop: what was copied was there when the process
// stood still, whatever is mapped there. Its goroutines begin before the stop and, if there
// are few threads, do not sleep: to wake one takes as long as to stop ten threads.
type tops struct {
	mem      *carefulMemory
	arch     *arch.Arch
	maps     []procMapping
	follow   FollowFunc    // nil: nothing is to be followed
	asleep   []halted      // some threads that sleep
	spinning time.Duration // for how long goroutines wait without sleeping

	waiting  atomic.Int64 // goroutines that wait for the process to stand still
	standing atomic.Bool  // it does
	list     []halted     // written before told grows
	told     atomic.Int64
	all      atomic.Bool  // told does not grow any more
	open     atomic.Int64 // goroutines that copy or will copy
	done     atomic.Int64 // threads whose tops are copied
	late     atomic.Bool  // nobody waits for more

	mu     sync.Mutex
	next   int             // the first thread that is nobody's
	room   []byte          // for stacks
	most   uint64          // how many more bytes of stacks may be copied
	words  map[uint64]bool // of the locks that are copied
	stacks []copied        // in any order; they may overlap
	locks  []copied        // likewise
	more   bool            // there is more to copy than this
}

const (
	// topsAtOnce is how many threads a goroutine takes at once.
	topsAtOnce = 64

	// rehearsed is how many stacks are copied for nothing.
	rehearsed = 16

	// maxRehearsal is how long that may delay the stop.
	maxRehearsal = 5 * time.Millisecond
)

// newTops prepares to copy tops, unless a top is more than may be copied of a stack.
func (v *visit) newTops(opts *AttachOptions) *tops {
	t := &tops{mem: v.mem, arch: v.arch, maps: v.maps, room: v.topRoom, words: make(map[uint64]bool, len(v.threads))}
	t.stacks, t.locks = make([]copied, 0, len(v.threads)+newThreads), make([]copied, 0, len(v.threads)+newThreads)
	if opts.Memory == 0 { // otherwise there is more anyway
		t.follow = opts.Follow
	}
	if len(v.threads) <= few {
		t.spinning = spinning
	}
	for _, call := range v.asleep {
		if len(t.asleep) < rehearsed {
			t.asleep = append(t.asleep, halted{sp: call.sp, wait: call.args[0]})
		}
	}
	if total := opts.StackTotal / (tailShare + 1) * tailShare; opts.StackBudget >= topSize {
		t.most = total - min(total, v.sleepers.bytes)
	}
	return t
}

// begin starts a goroutine that copies, after first.
func (t *tops) begin(first func()) {
	t.open.Add(1)
	go func() {
		defer t.open.Add(-1)
		s := new(topScratch)
		t.rehearse(s)
		t.waiting.Add(1)
		if t.begun() {
			first()
			t.work(s)
		}
	}()
}

// work copies until there is no more.
func (t *tops) work(s *topScratch) {
	for !t.late.Load() {
		all := t.all.Load() // before told is read
		switch part := t.claim(); {
		case len(part) > 0:
			t.copy(part, s)
			t.done.Add(int64(len(part)))
		case all:
			return
		default:
			yield()
		}
	}
}

// rehearse copies the stacks of some threads that sleep while the process runs, for
// nothing: the first time takes several times as long, since pages of s, of the program and
// of its heap come to be then.
func (t *tops) rehearse(s *topScratch) {
	r := &tops{mem: t.mem, arch: t.arch, maps: t.maps, follow: t.follow, most: topsAtOnce * topSize, words: map[uint64]bool{}}
	part := slices.Clone(t.asleep)
	for i := range part {
		part[i].regs = &s.regs[i] // none is known
	}
	r.copy(part, s)
}

// ready reports whether all goroutines wait for the process to stand still.
func (t *tops) ready() bool { return t.waiting.Load() == t.open.Load() }

// begun waits until the process stands still, and reports whether it does.
func (t *tops) begun() bool {
	spin(time.Time{}, t.spinning, func() bool { return t.standing.Load() || t.late.Load() })
	return t.standing.Load() && !t.late.Load()
}

// await waits until everything is copied and also holds. It reports false if nothing was
// copied for a part of the time until the deadline.
func (t *tops) await(deadline time.Time, also func() bool) bool {
	stalled := time.Until(deadline) / shareForStall
	for {
		done := t.done.Load()
		if spin(time.Now().Add(stalled), spinning, func() bool { return t.open.Load() == 0 && also() }) {
			return true
		}
		if t.done.Load() == done || time.Now().After(deadline) {
			return false
		}
	}
}

// expect says how many threads will be told at most.
func (t *tops) expect(n int) { t.list = make([]halted, n) }

// tell adds a thread that stands still.
func (t *tops) tell(h halted) {
	n := t.told.Load()
	t.list[n] = h
	t.told.Store(n + 1)
}

// claim returns threads whose tops are now the caller's to copy.
func (t *tops) claim() []halted {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := min(t.next+topsAtOnce, int(t.told.Load()))
	if end == t.next { // also before there is a list
		return nil
	}
	part := t.list[t.next:end]
	t.next = end
	return part
}

// topScratch is the room of a goroutine for what it copies at once.
type topScratch struct {
	list   [2 * topsAtOnce]copied // stacks, and then locks
	sps    [topsAtOnce]uint64
	copies [2 * topsAtOnce]memreader.Copy
	regs   [topsAtOnce]arch.Regs
}

// copy copies the tops of some stacks, and the locks that their threads wait for.
func (t *tops) copy(part []halted, s *topScratch) {
	stacks, locks, more := t.plan(part, s)
	list, copies := s.list[:stacks+locks], s.copies[:stacks+locks]
	for i, c := range list {
		copies[i] = memreader.Copy{Addr: c.lo, Data: c.data}
	}
	t.mem.ReadAll(copies, nil)
	for i := range copies {
		c := &list[i]
		c.data, c.err = copies[i].Data[:copies[i].N], copies[i].Err
		more = more || c.err != nil
		if i < stacks {
			// An alternate signal stack: another stack is the thread's too.
			_, found := interruptedSP(t.arch, s.sps[i], c.data[min(s.sps[i]-c.lo, uint64(len(c.data))):])
			more = more || found
		}
	}
	more = more || t.follows(part, s)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stacks, t.locks = append(t.stacks, list[:stacks]...), append(t.locks, list[stacks:]...)
	t.more = t.more || more
}

// follows reports whether there is memory to follow from threads.
func (t *tops) follows(part []halted, s *topScratch) bool {
	if t.follow == nil {
		return false
	}
	for i := range part {
		s.regs[i] = *part[i].regs
	}
	return t.follow(t.arch, s.regs[:len(part)], nil, t.mem) != nil
}

// plan puts into s what to copy, and returns of how many stacks and locks, and whether it
// is known already that there is more.
func (t *tops) plan(part []halted, s *topScratch) (stacks, locks int, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range part {
		m := mappingOf(t.maps, h.sp)
		if m == nil {
			continue
		}
		top := topOf(h.sp, m)
		if top.size() > t.most {
			t.more = true
			continue
		}
		t.most -= top.size()
		t.more = t.more || top.hi < top.end
		s.list[stacks], s.sps[stacks] = copied{span: top, data: t.take(top.size())}, h.sp
		stacks++
	}
	for _, h := range part {
		if m := mappingOf(t.maps, h.wait); m != nil && m.read && m.write && !t.words[h.wait] {
			t.words[h.wait] = true
			lock := lockAt(h.wait, m)
			s.list[stacks+locks] = copied{span: lock, data: make([]byte, lock.size())}
			locks++
		}
	}
	return stacks, locks, t.more
}

// take returns room for a stack.
func (t *tops) take(size uint64) []byte {
	if size > uint64(len(t.room)) {
		return make([]byte, size)
	}
	room := t.room[:size:size]
	t.room = t.room[size:]
	return room
}

// topOf returns the top of a stack, from the red zone of its SP on.
func topOf(sp uint64, m *procMapping) span {
	return span{max(m.Lo, sp-min(redZone, sp)), sp + min(topSize, m.Hi-sp), m.Hi}
}

// end returns what was copied, in ascending order and without overlaps. What a goroutine
// is still at is lost.
func (t *tops) end() (stacks, locks []copied) {
	t.late.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	return apartCopies(t.stacks), apartCopies(t.locks)
}

// apartCopies returns copies in ascending order, without overlaps. The process stood still:
// what two have is the same.
func apartCopies(list []copied) []copied {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b copied) int { return cmp.Compare(a.lo, b.lo) })
	end, out := uint64(0), list[:0]
	for _, c := range list {
		if c.hi <= end {
			continue
		}
		if c.lo < end {
			c.data = c.data[min(end-c.lo, uint64(len(c.data))):]
			c.lo = end
		}
		end = c.hi
		out = append(out, c)
	}
	return out
}
