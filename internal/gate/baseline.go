package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// baselineSchema names the format of baselines.
const baselineSchema = "sfcore.sframe-baseline/1"

// Baseline are the findings of an earlier run. The nil Baseline has none.
type Baseline struct {
	counts map[baselineKey]int
}

type baselineKey struct{ file, id, function, field string }

type jsonBaseline struct {
	Schema   string            `json:"schema"`
	Findings []baselineFinding `json:"findings"`
}

type baselineFinding struct {
	File     string `json:"file"`
	ID       string `json:"id"`
	Function string `json:"function,omitempty"`
	Field    string `json:"field,omitempty"`
	Count    int    `json:"count"`
}

// ParseBaseline reads what [NewBaseline] returns.
func ParseBaseline(text []byte) (*Baseline, error) {
	if n := bytes.Count(text, []byte{'{'}); n > 8*maxListed { // names of functions may have some
		return nil, fmt.Errorf("it is not a baseline: it has more than %d findings", maxListed)
	}
	var j jsonBaseline
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("it is not a baseline: %w", err)
	}
	if j.Schema != baselineSchema {
		return nil, fmt.Errorf("it is not a baseline: its schema is %q, not %q; --write-baseline writes one", j.Schema, baselineSchema)
	}
	b := &Baseline{counts: map[baselineKey]int{}}
	for _, f := range j.Findings {
		b.counts[baselineKey{f.File, f.ID, f.Function, f.Field}] += f.Count
	}
	return b, nil
}

// has reports whether a finding was there before, at least as often.
func (b *Baseline) has(f *File, finding *Finding) bool {
	return b != nil && finding.Count <= b.counts[keyOf(f, finding)]
}

func keyOf(f *File, finding *Finding) baselineKey {
	return baselineKey{f.Name, finding.ID, finding.Function, finding.Field}
}

// NewBaseline returns a baseline of the findings that fail, and of those that an
// earlier baseline has.
func NewBaseline(verdicts []*Verdict) []byte {
	j := jsonBaseline{Schema: baselineSchema, Findings: []baselineFinding{}}
	for _, v := range verdicts {
		for i := range v.Judged {
			if f := &v.Judged[i]; f.State == New || f.State == Unchanged {
				j.Findings = append(j.Findings, baselineFinding{v.Name, f.ID, f.Function, f.Field, f.Count})
			}
		}
	}
	slices.SortStableFunc(j.Findings, func(a, b baselineFinding) int { return strings.Compare(a.File, b.File) })
	text, err := json.MarshalIndent(&j, "", " ")
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return append(text, '\n')
}
