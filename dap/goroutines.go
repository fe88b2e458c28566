package dap

import (
	"context"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/delve/goroutines"
	"github.com/sfcore/sfcore/report"
)

// goroutines lists the goroutines of a Go program, up to maxOutput bytes.
func (s *session) goroutines(ctx context.Context, _ *place, args string) (string, error) {
	if args != "" && args != "all" {
		return "", newError(idArguments, "goroutines takes no argument but all, not %q", args)
	}
	progress := s.startProgress("Listing goroutines")
	defer progress.end()
	var b strings.Builder
	cut, hidden, without := false, 0, ""
	opts := goroutines.Options{MaxFrames: s.spec.Options.MaxFrames, Select: func(_ int64, runtime bool) bool {
		if runtime && args != "all" {
			hidden++
			return false
		}
		return true
	}, Without: func(reason string) { without = reason }}
	err := goroutines.List(ctx, s.snap.process, opts, func(g *report.Goroutine, _ bool) bool {
		cut = b.Len() > maxOutput
		if !cut {
			stack := report.Thread{Stop: g.Stop}
			for i := range g.Frames {
				stack.Frames = append(stack.Frames, g.Frames[i].Frame)
			}
			s.snap.writeGoroutine(&b, g, &stack)
		}
		return !cut && ctx.Err() == nil
	})
	switch {
	case ctx.Err() != nil:
		return "", errCancelled
	case err != nil && b.Len() == 0:
		return "", newError(idOpen, "%v", err)
	case err != nil:
		fmt.Fprintf(&b, "the list is incomplete: %s\n", oneLine(err.Error()))
	case cut:
		b.WriteString("... and more; sfcore goroutines prints all\n")
	}
	if without != "" {
		fmt.Fprintf(&b, "delve did not take part: %s\n", oneLine(without))
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "%d goroutines of Go's runtime are left out; goroutines all prints them\n", hidden)
	}
	return b.String(), nil
}

// writeGoroutine writes a goroutine and its stack.
func (s *snapshot) writeGoroutine(b *strings.Builder, g *report.Goroutine, stack *report.Thread) {
	fmt.Fprintf(b, "goroutine %d", g.ID)
	if state := goroutineState(g); state != "" {
		fmt.Fprintf(b, " [%s]", oneLine(state))
	}
	if g.TID != 0 {
		fmt.Fprintf(b, " on thread %d", g.TID)
	}
	b.WriteByte('\n')
	s.writeFrames(b, stack)
}
