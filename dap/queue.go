package dap

import (
	"context"
	"fmt"
	"sync"
)

// maxWaiting bounds the requests that wait. Editors send a few dozen at once.
const maxWaiting = 4096

// queue holds requests until the session comes to them. Requests are answered
// one after the other, in their order; only their cancellation overtakes.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	closed  bool
	more    chan struct{} // has an element if waiting or closed may have changed

	current       int    // the Seq of the request being handled
	stop          func() // cancels it; nil if there is none
	cancelled     map[int]bool
	abort         func() // ends what requests wait for, other than their context
	progress      string // the ID of the progress it reports
	progressCount int
}

func newQueue() *queue {
	return &queue{more: make(chan struct{}, 1), cancelled: map[int]bool{}}
}

// put appends a request. It returns false if there are too many.
func (q *queue) put(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxWaiting {
		return false
	}
	q.waiting = append(q.waiting, r)
	q.signal()
	return true
}

// close ends the queue after the requests that are in it.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// next returns the next request and the context to handle it in, or nil after
// the last one or when ctx ends.
func (q *queue) next(ctx context.Context) (*request, context.Context) {
	for {
		if r, rctx, ok := q.take(ctx); ok {
			return r, rctx
		}
		select {
		case <-q.more:
		case <-ctx.Done():
			return nil, ctx
		}
	}
}

func (q *queue) take(ctx context.Context) (*request, context.Context, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil, ctx, q.closed
	}
	r := q.waiting[0]
	q.waiting = q.waiting[1:]
	rctx, stop := context.WithCancel(ctx)
	if q.cancelled[r.Seq] {
		delete(q.cancelled, r.Seq)
		stop()
	}
	q.current, q.stop = r.Seq, stop
	return r, rctx, true
}

// done ends the handling of the current request.
func (q *queue) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop()
	q.stop, q.progress = nil, ""
}

// cancel cancels a request that is waiting or being handled.
func (q *queue) cancel(seq int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stop != nil && q.current == seq {
		q.stop()
		return
	}
	for _, r := range q.waiting {
		if r.Seq == seq {
			q.cancelled[seq] = true
		}
	}
}

// reports gives the current request an ID to report progress under.
func (q *queue) reports() (id string, seq int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.progressCount++
	q.progress = fmt.Sprintf("progress-%d", q.progressCount)
	return q.progress, q.current
}

// cancelProgress cancels the request that reports progress under an ID.
func (q *queue) cancelProgress(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stop != nil && id != "" && q.progress == id {
		q.stop()
	}
}

// cancelAll cancels everything.
func (q *queue) cancelAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.waiting {
		q.cancelled[r.Seq] = true
	}
	if q.stop != nil {
		q.stop()
	}
	if q.abort != nil {
		q.abort()
	}
}

// onCancelAll sets what else cancelAll does.
func (q *queue) onCancelAll(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abort = f
}
