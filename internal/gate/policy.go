package gate

import (
	"github.com/sfcore/sfcore/sframe"
)

// Policy says what is good enough.
type Policy struct {
	// Least is the severity from which a finding fails.
	Least sframe.Severity
	// MinCoverage is the share of the code with unwind tables that .sframe has to cover
	// in each file with a section, 0 to 1.
	MinCoverage float64
	// MaxSize is how large .sframe may be beside .eh_frame and .eh_frame_hdr, as a
	// factor; 0 for any size.
	MaxSize float64
	// Required is set if each file with code needs a section.
	Required bool
	// Allowed are findings that may be there, and Before those that were there in an
	// earlier run. Both may be nil.
	Allowed AllowList
	Before  *Baseline
}

// State says what becomes of a finding.
type State string

// The states. Only New fails.
const (
	New       State = "new"
	Minor     State = "minor"   // less severe than what fails
	Excused   State = "allowed" // on the allow-list
	Unchanged State = "baseline"
)

// Judged is a finding with what becomes of it.
type Judged struct {
	Finding
	State State
	// Reason is that of the allow-list.
	Reason string
}

// Verdict is the outcome for one file.
type Verdict struct {
	*File
	Judged []Judged
	// Failed is the number of findings that fail.
	Failed int
}

// Judge decides for each finding of a file whether it fails.
func (p *Policy) Judge(f *File) *Verdict {
	v := &Verdict{File: f}
	p.thresholds(f)
	for i := range f.Findings {
		j := Judged{Finding: f.Findings[i], State: New}
		if rule := p.Allowed.find(f, &j.Finding); rule != nil {
			j.State, j.Reason = Excused, rule.Reason
		} else if p.Before.has(f, &j.Finding) {
			j.State = Unchanged
		} else if j.Severity > p.Least {
			j.State = Minor
		} else {
			v.Failed++
		}
		v.Judged = append(v.Judged, j)
	}
	return v
}

// thresholds adds findings for what a file does not reach.
func (p *Policy) thresholds(f *File) {
	e := newExamination(f)
	switch covered := f.Covered(); {
	case !f.HasSFrame:
		if p.Required && f.Code > 0 {
			e.found("section-missing", "", "there is no .sframe section")
		}
		return
	case covered < p.MinCoverage:
		e.found("coverage-low", "", ".sframe covers %.2f%% of the code with unwind tables, at least %.2f%% are required", 100*covered, 100*p.MinCoverage)
	}
	if p.MaxSize > 0 && f.CFIBytes > 0 && float64(f.SFrameBytes) > p.MaxSize*float64(f.CFIBytes) {
		e.found("size-large", "", ".sframe has %d bytes, %.1f%% of the %d of .eh_frame and its header; at most %.1f%% are allowed",
			f.SFrameBytes, 100*float64(f.SFrameBytes)/float64(f.CFIBytes), f.CFIBytes, 100*p.MaxSize)
	}
	e.finish()
}
