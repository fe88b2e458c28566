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
	variables, raw, lines bool     // of all stacks
	full                  bool     // all of that, of the stacks that --full is about
	crashed               bool     // which are those that crashed
	sources               *sources // of both
}

func (c *btCommand) details(t *process.Process) *details {
	d := &details{variables: c.locals, raw: c.raw, lines: c.source >= 0, full: c.full}
	d.crashed = len(c.threads) == 0 && slices.ContainsFunc(t.Threads(), func(th *core.Thread) bool { return th.Crashed })
	d.sources = &sources{process: t, around: c.around()}
	return d
}

// add adds the details of a stack to its report.
func (d *details) add(w *process.Walker, s *process.Stack, r *report.Thread) {
	full := d.full && (r.Crashed || !d.crashed)
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
