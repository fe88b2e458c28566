package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/memreader"
)

// Limits of a run of sfcore-delve.
const (
	// maxTime bounds it: 10,000 goroutines take some seconds.
	maxTime = 10 * time.Minute

	// maxStderr bounds how much of its standard error is kept.
	maxStderr = 64 << 10
)

// Sink is called for each goroutine, in the order in which the process has them,
// until it returns false.
type Sink func(*Goroutine) bool

// Lister is List with the program that find returns. Tests replace it, to answer
// in sfcore-delve's place.
var Lister = func(ctx context.Context, find func() (string, error), setup *Setup, mem memreader.Reader, sink Sink) error {
	program, err := find()
	if err != nil {
		return err
	}
	return List(ctx, program, setup, mem, sink)
}

// List starts program, which is sfcore-delve, to find the goroutines of a process
// whose memory is mem.
//
// The error is delve's about the process, or says how the program failed.
// Goroutines that were found before it are valid.
func List(ctx context.Context, program string, setup *Setup, mem memreader.Reader, sink Sink) error {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	c := exec.CommandContext(ctx, program, "serve")
	c.Env = append(companion.Environ(), "GOTRACEBACK=single")
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	stderr := &firstBytes{}
	c.Stderr = stderr
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	limit.EndWithParent(c)
	if err := c.Start(); err != nil {
		return err
	}
	ended, err := Answer(NewConn(out, in), setup, mem, sink)
	cancel() // it has nothing left to do
	werr := c.Wait()
	switch {
	case ended:
		return err
	case outer.Err() != nil:
		return outer.Err()
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fmt.Errorf("delve was ended after %v", maxTime)
	case stderr.Len() > 0:
		return fmt.Errorf("delve ended: %s", lastWords(stderr.String()))
	case werr != nil:
		return fmt.Errorf("delve ended: %w", werr)
	}
	return fmt.Errorf("delve: %w", err)
}

// Answer sends setup to sfcore-delve and answers what it asks. ended tells that
// the error is what it has to say at its end, or that sink has seen enough.
func Answer(c *Conn, setup *Setup, mem memreader.Reader, sink Sink) (ended bool, err error) {
	setup.Version = Version
	if err := c.sendJSON(kindSetup, setup); err != nil {
		return false, err
	}
	for {
		kind, body, err := c.receive()
		if err != nil {
			return false, err
		}
		switch {
		case kind == kindRead && len(body) == 16:
			size := binary.BigEndian.Uint64(body[8:])
			data, _ := memreader.ReadFull(mem, binary.BigEndian.Uint64(body), int(min(size, MaxRead)))
			err = c.send(kindMemory, data)
		case kind == kindGoroutine:
			g := &Goroutine{}
			if err = json.Unmarshal(body, g); err == nil && !sink(g) {
				return true, nil
			}
		case kind == kindEnd && len(body) == 0:
			return true, nil
		case kind == kindEnd:
			return true, errors.New(string(body))
		default:
			err = fmt.Errorf("a message %q of %d bytes", kind, len(body))
		}
		if err != nil {
			return false, err
		}
	}
}

// firstBytes keeps the first bytes that are written to it.
type firstBytes struct{ bytes.Buffer }

func (b *firstBytes) Write(p []byte) (int, error) {
	_, err := b.Buffer.Write(p[:min(len(p), max(0, maxStderr-b.Len()))])
	return len(p), err
}

// lastWords returns the line in which a Go program that dies says why.
func lastWords(stderr string) string {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "runtime: out of memory") {
			return strings.TrimSpace(line)
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return first
}
