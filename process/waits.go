package process

import (
	"cmp"
	"slices"
	"sync"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/waits"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
)

// Waits finds out what threads wait for. It is safe for concurrent use.
type Waits struct {
	process *Process
	threads map[uint32]int // ids in reports, by those that the process uses; 0 if several threads have one

	mu    sync.Mutex
	added []addedThreads
}

// addedThreads are threads that have the same stack.
type addedThreads struct {
	function waits.Function // in which they wait, if they do
	threads  []*core.Thread
}

// NewWaits returns a Waits for the threads of p.
func NewWaits(p *Process) *Waits {
	w := &Waits{process: p, threads: make(map[uint32]int, len(p.img.Threads))}
	for i := range p.img.Threads {
		th := &p.img.Threads[i]
		id := uint32(cmp.Or(th.NSID, th.ID))
		if _, twice := w.threads[id]; twice {
			w.threads[id] = 0
		} else {
			w.threads[id] = th.ID
		}
	}
	return w
}

// Add adds threads that have the same stack, which r describes. Each thread must be
// added only once.
func (w *Waits) Add(r *report.Thread, threads ...*core.Thread) {
	if len(r.Frames) == 0 || !r.Frames[0].Exact {
		return
	}
	added := addedThreads{waits.Waits(r.Frames), slices.Clone(threads)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.added = append(w.added, added)
}

// Waiting returns what the threads that were added wait for. Where nothing records
// who holds a lock, it looks at the variables of all threads.
func (w *Waits) Waiting() report.Waiting {
	var found []waits.Waiter
	p := w.process
	p.modules.Guard(p.img.Path, func() {
		found = w.waiters()
		p.inferOwners(found)
		p.nameLocks(found)
	})
	return waits.Gather(found)
}

// nameLocks names what is waited for by the symbols of variables.
func (p *Process) nameLocks(list []waits.Waiter) {
	addrs := make([]uint64, len(list))
	for i := range list {
		addrs[i] = list[i].Address
	}
	variables := p.modules.Variables(addrs)
	for i, addr := range addrs {
		if v := variables[addr]; v.Name != "" {
			list[i].Name = withOffset(v.Name, addr-v.Start)
		}
	}
}

// waiters returns the threads that wait, in the order of reports.
func (w *Waits) waiters() (found []waits.Waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.process
	memory := waits.Memory{Words: &memreader.Words{R: p.img.Mem, BigEndian: p.img.Arch.BigEndian}, Thread: w.thread}
	for i := range w.added {
		for _, th := range w.added[i].threads {
			if c, ok := p.futex(th, w.added[i].function); ok && memory.Readable(&c) {
				found = append(found, memory.Wait(th.ID, c, w.added[i].function))
			}
		}
	}
	order := make(map[int]int, len(p.img.Threads))
	for i, th := range p.Threads() {
		order[th.ID] = i
	}
	slices.SortFunc(found, func(a, b waits.Waiter) int { return cmp.Compare(order[a.Thread], order[b.Thread]) })
	return found
}

// thread returns the id in reports of the thread with an id in the process.
func (w *Waits) thread(id uint32) (int, bool) {
	th := w.threads[id]
	return th, th != 0
}

// futex returns the call of futex(2) in which a thread waits in a function.
func (p *Process) futex(th *core.Thread, in waits.Function) (waits.Call, bool) {
	by := &p.img.Arch.SystemCall
	call, ok := p.img.InCall(th, p.Memory())
	if !ok {
		return waits.Call{}, false
	}
	c, ok := waits.Futex(call.Args)
	switch call.Number {
	case by.Futex:
		return c, ok
	case by.Restart: // of a call with a time limit, and not always of futex
		c.Timed = true
		return c, ok && in.Kind != report.WaitFutex
	}
	return c, false
}
