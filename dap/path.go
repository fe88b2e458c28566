package dap

import (
	"context"
	"fmt"
	"os"
	"slices"

	godap "github.com/google/go-dap"
)

// addPath opens the core file again, with a further directory to look for files
// in, and tells the client that what it knows may have changed.
func (s *session) addPath(ctx context.Context, _ *place, dir string) (string, error) {
	dir = s.config.resolve(dir)
	if st, err := os.Stat(dir); err != nil {
		return "", newError(idExpression, "path: %v", err)
	} else if !st.IsDir() {
		return "", newError(idExpression, "path: %s is not a directory", dir)
	}
	p := s.spec
	p.Options.Paths = append(slices.Clone(p.Options.Paths), dir)
	if p.PID != 0 {
		s.spec = p
		return fmt.Sprintf("%s will be used from the next snapshot on; pause takes one", dir), nil
	}
	if err := s.take(ctx, p); err != nil {
		return "", err
	}
	s.then(func() {
		snap := s.snap
		if s.client.SupportsInvalidatedEvent {
			s.event("invalidated", &godap.InvalidatedEventBody{Areas: []godap.InvalidatedAreas{"all"}})
		}
		fetches := s.config.Debuginfod.on
		s.background.Go(func() { s.sendModules(snap, "changed", fetches) })
	})
	return fmt.Sprintf("%s is now used", dir), nil
}
