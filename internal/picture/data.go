package picture

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/unwind"
)

// pageData is what the script of the page reads: columns of numbers, most of which are
// indexes. Texts are where other members have their numbers.
type pageData struct {
	Kind      Kind           `json:"kind"`
	Texts     []string       `json:"texts"`
	Methods   []string       `json:"methods"`
	Trusts    []string       `json:"trusts"` // from the best to the worst
	Reasons   []string       `json:"reasons"`
	Frames    pageFrames     `json:"frames"`
	Parents   []int          `json:"parents"` // of nodes: how far before the node; node 0 is the root
	Nodes     []int          `json:"nodes"`   // their frames; -1 for the root
	Stacks    pageStacks     `json:"stacks"`
	Snapshots []pageSnapshot `json:"snapshots"`
	// Locals has the variables of frames by stack, where there are any.
	Locals map[int][][]text `json:"locals,omitempty"`
}

type pageFrames struct {
	Name   []text `json:"name"`
	File   []text `json:"file"`
	Line   []int  `json:"line"`
	Module []text `json:"module"`
	Doubt  []text `json:"doubt"`
	How    []int  `json:"how"` // method * 16 + trust * 4 + 2 if inlined + 1 if a signal handler was called
	PC     string `json:"pc"`  // hexadecimal, separated by spaces
}

type pageStacks struct {
	ID     []int64 `json:"id"`
	Name   []text  `json:"name"`
	State  []text  `json:"state"`
	Node   []int   `json:"node"`
	Reason []int   `json:"reason"` // -1 if the stack was followed to its end
	Detail []text  `json:"detail"`
	Crash  []int   `json:"crash"` // the stacks of threads that crashed
}

type pageSnapshot struct {
	Time  string `json:"time"`
	First int    `json:"first"`
	End   int    `json:"end"`
}

// data returns the data of the page as JSON that may stand in a script element: it
// has no <, > or &, and no character that is not shown as it is.
func (c *Collection) data() ([]byte, error) {
	d := pageData{Kind: c.kind, Texts: c.texts.all, Reasons: []string{}, Locals: map[int][][]text{}}
	var methods table[unwind.Method]
	d.Trusts = []string{unwind.Full.String(), unwind.Checked.String(), unwind.Guess.String()}
	pcs := make([]string, 0, len(c.frames.all))
	for i := range c.frames.all {
		f, r := &c.frames.all[i], &d.Frames
		r.Name = append(r.Name, cmp.Or(f.function, f.place))
		r.File = append(r.File, f.file)
		r.Line = append(r.Line, f.line)
		r.Module = append(r.Module, f.moduleName)
		r.Doubt = append(r.Doubt, f.doubt)
		how := methods.index(f.method)<<4 | rank(f.trust)<<2
		if f.inlined {
			how |= 2
		}
		if f.signal {
			how |= 1
		}
		r.How = append(r.How, how)
		pcs = append(pcs, strconv.FormatUint(f.pc, 16))
	}
	for _, m := range methods.all {
		d.Methods = append(d.Methods, m.String())
	}
	d.Frames.PC = strings.Join(pcs, " ")
	for i, n := range c.nodes.all {
		d.Parents = append(d.Parents, i-n.parent)
		d.Nodes = append(d.Nodes, n.frame)
	}
	var reasons table[unwind.Reason]
	for i := range c.stacks {
		s, r := &c.stacks[i], &d.Stacks
		r.ID = append(r.ID, s.id)
		r.Name = append(r.Name, s.name)
		r.State = append(r.State, s.state)
		r.Node = append(r.Node, s.innermost)
		reason, detail := -1, 0
		if s.reason != unwind.Outermost {
			reason, detail = reasons.index(s.reason), s.detail
		}
		r.Reason = append(r.Reason, reason)
		r.Detail = append(r.Detail, detail)
		if s.crashed {
			r.Crash = append(r.Crash, i)
		}
		if s.locals != nil {
			d.Locals[i] = s.locals
		}
	}
	for _, r := range reasons.all {
		d.Reasons = append(d.Reasons, r.String())
	}
	for i := range c.snapshots {
		s := &c.snapshots[i]
		d.Snapshots = append(d.Snapshots, pageSnapshot{s.source.Time, s.first, s.end})
	}
	doc, err := json.Marshal(&d)
	if err != nil {
		return nil, err
	}
	return display.JSON(doc), nil
}

// rank is 0 for the best trust.
func rank(t unwind.Trust) int {
	switch t {
	case unwind.Full:
		return 0
	case unwind.Checked:
		return 1
	default:
		return 2
	}
}
