package process

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/sfcore/sfcore/core"
)

// stackOwners are the threads by the SP that they have, for who asks whose stack an address
// is on.
type stackOwners struct {
	once    sync.Once
	threads []stackOwner // ascending
}

type stackOwner struct {
	sp     uint64
	thread *core.Thread
}

// maxOwners bounds the threads whose stack an address may be on.
const maxOwners = 4

// stacksBelow returns the threads that have SP below an address or at it, in the same
// mapping, the nearest first.
func (p *Process) stacksBelow(addr uint64, mapping *core.Mapping) []*core.Thread {
	o := &p.owners
	o.once.Do(func() {
		for i := range p.img.Threads {
			th := &p.img.Threads[i]
			if sp, ok := th.Regs.Get(p.img.Arch.SP); ok {
				o.threads = append(o.threads, stackOwner{sp, th})
			}
		}
		slices.SortStableFunc(o.threads, func(a, b stackOwner) int { return cmp.Compare(a.sp, b.sp) })
	})
	var near []*core.Thread
	for i := sort.Search(len(o.threads), func(i int) bool { return o.threads[i].sp > addr }) - 1; i >= 0 && len(near) < maxOwners; i-- {
		if !mapping.Contains(o.threads[i].sp) {
			break
		}
		near = append(near, o.threads[i].thread)
	}
	return near
}
