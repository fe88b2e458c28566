package plugin

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// turn lets one call of a session at a time walk stacks: the frames of a long stack
// take 500 MiB while they are walked, described and sent, and a connection may have 256
// calls in progress. Its zero value is ready for use after begin.
type turn struct {
	held  chan struct{} // has room for the call whose turn it is
	moved atomic.Int64  // when that call last got on, in nanoseconds
	idle  time.Duration // how long it may stand still while others wait
}

// maxIdle is how long a call may stand still while others wait for it: because its host
// does not read the answers, or because a walk takes long, for which there is [maxWalk].
const maxIdle = 2 * maxWalk

func (t *turn) begin() { t.held, t.idle = make(chan struct{}, 1), maxIdle }

// take waits until no other call has the turn.
func (t *turn) take(ctx, session context.Context) error {
	look := time.NewTicker(t.idle / 60)
	defer look.Stop()
	for {
		select {
		case t.held <- struct{}{}:
			t.move()
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-session.Done():
			return errClosed
		case <-look.C:
			if stood := time.Since(time.Unix(0, t.moved.Load())); stood > t.idle {
				return fail(protov2.ErrorReason_ERROR_REASON_SESSION_BUSY, codes.ResourceExhausted, "another call of the session walks stacks, and has sent nothing for %v: read its answers, or cancel it", t.idle)
			}
		}
	}
}

// move notes that the call whose turn it is gets on.
func (t *turn) move() { t.moved.Store(time.Now().UnixNano()) }

// leave gives the turn to another call.
func (t *turn) leave() { <-t.held }
