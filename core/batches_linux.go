package core

import (
	"sync/atomic"
	"time"

	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxPieces is how many pieces one system call copies.
	maxPieces = 512

	// copiers is how many goroutines copy, and maxWorkers bounds them: another begins
	// when one waits for a page that does not come.
	copiers    = 2
	maxWorkers = 8

	// shareForStall is the part of the time that is left, 1/8, after which a copy
	// that is not complete is left alone.
	shareForStall = 8
)

// batch is what a worker copies at once. The copies are its own until it is done.
type batch struct {
	copies []memreader.Copy
	at     []int // their indices in the list
	given  bool  // up: others make these copies, or nobody does
}

// batches cuts a list into batches of at most maxPiece bytes.
func batches(list []memreader.Copy) []*batch {
	var all []*batch
	size := 0
	for i, c := range list {
		if n := len(all); n == 0 || len(all[n-1].copies) == maxPieces || size+len(c.Data) > maxPiece {
			all = append(all, new(batch))
			size = 0
		}
		b := all[len(all)-1]
		b.copies, b.at = append(b.copies, c), append(b.at, i)
		size += len(c.Data)
	}
	return all
}

// alone returns the copies of a batch, each in a batch of its own, with new room: the
// kernel may still write to the old.
func (b *batch) alone(list []memreader.Copy) []*batch {
	all := make([]*batch, len(b.at))
	for i, at := range b.at {
		all[i] = &batch{copies: []memreader.Copy{{Addr: list[at].Addr, Data: make([]byte, len(list[at].Data))}}, at: b.at[i : i+1]}
	}
	return all
}

// copying is a list of copies in the making.
type copying struct {
	mem      *carefulMemory
	work     chan *batch
	finished chan *batch
	late     atomic.Bool
	workers  []*atomic.Pointer[batch] // what each is at
}

func (c *copying) start() {
	at := new(atomic.Pointer[batch])
	c.workers = append(c.workers, at)
	go func() {
		for !c.late.Load() {
			select {
			case b := <-c.work:
				at.Store(b)
				c.mem.ReadAll(b.copies, nil)
				at.Store(nil)
				c.finished <- b
			default:
				return
			}
		}
	}()
}

// copyUntil copies until the deadline, and reports which copies are complete. The
// others must not be touched. Goroutines of their own copy: a page of the process
// may never come. Such a page costs only the copy that needs it.
func (v *visit) copyUntil(list []memreader.Copy, deadline time.Time) (done []bool) {
	done = make([]bool, len(list))
	todo := batches(list)
	c := &copying{mem: v.mem, work: make(chan *batch, len(todo)+len(list)), finished: make(chan *batch, len(todo)+len(list))}
	for _, b := range todo {
		c.work <- b
	}
	open := len(todo)
	for range min(open, copiers) {
		c.start()
	}
	defer c.late.Store(true)
	stalled := max(time.Until(deadline)/shareForStall, nap)
	stall, end := time.NewTimer(stalled), time.NewTimer(time.Until(deadline))
	defer stall.Stop()
	defer end.Stop()
	for open > 0 {
		select {
		case b := <-c.finished:
			if b.given {
				continue
			}
			for i, at := range b.at {
				list[at], done[at] = b.copies[i], true
			}
			open--
			stall.Reset(stalled)
		case <-stall.C:
			if len(c.workers) == maxWorkers {
				return done
			}
			open += c.giveUp(list)
			c.start()
			stall.Reset(stalled)
		case <-end.C:
			return done
		}
	}
	return done
}

// giveUp leaves alone what workers are at, and returns how many batches are added.
func (c *copying) giveUp(list []memreader.Copy) (added int) {
	for _, w := range c.workers {
		b := w.Load()
		if b == nil || b.given {
			continue
		}
		b.given = true
		added--
		if len(b.at) > 1 {
			for _, one := range b.alone(list) {
				c.work <- one
				added++
			}
		}
	}
	return added
}
