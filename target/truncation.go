package target

import (
	"errors"

	"github.com/sfcore/sfcore/memreader"
)

// TruncationReport says what was lost with the end of a core file.
type TruncationReport struct {
	// Mappings are those that have lost memory, up to 1000 of them;
	// MappingCount is their number.
	Mappings     []MappingReport `json:"mappings"`
	MappingCount int             `json:"mappingCount"`
	// Threads are the ids of the threads whose stacks end where that memory
	// begins.
	Threads []int `json:"threads"`
}

// MappingReport is a range of addresses that the process had mapped: End is the
// one after the last.
type MappingReport struct {
	Start Addr   `json:"start"`
	End   Addr   `json:"end"`
	Path  string `json:"path,omitempty"`
}

// maxLostMappings bounds the mappings that are listed: a process may have
// hundreds of thousands, and only the first tell anything.
const maxLostMappings = 1000

// truncation describes what is missing of the image; nil if nothing is. It walks
// the stacks to see which are affected.
func (t *Target) truncation() *TruncationReport {
	tr := t.img.Truncated
	if tr == nil {
		return nil
	}
	r := &TruncationReport{Mappings: []MappingReport{}, MappingCount: len(tr.Mappings), Threads: []int{}}
	for _, n := range tr.Mappings[:min(len(tr.Mappings), maxLostMappings)] {
		m := &t.img.Mappings[n]
		r.Mappings = append(r.Mappings, MappingReport{Start: Addr(m.Lo), End: Addr(m.Hi), Path: m.Path})
	}
	w := t.NewWalker()
	for i := range t.img.Threads {
		if s := w.Walk(&t.img.Threads[i]); !s.Complete() && endsAtCut(s) {
			r.Threads = append(r.Threads, s.Thread.ID)
		}
	}
	return r
}

// endsAtCut reports whether the walk of a stack failed for want of memory that
// the core file was to hold.
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
