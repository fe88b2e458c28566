package main

import (
	"slices"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// fullFormats are those that have a place for all that --full adds.
var fullFormats = []string{"text", "json", "jsonl"}

// details adds to stacks what flags ask for beside functions and lines.
type details struct {
	variables, raw, lines bool                  // of all stacks
	full                  map[*core.Thread]bool // those that get all of that
	sources               *sources              // of both
}

// maxFull bounds the threads of which --full prints all there is, by their order. Where no
// thread crashed and none was chosen, it would be all of them.
const maxFull = 64

func (c *btCommand) details(t *process.Process) *details {
	d := &details{variables: c.locals, raw: c.raw, lines: c.source >= 0, full: map[*core.Thread]bool{}}
	if c.full {
		crashed := len(c.threads) == 0 && slices.ContainsFunc(t.Threads(), func(th *core.Thread) bool { return th.Crashed })
		for _, th := range t.Threads() {
			chosen := len(c.threads) == 0 || slices.Contains(c.threads, th.ID)
			if len(d.full) < maxFull && chosen && (th.Crashed || !crashed) {
				d.full[th] = true
			}
		}
	}
	d.sources = &sources{process: t, around: c.around()}
	return d
}

// add adds the details of a stack to its report.
func (d *details) add(w *process.Walker, s *process.Stack, r *report.Thread) {
	full := d.full[s.Thread]
	if d.variables || full {
		w.RawVariables = d.raw
		w.AddVariables(s, r)
	}
	if full {
		w.AddScene(s, r)
	}
	if d.lines || full {
		d.sources.add(r)
	}
}
