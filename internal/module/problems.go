package module

import (
	"fmt"
	"slices"
)

// maxProblems bounds the problems that are kept. A process may have a hundred
// thousand modules, with a problem or two each.
const maxProblems = 1000

// problems are what is wrong with modules, once each.
type problems struct {
	list    []error
	known   map[string]bool // the messages of list
	dropped int             // problems beyond maxProblems
}

func (p *problems) add(err error) {
	msg := err.Error()
	switch {
	case p.known[msg]:
	case len(p.list) >= maxProblems:
		p.dropped++
	default:
		if p.known == nil {
			p.known = map[string]bool{}
		}
		p.known[msg] = true
		p.list = append(p.list, err)
	}
}

func (p *problems) all() []error {
	list := slices.Clone(p.list)
	if p.dropped > 0 {
		list = append(list, fmt.Errorf("%d more problems with modules", p.dropped))
	}
	return list
}
