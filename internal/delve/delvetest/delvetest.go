// Package delvetest lets tests do without the program sfcore-delve.
package delvetest

import (
	"context"
	"io"
	"testing"

	"github.com/sfcore/sfcore/internal/delve/backend"
	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/memreader"
)

// Here has sfcore-delve's part done by the test's own program, which emulators cannot
// start again.
func Here(t *testing.T) {
	old := wire.Lister
	t.Cleanup(func() { wire.Lister = old })
	wire.Lister = func(_ context.Context, _ func() (string, error), setup *wire.Setup, mem memreader.Reader, sink wire.Sink) error {
		toDelve, in := io.Pipe()
		out, fromDelve := io.Pipe()
		done := make(chan error)
		go func() {
			err := backend.Serve(toDelve, fromDelve, func(uint64) error { return nil })
			_ = fromDelve.Close()
			done <- err
		}()
		_, err := wire.Answer(wire.NewConn(out, in), setup, mem, sink)
		_, _, _ = in.Close(), out.Close(), <-done
		return err
	}
}
