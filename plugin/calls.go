package plugin

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/delve/goroutines"
	"github.com/sfcore/sfcore/memreader"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// The functions of this file are what the calls of both versions of the protocol do.
// Each takes the id of a session, and functions that convert and send what it finds.

const (
	// maxTIDs bounds the threads of a request, so that its message is not much larger
	// than its use.
	maxTIDs = 1 << 16

	// maxRead bounds a read of memory, in bytes: replies stay well below maxMessage.
	maxRead = 1 << 20

	// maxLocate bounds the addresses of a request: with names of up to 1 KiB each, the
	// reply fits in a message.
	maxLocate = 4096
)

// with calls f with the process of a session of the caller's connection.
func with(ctx context.Context, id uint64, f func(t *process.Process) error) error {
	s, err := connectionOf(ctx).session(id)
	if err != nil {
		return err
	}
	return s.with(f)
}

// head returns the report without threads and modules.
func head(ctx context.Context, id uint64) (r report.Document, err error) {
	sess, err := connectionOf(ctx).session(id)
	if err != nil {
		return r, err
	}
	err = sess.with(func(t *process.Process) error {
		r = t.Head()
		r.Problems = t.Problems()
		if sess.host != nil {
			r.Source = report.Source{Kind: "host", PID: r.Process.PID}
		}
		return nil
	})
	return r, err
}

// threadReports returns the threads without their stacks.
func threadReports(t *process.Process) []report.Thread {
	var list []report.Thread
	for _, th := range t.Threads() {
		list = append(list, report.Thread{TID: th.ID, NSTID: th.NSID, Name: th.Name, State: string(th.State), Crashed: th.Crashed})
	}
	return list
}

// threadRegisters calls f with the registers of a thread.
func threadRegisters(ctx context.Context, id uint64, tid int64, f func(*arch.Arch, *arch.Regs)) error {
	sess, err := connectionOf(ctx).session(id)
	if err != nil {
		return err
	}
	return sess.with(func(t *process.Process) error {
		th, err := sess.thread(tid)
		if err != nil {
			return err
		}
		if th.Err != nil {
			return fail(protov2.ErrorReason_ERROR_REASON_NO_REGISTERS, codes.FailedPrecondition, "the registers of thread %d are not known: %v", th.ID, th.Err)
		}
		f(t.Image().Arch, &th.Regs)
		return nil
	})
}

// readMemory returns the readable bytes at an address, and why there are no more.
func readMemory(ctx context.Context, id, addr uint64, length uint32) (data []byte, fault string, err error) {
	if length > maxRead {
		return nil, "", invalid("length is %d, more than %d", length, maxRead)
	}
	err = with(ctx, id, func(t *process.Process) error {
		var why error
		if data, why = memreader.ReadFull(t.Memory(), addr, int(length)); why != nil {
			fault = text(why.Error())
		}
		return nil
	})
	return data, fault, err
}

// locate calls f with what is at each address.
func locate(ctx context.Context, id uint64, addrs []uint64, f func(*process.Location)) error {
	if n := len(addrs); n > maxLocate {
		return invalid("addresses are %d, more than %d", n, maxLocate)
	}
	return with(ctx, id, func(t *process.Process) error {
		for _, addr := range addrs {
			if ctx.Err() != nil {
				return status.FromContextError(ctx.Err()).Err()
			}
			at := t.Locate(addr)
			f(&at)
		}
		return nil
	})
}

// inTurn calls f with a session whose turn it is to walk stacks. Its context ends with
// the call and with the session.
func inTurn(ctx context.Context, id uint64, f func(ctx context.Context, s *session) error) error {
	sess, err := connectionOf(ctx).session(id)
	if err != nil {
		return err
	}
	if err := sess.walks.take(ctx, sess.ctx); err != nil {
		return err
	}
	defer sess.walks.leave()
	walk, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(sess.ctx, cancel)()
	if err := f(walk, sess); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return sess.failure()
}

// waits returns what threads wait for. A host does not tell the system calls of its
// threads.
func waits(ctx context.Context, id uint64) (waiting report.Waiting, err error) {
	err = inTurn(ctx, id, func(ctx context.Context, sess *session) error {
		return sess.with(func(p *process.Process) error {
			if sess.host != nil {
				return nil
			}
			waits := process.NewWaits(p)
			for range process.Parallel(ctx, p, p.Threads(), func(w *process.Walker, th *core.Thread) struct{} {
				waits.Add(w.Describe(w.Walk(th), false), th)
				sess.walks.move()
				return struct{}{}
			}) {
			}
			waiting = waits.Waiting()
			return nil
		})
	})
	return waiting, err
}

// listGoroutines sends the messages of each goroutine.
func listGoroutines[M any](ctx context.Context, id uint64, opts GoroutineOptions, parts func(*report.Goroutine, bool) []M, send func(M) error) error {
	return inTurn(ctx, id, func(ctx context.Context, sess *session) error {
		return sess.with(func(p *process.Process) error {
			list := goroutines.Options{Locals: opts.Variables, RuntimeLocals: opts.Runtime}
			if !opts.Runtime {
				list.Select = func(_ int64, runtime bool) bool { return !runtime }
			}
			var sent error
			err := goroutines.List(ctx, p, list, func(g *report.Goroutine, complete bool) bool {
				for _, part := range parts(g, complete) {
					if sent = send(part); sent != nil {
						return false
					}
					sess.walks.move()
				}
				return true
			})
			switch {
			case sent != nil:
				return sent
			case err != nil && ctx.Err() == nil:
				return fail(protov2.ErrorReason_ERROR_REASON_NO_GOROUTINES, codes.FailedPrecondition, "%v", err)
			}
			return nil
		})
	})
}
