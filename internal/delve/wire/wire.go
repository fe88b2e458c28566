package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Version is the version of the messages. Both programs are built together; a
// program of another build is refused.
const Version = 4

// Setup is the first message to sfcore-delve.
type Setup struct {
	Version int
	// Arch is the name that delve has for the architecture.
	Arch string
	// File is the Go program or library, Debug its separate debug file, "" if
	// there is none.
	File, Debug string
	// Entry is where File's entry point is in memory.
	Entry   uint64
	Threads []Thread
	// MaxFrames bounds a stack.
	MaxFrames int
	// Locals asks for variables, Runtime for those of the runtime's functions
	// too.
	Locals, Runtime bool
	// Only is the id of the one goroutine that is asked for; 0 for all.
	Only int64
}

// Thread is a thread of the process.
type Thread struct {
	ID int
	// Regs are pr_reg of struct elf_prstatus.
	Regs []byte
}

// A message is its kind, one byte, the length of its body, 4 bytes, and the
// body.
const (
	// To sfcore-delve.
	kindSetup  = 'S' // a Setup, in JSON
	kindMemory = 'M' // the readable part of the requested memory

	// From it.
	kindRead      = 'R' // asks for memory: address and size, 8 bytes each
	kindGoroutine = 'G' // a Goroutine, in JSON
	kindEnd       = 'E' // the end, with the reason if it is early
)

const (
	// maxBody bounds a message: a goroutine with the variables of all frames.
	maxBody = 64 << 20

	// MaxRead bounds the memory of one request.
	MaxRead = 1 << 20
)

// Conn is one end of the connection with sfcore-delve.
type Conn struct {
	r *bufio.Reader
	w *bufio.Writer
}

// NewConn returns an end of a connection.
func NewConn(r io.Reader, w io.Writer) *Conn {
	return &Conn{bufio.NewReaderSize(r, 64<<10), bufio.NewWriterSize(w, 64<<10)}
}

func (c *Conn) send(kind byte, body []byte) error {
	var head [5]byte
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], uint32(len(body)))
	_, _ = c.w.Write(head[:])
	_, _ = c.w.Write(body)
	return c.w.Flush() // the first error of all the writes
}

func (c *Conn) sendJSON(kind byte, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > maxBody {
		return fmt.Errorf("a message of %d bytes, more than %d", len(body), maxBody)
	}
	return c.send(kind, body)
}

func (c *Conn) receive() (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxBody {
		return 0, nil, fmt.Errorf("a message of %d bytes, more than %d", size, maxBody)
	}
	body = make([]byte, size)
	_, err = io.ReadFull(c.r, body)
	return head[0], body, err
}

// Setup receives the first message.
func (c *Conn) Setup() (*Setup, error) {
	kind, body, err := c.receive()
	if err != nil {
		return nil, err
	}
	s := &Setup{}
	if kind != kindSetup {
		return nil, fmt.Errorf("a message %q, not %q", kind, kindSetup)
	}
	if err := json.Unmarshal(body, s); err != nil {
		return nil, err
	}
	if s.Version != Version {
		return nil, fmt.Errorf("sfcore-delve is of another build than sfcore (%d, not %d)", Version, s.Version)
	}
	return s, nil
}

// Read asks for up to size bytes of memory, at most [MaxRead], and returns those
// that could be read.
func (c *Conn) Read(addr uint64, size int) ([]byte, error) {
	if err := c.send(kindRead, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, addr), uint64(size))); err != nil {
		return nil, err
	}
	kind, body, err := c.receive()
	if err == nil && kind != kindMemory {
		err = fmt.Errorf("a message %q, not %q", kind, kindMemory)
	}
	return body, err
}

// Send hands over a goroutine.
func (c *Conn) Send(g *Goroutine) error { return c.sendJSON(kindGoroutine, g) }

// End says that all goroutines were sent, or why not.
func (c *Conn) End(reason error) error {
	var text []byte
	if reason != nil {
		text = []byte(reason.Error())
	}
	return c.send(kindEnd, text)
}
