package dap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/process"
)

// session is one client's view of one process.
type session struct {
	sender
	server *Server
	queue  *queue
	client godap.InitializeRequestArguments

	greeted bool // initialize was answered

	// The client counts lines and columns from these numbers.
	firstLine, firstColumn int

	configured bool    // configurationDone was
	config     *config // of launch or attach; nil before
	spec       Spec
	sources    *workspace     // that snapshots share
	snap       *snapshot      // nil before, and while a live process runs
	base       int            // the first handle that no earlier snapshot used
	threads    []godap.Thread // of the last snapshot, while a live process runs
	started    uint64         // when the live process began: ids are used again

	chosen chosenFrame

	background sync.WaitGroup
	after      []func() // to do when the response is sent
	over       bool     // the client has disconnected
}

// disconnectAfter is how long disconnect lets the requests before it take.
const disconnectAfter = time.Second

func newSession(server *Server, w io.Writer) *session {
	return &session{sender: sender{w: w}, server: server, queue: newQueue(), base: 1}
}

// run serves the session until the client is done.
func (s *session) run(ctx context.Context, r io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer s.drop()
	defer cancel(nil)
	idle := newIdleTimer(s.server.Idle, func() { cancel(ErrIdle) })
	defer idle.stop()

	readErr := make(chan error, 1)
	go func() {
		readErr <- s.read(bufio.NewReaderSize(r, maxHeader), idle)
		s.queue.close()
	}()
	for !s.over && s.failed() == nil {
		req, rctx := s.queue.next(ctx)
		if req == nil {
			break
		}
		s.answer(rctx, req)
	}
	switch {
	case s.failed() != nil:
		return fmt.Errorf("writing to the client: %w", s.failed())
	case s.over:
		return nil
	case ctx.Err() != nil:
		s.event("terminated", nil)
		return context.Cause(ctx)
	}
	if err := <-readErr; !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading from the client: %w", err)
	}
	return nil
}

// read puts requests into the queue. It handles requests about the queue itself
// at once.
func (s *session) read(r *bufio.Reader, idle *idleTimer) error {
	for {
		content, err := readMessage(r)
		idle.reset()
		switch {
		case errors.Is(err, errTooLarge):
			if req := tooLarge(content); req != nil {
				if !s.queue.put(req) {
					s.respond(req, nil, req.refusal)
				}
				continue
			}
			s.output("important", "%v; it was ignored", err)
			continue
		case err != nil:
			return err
		}
		var req request
		if err := json.Unmarshal(content, &req); err != nil {
			if req, err = undecoded(content, err); err != nil {
				s.output("important", "a message cannot be decoded: %v", err)
				continue
			}
		}
		if req.Type != "request" {
			continue // nothing was asked of the client that it could answer
		}
		switch req.Command {
		case "cancel":
			s.cancel(&req)
			continue
		case "disconnect":
			timer := time.AfterFunc(disconnectAfter, s.queue.cancelAll)
			defer timer.Stop()
		}
		if !s.queue.put(&req) {
			s.respond(&req, nil, newError(idBusy, "%d requests are waiting; this one is not accepted", maxWaiting))
		}
	}
}

// undecoded returns a message that cannot be decoded as a request to refuse, if it
// is recognisable as a request.
func undecoded(content []byte, err error) (request, error) {
	var head struct {
		Seq     any
		Command any
	}
	_ = json.Unmarshal(content, &head)
	seq, isNumber := head.Seq.(float64)
	command, isText := head.Command.(string)
	if !isNumber || !isText {
		return request{}, err
	}
	req := request{refusal: newError(idArguments, "%s: %v", command, err)}
	req.Seq, req.Type, req.Command = int(seq), "request", command
	return req, nil
}

func (s *session) cancel(req *request) {
	var args godap.CancelArguments
	if len(req.Arguments) > 0 {
		if err := json.Unmarshal(req.Arguments, &args); err != nil {
			s.respond(req, nil, newError(idArguments, "cancel: %v", err))
			return
		}
	}
	s.queue.cancel(args.RequestId)
	s.queue.cancelProgress(args.ProgressId)
	s.respond(req, nil, nil)
}

// answer handles a request and sends the response.
func (s *session) answer(ctx context.Context, req *request) {
	defer s.queue.done()
	var body any
	err := cancelledOr(ctx, req.refusal)
	if err == nil || req.Command == "disconnect" {
		h, ok := handlers[req.Command]
		switch {
		case !ok:
			err = newError(idCommand, "sfcore does not know the request %q", req.Command)
		case !s.greeted && req.Command != "initialize" && req.Command != "disconnect":
			err = newError(idState, "the first request must be initialize, not %s", req.Command)
		default:
			fault := process.Guard(func() { body, err = h(s, ctx, req.Arguments) })
			if fault != nil {
				err = fmt.Errorf("a file was cut short or became unreadable while it was in use: %w", fault)
			}
		}
	}
	s.respond(req, body, err)
	after := s.after
	s.after = nil
	for _, f := range after {
		f()
	}
}

// then does something when the response to the current request has been sent.
func (s *session) then(f func()) { s.after = append(s.after, f) }

// idleTimer calls a function if it is not reset for some time.
type idleTimer struct {
	d     time.Duration
	timer *time.Timer
}

func newIdleTimer(d time.Duration, f func()) *idleTimer {
	if d <= 0 {
		return &idleTimer{}
	}
	return &idleTimer{d, time.AfterFunc(d, f)}
}

func (t *idleTimer) reset() {
	if t.timer != nil {
		t.timer.Reset(t.d)
	}
}

func (t *idleTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
