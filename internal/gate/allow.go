package gate

import (
	"bufio"
	"bytes"
	"fmt"
	"path"
	"strings"
)

// AllowList are findings that do not fail, each with the reason why.
type AllowList []*Rule

// Rule is a line of an allow-list.
type Rule struct {
	ID, File, Function string // patterns of path.Match
	Reason             string
	Line               int
	// Used is set once the rule matches a finding.
	Used bool
}

// maxRules bounds the lines of an allow-list: each is compared with each finding.
const maxRules = 10_000

// ParseAllowList reads an allow-list. Each line has three patterns, for the ID, the
// file and the function of findings, and the reason behind a #:
//
//	plt-got-offset  *  *  # GNU ld; nothing samples these entries
//
// A pattern for files that has no slash is compared with the base name.
func ParseAllowList(text []byte) (AllowList, error) {
	var list AllowList
	known := Meanings()
	in := bufio.NewScanner(bytes.NewReader(text))
	for line := 1; in.Scan(); line++ {
		what, reason, _ := strings.Cut(in.Text(), "#")
		fields := strings.Fields(what)
		if len(fields) == 0 {
			continue
		}
		r := &Rule{Line: line, Reason: strings.TrimSpace(reason)}
		switch {
		case len(fields) != 3:
			return nil, fmt.Errorf("line %d: there are %d words before the #; write the name of a finding, a file and a function, such as: plt-got-offset * * # reason", line, len(fields))
		case r.Reason == "":
			return nil, fmt.Errorf("line %d: the reason is missing; write it behind a #", line)
		case len(list) == maxRules:
			return nil, fmt.Errorf("line %d: there are more than %d rules", line, maxRules)
		}
		r.ID, r.File, r.Function = fields[0], fields[1], fields[2]
		for _, pattern := range fields {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("line %d: %q is not a pattern", line, pattern)
			}
		}
		if !strings.ContainsAny(r.ID, `*?[\`) && known[r.ID] == "" {
			return nil, fmt.Errorf("line %d: there is no finding called %s; see docs/sframe-gate.md", line, r.ID)
		}
		list = append(list, r)
	}
	return list, in.Err()
}

// find returns the first rule for a finding of a file, or nil.
func (l AllowList) find(f *File, finding *Finding) *Rule {
	for _, r := range l {
		file := f.Name
		if !strings.Contains(r.File, "/") {
			file = path.Base(file)
		}
		if match(r.ID, finding.ID) && match(r.File, file) && (r.Function == "*" || match(r.Function, finding.Function)) {
			r.Used = true
			return r
		}
	}
	return nil
}

// Unused returns the rules that matched nothing.
func (l AllowList) Unused() (list []*Rule) {
	for _, r := range l {
		if !r.Used {
			list = append(list, r)
		}
	}
	return list
}

func match(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
