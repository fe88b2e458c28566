package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/internal/shrink"
	"github.com/sfcore/sfcore/process"
)

// wanted is what the handler writes to a reader that is to make a small core.
const wanted = 's'

// Small is how a reader makes a small core, if the handler wants one.
type Small struct {
	// Asked is closed, or has a byte, when the handler has decided.
	Asked io.Reader
	// Core takes the small core.
	Core io.WriteCloser
}

// make writes the small core if it is wanted. It returns what is wrong with it.
func (s *Small) make(shrinker *shrink.Shrinker, p *process.Process) []string {
	defer s.Core.Close()
	var answer [1]byte
	if _, err := io.ReadFull(s.Asked, answer[:]); err != nil || answer[0] != wanted {
		return nil
	}
	sum, err := shrinker.Write(s.Core, p, nil)
	if err != nil {
		return []string{fmt.Sprintf("the small core: %v", err)}
	}
	return sum.LeftOut
}

// smallCore is the handler's side of [Small].
type smallCore struct {
	asked *os.File // takes the decision
	core  *os.File
	// theirs are the reader's ends, which this process has, too.
	theirs []*os.File
	part   *store.Part
	err    error
}

// smallFiles is how many descriptors a reader has for a small core, from 3 on.
const smallFiles = 2

// openSmall gives a reader the pipes for a small core.
func openSmall(cmd *exec.Cmd) (*smallCore, error) {
	asked, ask, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	core, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, asked.Close(), ask.Close())
	}
	cmd.ExtraFiles = []*os.File{asked, in}
	return &smallCore{asked: ask, core: core, theirs: []*os.File{asked, in}}, nil
}

// decide tells the reader, which has begun, whether a small core is wanted.
func (s *smallCore) decide(want bool) {
	s.leave()
	if want {
		_, _ = s.asked.Write([]byte{wanted}) // a reader that has ended writes no core
	}
	_ = s.asked.Close()
}

// leave leaves the reader's ends to it, so that the pipe ends when it closes them.
func (s *smallCore) leave() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
}

// copy takes the small core from the reader. It is not complete before finish.
func (s *smallCore) copy(ctx context.Context, h *Handler) {
	if s.part, s.err = h.store.CreateCore(h.rec.ID); s.err != nil {
		_, _ = io.Copy(io.Discard, s.core) // or the reader could not go on
		return
	}
	n, err := io.Copy(s.part, io.LimitReader(interruptible{ctx, s.core}, int64(h.Config.CoreSize)))
	switch {
	case err != nil:
		s.err = err
	case n == 0:
		s.err = errors.New("the reader made none")
	case n == int64(h.Config.CoreSize):
		s.err = fmt.Errorf("larger than the %v of core-size", limit.Size(h.Config.CoreSize))
	}
	_, _ = io.Copy(io.Discard, s.core)
}

// finish keeps the small core if the reader has come to its end.
func (s *smallCore) finish(h *Handler, whole bool) error {
	switch {
	case s.part == nil:
		return s.err
	case s.err == nil && !whole:
		s.err = errors.New("the reader ended before it was complete")
	}
	if s.err != nil {
		s.part.Abandon()
		return s.err
	}
	return s.part.Finish(h.rec.UID, h.rec.GID)
}

// close closes what is open.
func (s *smallCore) close() {
	s.leave()
	_ = s.asked.Close()
	_ = s.core.Close()
}
