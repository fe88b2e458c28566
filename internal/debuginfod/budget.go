package debuginfod

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// budget bounds all downloads of a Client together. Downloads at the same time
// share the time that passes.
type budget struct {
	time  time.Duration // for all downloads
	bytes int64         // of all downloads

	mu     sync.Mutex
	spent  time.Duration // before the downloads in progress
	active int           // downloads in progress
	since  time.Time     // when the first of these began
	taken  int64
}

// begin begins a download, which ends with the context or by calling done.
func (b *budget) begin(parent context.Context) (_ context.Context, done func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.active == 0 {
		b.since = now
	}
	left := b.time - b.spent - now.Sub(b.since)
	late := fmt.Errorf("downloads took more than %v in all (DEBUGINFOD_MAXTIME)", b.time)
	if left <= 0 {
		return nil, nil, late
	}
	b.active++
	ctx, cancel := context.WithTimeoutCause(parent, left, late)
	return ctx, func() {
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.active--; b.active == 0 {
			b.spent += time.Since(b.since)
		}
	}, nil
}

// take counts bytes, and reports whether the budget has them.
func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken += n
	return b.taken <= b.bytes
}

// left is how many bytes may still be fetched.
func (b *budget) left() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.bytes-b.taken, 0)
}

func (b *budget) exceeded() error {
	return fmt.Errorf("downloads have more than %d bytes in all (DEBUGINFOD_MAXSIZE)", b.bytes)
}
