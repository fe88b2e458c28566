// Package daptest is a client of the Debug Adapter Protocol, for tests of debug
// adapters.
package daptest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	godap "github.com/google/go-dap"
)

// Timeout is how long a Client waits for a message.
const Timeout = 2 * time.Minute

// Client talks to an adapter. Its methods are safe for concurrent use, but who
// waits for events of one name must be alone.
type Client struct {
	mu      sync.Mutex
	w       io.Writer
	seq     int
	waiting map[int]chan *Message
	order   []int
	events  map[string]chan *Message
	end     error
	ended   chan struct{}
}

// Message is a response or an event.
type Message struct {
	Type       string
	Seq        int
	RequestSeq int `json:"request_seq"`
	Success    bool
	Command    string
	Event      string
	Message    string
	Body       json.RawMessage
}

// maxEvents bounds the events of one name that nobody waited for.
const maxEvents = 1 << 12

// New returns a client that reads from r and writes to w.
func New(r io.Reader, w io.Writer) *Client {
	c := &Client{w: w, waiting: map[int]chan *Message{}, events: map[string]chan *Message{}, ended: make(chan struct{})}
	go c.read(bufio.NewReader(r))
	return c
}

func (c *Client) read(r *bufio.Reader) {
	defer close(c.ended)
	for {
		content, err := godap.ReadBaseMessage(r)
		if err != nil {
			c.end = err
			return
		}
		m := new(Message)
		if err := json.Unmarshal(content, m); err != nil {
			c.end = fmt.Errorf("%s: %w", content, err)
			return
		}
		switch m.Type {
		case "response":
			c.mu.Lock()
			c.order = append(c.order, m.RequestSeq)
			ch := c.waiting[m.RequestSeq]
			delete(c.waiting, m.RequestSeq)
			c.mu.Unlock()
			if ch != nil {
				ch <- m
			}
		case "event":
			select {
			case c.channel(m.Event) <- m:
			default:
				c.end = fmt.Errorf("more than %d events %s", maxEvents, m.Event)
				return
			}
		}
	}
}

func (c *Client) channel(event string) chan *Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events[event] == nil {
		c.events[event] = make(chan *Message, maxEvents)
	}
	return c.events[event]
}

// Send sends a request, and returns its number and where the response will be.
func (c *Client) Send(command string, args any) (int, <-chan *Message, error) {
	ch := make(chan *Message, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	c.waiting[c.seq] = ch
	content, err := json.Marshal(map[string]any{"seq": c.seq, "type": "request", "command": command, "arguments": args})
	if err == nil {
		err = godap.WriteBaseMessage(c.w, content)
	}
	return c.seq, ch, err
}

// ErrTimeout is returned when a message does not come within Timeout.
var ErrTimeout = errors.New("no answer")

// Wait waits for a response that Send promised.
func (c *Client) Wait(ch <-chan *Message) (*Message, error) {
	select {
	case m := <-ch:
		return m, nil
	default:
	}
	select {
	case m := <-ch:
		return m, nil
	case <-c.ended:
		select {
		case m := <-ch:
			return m, nil
		default:
			return nil, c.end
		}
	case <-time.After(Timeout):
		return nil, ErrTimeout
	}
}

// Do sends a request and waits for the response, whose body it decodes into
// body unless that is nil. A response without success is an error of type
// *Refusal.
func (c *Client) Do(command string, args, body any) error {
	_, ch, err := c.Send(command, args)
	if err != nil {
		return err
	}
	m, err := c.Wait(ch)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", command, err)
	case !m.Success:
		return refusal(m)
	case body != nil:
		return json.Unmarshal(m.Body, body)
	}
	return nil
}

// Refusal is a response without success.
type Refusal struct {
	Command string
	Message string
	ID      int // of the error
	Show    bool
}

func (r *Refusal) Error() string { return r.Command + ": " + r.Message }

func refusal(m *Message) error {
	var body godap.ErrorResponseBody
	r := &Refusal{Command: m.Command, Message: m.Message}
	if err := json.Unmarshal(m.Body, &body); err == nil && body.Error != nil {
		r.ID, r.Show = body.Error.Id, body.Error.ShowUser
	}
	return r
}

// Event waits for the next event of a name and decodes its body, unless that is
// nil.
func (c *Client) Event(name string, body any) error {
	m, err := c.Wait(c.channel(name))
	switch {
	case err != nil:
		return fmt.Errorf("event %s: %w", name, err)
	case body != nil:
		return json.Unmarshal(m.Body, body)
	}
	return nil
}

// Answered returns the numbers of the requests that were answered, in the order
// of the responses.
func (c *Client) Answered() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]int(nil), c.order...)
}

// Ended is closed when the adapter has closed its output.
func (c *Client) Ended() <-chan struct{} { return c.ended }
