package process

import (
	"slices"
	"sync"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// maxTailWays bounds the functions that are looked at to find the way from a call to
	// a function, and maxTailDepth the jumps of one way.
	maxTailWays  = 1 << 8
	maxTailDepth = 1 << 5
	// maxTailMemo bounds the ways that are remembered.
	maxTailMemo = 1 << 14
	// maxTailNames bounds the names that are looked up in symbol tables, which takes
	// milliseconds in the largest.
	maxTailNames = 64
)

// tailCall is a function that was called, and then jumped to another one at its end.
type tailCall struct {
	pc    uint64 // of the jump, or behind it
	exact bool
}

// lookupPC returns the address of the jump, or one within it.
func (c *tailCall) lookupPC() uint64 {
	if c.exact {
		return c.pc
	}
	return c.pc - 1
}

// tailCalls are the ways that were found so far.
type tailCalls struct {
	mu    sync.Mutex
	memo  map[tailKey][]tailCall
	names map[tailName]uint64 // of functions that are elsewhere; 0 if not found
}

// tailName is a function that code of a module jumps to.
type tailName struct {
	from *module.Module
	name string
}

// tailKey is where a call returns to and the lookup pc of the frame that it led to.
type tailKey struct{ ret, pc uint64 }

// between returns the functions that the caller called and whose jumps led to the
// function of f, the last jump first. It returns none unless debug information
// describes all tail calls on all ways that might lead there, and only one does.
func (p *Process) between(f, caller *unwind.Frame) []tailCall {
	if f.Signal || caller.Evidence&unwind.Jumped == 0 || !caller.Called() {
		return nil
	}
	key := tailKey{caller.PC, f.LookupPC()}
	p.tails.mu.Lock()
	defer p.tails.mu.Unlock()
	way, known := p.tails.memo[key]
	if known {
		return way
	}
	if p.tails.memo == nil || len(p.tails.memo) >= maxTailMemo {
		p.tails.memo = map[tailKey][]tailCall{}
	}
	if err := module.Guard(func() { way = p.findTails(f, caller) }); err != nil {
		p.modules.Note(err)
		way = nil
	}
	p.tails.memo[key] = way
	return way
}

func (p *Process) findTails(f, caller *unwind.Frame) []tailCall {
	from, ok := p.calledBy(caller)
	if !ok {
		return nil
	}
	s := tailSearch{jumps: p.jumpsOf, to: p.functionOf(f.LookupPC()), seen: map[uint64]tailState{}}
	if s.to == 0 || s.to == p.functionOf(from) || !s.visit(from) {
		return nil
	}
	return s.found
}

// calledBy returns the function that the call before the pc of a frame goes to.
func (p *Process) calledBy(caller *unwind.Frame) (uint64, bool) {
	words := &memreader.Words{R: p.Memory(), BigEndian: p.img.Arch.BigEndian}
	code := &memreader.Words{R: p.Memory()}
	insn, err := code.Bytes(caller.PC-disasm.CallSize, disasm.CallSize)
	if err != nil {
		return 0, false
	}
	callee := disasm.CalleeOf(p.img.Arch, code, insn, caller.PC)
	if callee.BySlot {
		target, err := words.Uint64(callee.Slot)
		return target, err == nil
	}
	return callee.Target, callee.Direct
}

// functionOf returns the run-time address of the first instruction of the function
// that debug information or, without any, a symbol table has at a lookup pc.
func (p *Process) functionOf(pc uint64) uint64 {
	if t, m := p.tailCallsOf(pc); t != nil && t.Entry != 0 {
		return t.Entry + m.Bias
	}
	locs := p.modules.Locate(pc, nil)
	if len(locs) == 0 || locs[len(locs)-1].Func == "" {
		return 0
	}
	return pc - locs[len(locs)-1].Offset
}

