package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	// callTime is how long dlv may take for the answers to a batch of calls.
	// While the process runs it gives most of them only at the next stop.
	callTime = 10 * time.Second

	// maxReply bounds an answer, in bytes: the list of 65,536 threads, with the
	// function and the breakpoint of each.
	maxReply = 64 << 20

	// maxBatch bounds the calls that wait for answers, so that a batch fits in
	// the buffers of a socket: dlv answers a call before it reads the next.
	maxBatch = 64

	// maxSaid bounds how much of an error is repeated, in bytes.
	maxSaid = 512
)

// client speaks dlv's dialect of JSON-RPC 1.0: requests and answers follow one
// another without a separator. It is safe for concurrent use.
type client struct {
	mu   sync.Mutex
	conn net.Conn
	in   io.LimitedReader
	dec  *json.Decoder
	room int64  // for an answer, in bytes
	last uint64 // request id
	err  error  // the connection is no longer usable
}

// call is a method of dlv's RPCServer with its arguments. The answer is decoded into
// reply.
type call struct {
	method      string
	args, reply any
	err         error // what dlv says instead of an answer
}

// dial connects to an address: HOST:PORT or unix:PATH.
func dial(ctx context.Context, addr string) (*client, error) {
	network, address := "tcp", addr
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, address = "unix", path
	}
	conn, err := (&net.Dialer{Timeout: callTime}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("no dlv --headless listens at %s (without --accept-multiclient, dlv stops listening after its first client): %w", addr, err)
	}
	return newClient(conn), nil
}

func newClient(conn net.Conn) *client {
	c := &client{conn: conn, room: maxReply}
	c.in.R = conn
	c.dec = json.NewDecoder(&c.in)
	return c
}

// close leaves dlv and the process unchanged: a dlv that accepts several clients
// keeps running.
func (c *client) close() { _ = c.conn.Close() }

type request struct {
	Method string `json:"method"`
	Params [1]any `json:"params"`
	ID     uint64 `json:"id"`
}

type response struct {
	ID     uint64          `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  any             `json:"error"`
}

var errNoAnswer = fmt.Errorf("dlv did not answer within %v; the process may have continued", callTime)

// do makes calls and waits for the answers. The error is the connection's; each call
// holds its own error.
func (c *client) do(ctx context.Context, calls ...*call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(calls) > 0 && c.err == nil {
		batch := calls[:min(len(calls), maxBatch)]
		calls = calls[len(batch):]
		err := c.exchange(ctx, batch)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			err = errNoAnswer
		}
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		c.err = err
	}
	return c.err
}

func (c *client) exchange(ctx context.Context, calls []*call) error {
	if err := c.conn.SetDeadline(time.Now().Add(callTime)); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	waiting := make(map[uint64]*call, len(calls))
	for _, call := range calls {
		c.last++
		waiting[c.last] = call
		if err := enc.Encode(request{"RPCServer." + call.method, [1]any{call.args}, c.last}); err != nil {
			return err
		}
	}
	if _, err := c.conn.Write(out.Bytes()); err != nil {
		return err
	}
	for len(waiting) > 0 {
		var r response
		c.in.N = c.room
		if err := c.dec.Decode(&r); err != nil {
			return c.explain(err)
		}
		call := waiting[r.ID]
		if call == nil {
			return fmt.Errorf("the server is not a dlv --headless: it answered request %d, which was not made", r.ID)
		}
		delete(waiting, r.ID)
		if r.Error != nil {
			call.err = errors.New(cut(fmt.Sprint(r.Error)))
		} else if err := json.Unmarshal(r.Result, call.reply); err != nil {
			return fmt.Errorf("the answer to %s: %w", call.method, err)
		}
	}
	return nil
}

// explain says what the end of a connection means.
func (c *client) explain(err error) error {
	timeout := net.Error(nil)
	switch {
	case c.in.N == 0:
		return fmt.Errorf("the answer has more than %d bytes", c.room)
	case errors.As(err, &timeout) && timeout.Timeout():
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("dlv closed the connection")
	}
	return fmt.Errorf("the server is not a dlv --headless: %w", err)
}

func cut(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxSaid)], "\uFFFD") }
