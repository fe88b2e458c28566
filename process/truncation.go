package process

import (
	"errors"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/memreader"
)

// maxLostMappings bounds the mappings that are listed. A process may have hundreds of
// thousands, and only the first ones are of interest.
const maxLostMappings = 1000

// truncation describes what is missing in the image. It returns nil if nothing is
// missing. It walks the stacks to find out which ones are affected.
func (p *Process) truncation() *report.Truncation {
	tr := p.img.Truncated
	if tr == nil {
		return nil
	}
	r := &report.Truncation{Mappings: []report.Mapping{}, MappingCount: len(tr.Mappings), Threads: []int{}}
	for _, n := range tr.Mappings[:min(len(tr.Mappings), maxLostMappings)] {
		m := &p.img.Mappings[n]
		r.Mappings = append(r.Mappings, report.Mapping{Start: report.Addr(m.Lo), End: report.Addr(m.Hi), Path: m.Path})
	}
	w := p.NewWalker()
	for i := range p.img.Threads {
		if s := w.Walk(&p.img.Threads[i]); !s.Complete() && endsAtCut(s) {
			r.Threads = append(r.Threads, s.Thread.ID)
		}
	}
	return r
}

// endsAtCut reports whether the walk of a stack failed because it needed memory that
// was in the missing part of the core file.
func endsAtCut(s *Stack) bool {
	errs := []error{s.Stop.Detail}
	if n := len(s.Frames); n > 0 {
		errs = append(errs, s.Frames[n-1].Skipped)
	}
	for _, err := range errs {
		if fault, ok := errors.AsType[*memreader.FaultError](err); ok && fault.Why == memreader.Truncated {
			return true
		}
	}
	return false
}
