package dap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	godap "github.com/google/go-dap"
)

// relayed is a session that another process serves. When that is ended early, the
// client gets answers from here.
type relayed struct {
	sender // not used before the process has ended
	r      *bufio.Reader
	to     *os.File // the process's input

	lock    sync.Mutex
	waiting map[int]*request // without an answer, by Seq
	ended   error            // why the process was ended; nil while it runs
}

// relay has a process serve a session, and hands on whole messages in both directions.
func relay(ctx context.Context, run func(ctx context.Context, in, out *os.File) error, r io.Reader, w io.Writer) error {
	in, to, err := os.Pipe()
	if err != nil {
		return err
	}
	from, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close(), to.Close())
	}
	defer from.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ran := make(chan error, 1)
	go func() {
		ran <- run(ctx, in, out)
		in.Close()
		out.Close()
	}()
	s := &relayed{sender: sender{w: w}, r: bufio.NewReaderSize(r, maxHeader), to: to, waiting: map[int]*request{}}
	read := make(chan error, 1)
	go func() {
		read <- s.read()
		to.Close() // ends the process
	}()
	if err := s.answers(bufio.NewReaderSize(from, maxHeader)); err != nil {
		cancel()
		return errors.Join(fmt.Errorf("writing to the client: %w", err), <-ran)
	}
	err = <-ran
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.end(err)
	default:
		select {
		case err := <-read:
			return err
		default:
			return nil
		}
	}
	select {
	case err := <-read:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read hands on what the client sends, until it ends.
func (s *relayed) read() error {
	for {
		content, err := readMessage(s.r)
		switch {
		case errors.Is(err, errTooLarge):
			if content = append(content, `,"arguments":"too large"}`...); tooLarge(content[:len(content)-1]) == nil {
				content = make([]byte, maxMessage+1) // the process says so
			}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading from the client: %w", err)
		}
		req := &request{}
		if err := json.Unmarshal(content, req); err != nil {
			*req, _ = undecoded(content, err)
		}
		if s.request(req, content) {
			return nil
		}
	}
}

// request hands on a message, or answers it where nobody else does. It reports
// whether it was the last.
func (s *relayed) request(req *request, content []byte) (last bool) {
	s.lock.Lock()
	ended := s.ended
	if ended == nil && req.Type == "request" && len(s.waiting) <= maxWaiting {
		s.waiting[req.Seq] = &request{Request: req.Request}
	}
	s.lock.Unlock()
	switch {
	case ended == nil:
		_ = godap.WriteBaseMessage(s.to, content) // a process that has ended is noticed elsewhere
	case req.Command == "disconnect":
		s.respond(req, nil, nil)
		return true
	case req.Type == "request":
		s.respond(req, nil, ended)
	}
	return false
}

// answers hands on what the process sends, until it ends. The error is that of a
// client who cannot be written to.
func (s *relayed) answers(r *bufio.Reader) error {
	for {
		content, err := readContent(r, maxSkipped)
		if err != nil {
			return nil
		}
		var head struct {
			Type       string `json:"type"`
			Seq        int    `json:"seq"`
			RequestSeq int    `json:"request_seq"`
		}
		_ = json.Unmarshal(content, &head)
		s.lock.Lock()
		s.seq = max(s.seq, head.Seq)
		if head.Type == "response" {
			delete(s.waiting, head.RequestSeq)
		}
		s.lock.Unlock()
		if err := godap.WriteBaseMessage(s.w, content); err != nil {
			return err
		}
	}
}

// end says to the client that the process was ended, in answer to all that it waits for.
func (s *relayed) end(why error) {
	failed := newError(idOpen, "%v", why)
	s.lock.Lock()
	s.ended = failed
	waiting := s.waiting
	s.lock.Unlock()
	for _, seq := range slices.Sorted(maps.Keys(waiting)) {
		s.respond(waiting[seq], nil, failed)
	}
	s.output("important", "%v", why)
	s.event("terminated", nil)
}
