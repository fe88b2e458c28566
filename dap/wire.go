package dap

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	godap "github.com/google/go-dap"
)

const (
	// maxHeader bounds a line of a message's header.
	maxHeader = 4096

	// maxHeaderLines bounds the lines of a header: there are two fields.
	maxHeaderLines = 4

	// maxMessage bounds a message of the client, as go-dap does. The largest
	// that editors send are breakpoints of a file.
	maxMessage = 4 << 20

	// maxSkipped bounds a message that is too large but skipped.
	maxSkipped = 1 << 30
)

// errTooLarge is a message that was skipped.
var errTooLarge = fmt.Errorf("a message is larger than %d bytes", maxMessage)

// errHTTP keeps web pages out, which may send requests to ports of this machine.
var errHTTP = errors.New("this is a request of HTTP, as browsers send; sfcore speaks only the Debug Adapter Protocol")

// readMessage reads the content of a message of the client [DAP: Base Protocol]. With
// errTooLarge it returns the outline of the message, and the next one can be read; other
// errors are final.
func readMessage(r *bufio.Reader) ([]byte, error) { return readContent(r, maxMessage) }

// readContent reads the content of a message of at most so many bytes.
func readContent(r *bufio.Reader, most int64) ([]byte, error) {
	size := int64(-1)
	for n := 0; ; n++ {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || n == maxHeaderLines:
			return nil, errors.New("a message header does not end; is this the Debug Adapter Protocol?")
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		name, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		if len(name) == 0 && size >= 0 {
			break
		}
		switch {
		case bytes.Contains(line, []byte(" HTTP/")):
			return nil, errHTTP
		case ok && bytes.EqualFold(name, []byte("Content-Length")):
			size, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil || size < 0 || size > maxSkipped {
				return nil, fmt.Errorf("Content-Length: %q is not a size", value)
			}
		case !ok || !bytes.EqualFold(name, []byte("Content-Type")):
			return nil, fmt.Errorf("%q is not a header field of the Debug Adapter Protocol", line)
		}
	}
	if size > most {
		var o contour
		if _, err := io.CopyN(&o, r, size); err != nil {
			return nil, err
		}
		return o.members, errTooLarge
	}
	content := make([]byte, size)
	_, err := io.ReadFull(r, content)
	return content, err
}

// request is a request with its arguments not yet decoded.
type request struct {
	godap.Request
	Arguments json.RawMessage `json:"arguments"`

	refusal error // if the request cannot be understood
}

type response struct {
	godap.Response
	Body any `json:"body,omitempty"`
}

type event struct {
	godap.Event
	Body any `json:"body,omitempty"`
}

// sender writes messages, numbered in the order in which they are written.
type sender struct {
	mu  sync.Mutex
	w   io.Writer
	seq int
	err error // of the first write that failed, which was the last
}

func (s *sender) respond(req *request, body any, err error) {
	r := &response{Body: body}
	r.Type, r.RequestSeq, r.Command, r.Success = "response", req.Seq, req.Command, err == nil
	if err != nil {
		m := describe(err)
		r.Message = lines(err.Error())
		if errors.Is(err, errCancelled) {
			r.Message = "cancelled" // as the specification spells it
		}
		r.Body = &godap.ErrorResponseBody{Error: m}
	}
	s.send(r, &r.Seq)
}

func (s *sender) event(name string, body any) {
	e := &event{Body: body}
	e.Type, e.Event.Event = "event", name
	s.send(e, &e.Seq)
}

// output shows text to the user.
func (s *sender) output(category, format string, args ...any) {
	s.event("output", &godap.OutputEventBody{Category: category, Output: lines(fmt.Sprintf(format, args...)) + "\n"})
}

func (s *sender) send(message any, seq *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.seq++
	*seq = s.seq
	content, err := json.Marshal(message)
	if err == nil {
		err = godap.WriteBaseMessage(s.w, content)
	}
	s.err = err
}

// failed returns the error that keeps messages from being written.
func (s *sender) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