// tailCallsOf returns what debug information says of the function at a lookup pc.
func (p *Process) tailCallsOf(pc uint64) (*info.Tails, *module.Module) {
	m := p.modules.At(pc)
	if m == nil {
		return nil, nil
	}
	t, err := m.TailCalls(pc - m.Bias)
	if err != nil {
		p.modules.Note(err)
	}
	return t, m
}

// jump is a tail call, and the run-time address of the function that it leads to.
type jump struct {
	tailCall
	to uint64
}

// jumpsOf returns the tail calls of the function that begins at an address. It returns
// false unless debug information describes all of them.
func (p *Process) jumpsOf(at uint64) ([]jump, bool) {
	t, m := p.tailCallsOf(at)
	if t == nil || !t.All || t.Entry+m.Bias != at {
		return nil, false
	}
	var jumps []jump
	for i := range t.Calls {
		c := &t.Calls[i]
		to := c.Entry + m.Bias
		if c.Entry == 0 {
			if to = p.namedFunction(tailName{m, c.Func}); to == 0 {
				return nil, false
			}
		}
		jumps = append(jumps, jump{tailCall{c.PC + m.Bias, c.Exact}, to})
	}
	return jumps, true
}

// namedFunction returns the run-time address of a function, 0 if it is not found or too
// many were looked for.
func (p *Process) namedFunction(n tailName) uint64 {
	addr, known := p.tails.names[n]
	if known || len(p.tails.names) >= maxTailNames {
		return addr
	}
	if p.tails.names == nil {
		p.tails.names = map[tailName]uint64{}
	}
	addr, ok := n.from.Address(n.name)
	if !ok {
		addr, _ = p.modules.Address(n.name)
	}
	p.tails.names[n] = addr
	return addr
}

// tailSearch looks for all ways of tail calls to a function.
type tailSearch struct {
	jumps func(at uint64) (_ []jump, all bool)
	to    uint64
	seen  map[uint64]tailState
	way   []tailCall // the jumps that lead to the present function, the first one first
	found []tailCall // the only way so far, the last jump first
}

// tailState is what is known of a function.
type tailState uint8

const (
	onTheWay  tailState = 1 + iota // its tail calls are being followed
	inACircle                      // the same, and they lead back to it
	leadsElsewhere
	leadsThere
)

// visit follows the tail calls of the function that begins at an address. It returns
// false if there are several ways, or if there may be ways that it does not see.
func (s *tailSearch) visit(at uint64) bool {
	if len(s.seen) == maxTailWays || len(s.way) == maxTailDepth {
		return false
	}
	s.seen[at] = onTheWay
	jumps, all := s.jumps(at)
	if !all {
		return false
	}
	leads := false
	for _, j := range jumps {
		s.way = append(s.way, j.tailCall)
		switch state := s.seen[j.to]; {
		case j.to == s.to && s.found != nil, state == leadsThere:
			return false
		case j.to == s.to:
			s.found = slices.Clone(s.way)
			slices.Reverse(s.found)
			leads = true
		case state == onTheWay:
			s.seen[j.to] = inACircle
		case state != 0:
		case !s.visit(j.to):
			return false
		default:
			leads = leads || s.seen[j.to] == leadsThere
		}
		s.way = s.way[:len(s.way)-1]
	}
	switch {
	case leads && s.seen[at] == inACircle:
		return false
	case leads:
		s.seen[at] = leadsThere
	default:
		s.seen[at] = leadsElsewhere
	}
	return true
}

// tailFrame returns the frame of a tail call for the values that its function passed
// on: it has no registers, but the CFA of f, the frame that it led to, and a caller.
func (p *Process) tailFrame(c *tailCall, f *unwind.Frame) *value.Frame {
	m := p.modules.At(c.lookupPC())
	if m == nil {
		return nil
	}
	data := m.Source()
	if data == nil {
		return nil
	}
	return &value.Frame{
		Arch: p.img.Arch, Mem: p.Memory(), Data: data, Bias: m.Bias, PC: c.lookupPC(), Regs: new(arch.Regs), CFA: f.CFA, Name: p.codeName,
	}
}
