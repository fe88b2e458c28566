package goroutines

import (
	"context"

	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// Head is a goroutine whose stack has not been walked.
type Head struct {
	// Goroutine has neither Frames nor Stop.
	report.Goroutine

	found *wire.Goroutine
	saved gostack.Saved
}

// Heads returns up to most goroutines of a Go program, in the order in which the
// process has them, without those of Go's runtime, and whether there may be more. sfcore
// finds them itself, which takes microseconds for each, while delve reads all debug
// information first. For errors see [process.Process.Goroutines].
func Heads(ctx context.Context, p *process.Process, most int) (list []Head, more bool, err error) {
	all, err := p.Goroutines()
	if err != nil {
		return nil, false, err
	}
	w, left := walker{process: p}, maxSaved
	for g := range all {
		found := w.found(&g)
		switch left--; {
		case ctx.Err() != nil:
			return list, true, ctx.Err()
		case left < 0:
			return list, true, nil
		case found.Runtime:
			continue
		case len(list) == most:
			return list, true, nil
		}
		list = append(list, Head{report.Goroutine{
			ID: found.ID, Status: found.Status, WaitReason: found.WaitReason, TID: found.TID,
			Start: place(&found.Start), Created: place(&found.Created),
		}, found, g.Saved})
	}
	return list, false, nil
}

// Walk walks the stack of the goroutine as [List] does. The error says why it is unknown.
func (h *Head) Walk(p *process.Process, by *process.Walker) (*process.Stack, error) {
	w := walker{process: p, walker: by}
	return w.walk(h.found, h.saved.Regs(p.Image().Arch))
}
