package process

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
	"github.com/sfcore/sfcore/internal/waits"
	"github.com/sfcore/sfcore/unwind"
)

// Bounds of the search for guards. If threads have more, nothing is inferred: one that
// was not looked at may have a guard of the same lock.
const (
	// maxGuardStack bounds the frames of a stack that are looked at, and maxGuardSteps
	// the work on all stacks; see [unwind.Budget]. It is enough for a million frames.
	maxGuardStack = 1024
	maxGuardSteps = maxSteps / 2
	// maxGuardPlaces bounds the places in code whose variables are looked at, and
	// maxGuardParts the guards that are read in all frames, and their parts: a
	// std::unique_lock has two.
	maxGuardPlaces = 1 << 14
	maxGuardParts  = 1 << 18
	// maxGuardDepth bounds how deep in a guard the lock is, and maxGuardMembers the
	// members of a part. A std::scoped_lock has a base class for each of its locks.
	maxGuardDepth   = 32
	maxGuardMembers = 256
)

var errGuards = errors.New("threads have more frames, or more variables that hold locks, than are looked at; no owners of locks are inferred from variables")

// guards searches the frames of all threads for variables that hold locks.
type guards struct {
	process *Process
	walker  *Walker
	waiting map[uint64]map[int]bool  // threads, by where their lock is
	wanted  map[uint64]bool          // locks whose owner is not known
	found   map[uint64][]waits.Owner // up to two threads, by lock
	places  map[uint64]*guardPlace   // by lookup pc
	left    int                      // guards, and parts of guards, that may be read
	full    bool                     // a bound was met

	maxPlaces int
}

// guardPlace is what is known about the variables at a lookup pc.
type guardPlace struct {
	guards []guardVariable
	scopes []info.Scope // if there are guards
	// Whether the function there, as its caller called it, destroys variables of its
	// caller, and whether a function there gives up a lock until it returns.
	destroys, givesUp bool
}

// guardVariable is a guard that exists whenever a thread is at a place.
type guardVariable struct{ scope, variable int }

// inferOwners fills in the owners of locks that nothing records: where frames of one
// thread have a guard of the lock, and those of no other thread do.
func (p *Process) inferOwners(list []waits.Waiter) {
	g := guards{process: p, maxPlaces: maxGuardPlaces, left: maxGuardParts}
	g.inferOwners(list)
}

func (g *guards) inferOwners(list []waits.Waiter) {
	g.waiting, g.wanted = map[uint64]map[int]bool{}, map[uint64]bool{}
	g.found, g.places = map[uint64][]waits.Owner{}, map[uint64]*guardPlace{}
	owned := map[uint64]bool{}
	for i := range list {
		w := &list[i]
		owned[w.Address] = owned[w.Address] || w.Owner.Thread != 0
		for _, lock := range w.Locks() {
			if g.waiting[lock] == nil {
				g.waiting[lock] = map[int]bool{}
			}
			g.waiting[lock][w.Thread] = true
		}
	}
	var without []*waits.Waiter
	for i := range list {
		if w := &list[i]; w.Guardable() && !owned[w.Address] {
			without = append(without, w)
			for _, lock := range w.Locks() {
				g.wanted[lock] = true
			}
		}
	}
	if len(without) == 0 {
		return
	}
	g.search()
	if g.full {
		g.process.modules.Note(errGuards)
		return
	}
	for _, w := range without {
		var owners []waits.Owner
		for _, lock := range w.Locks() {
			owners = append(owners, g.found[lock]...)
		}
		if len(owners) == 1 {
			w.Owner = owners[0]
		}
	}
}

// search looks at the frames of all threads.
func (g *guards) search() {
	g.walker = g.process.NewWalker()
	u := &g.walker.unwinder
	u.Budget = &unwind.Budget{Time: g.process.opts.MaxTotalTime, Steps: maxGuardSteps}
	if u.MaxFrames == 0 || u.MaxFrames > maxGuardStack {
		u.MaxFrames = maxGuardStack
	}
	for _, th := range g.process.Threads() {
		s := g.walker.Walk(th)
		if s.Stop.Reason == unwind.Limit && len(s.Frames) < u.MaxFrames {
			g.full = true
		}
		if g.full {
			return
		}
		g.look(s)
	}
}

// look looks at the frames of a stack. Frames that are guesses do not count.
func (g *guards) look(s *Stack) {
	recovered, destroys := false, false
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Trust == unwind.Guess {
			return
		}
		at := g.place(f.LookupPC())
		if g.full {
			return
		}
		if len(at.guards) > 0 {
			if !recovered {
				g.walker.RecoverRegisters(s)
				recovered = true
			}
			g.readGuards(s, i, at, destroys)
		}
		if at.givesUp { // a lock of its callers, and who knows which
			return
		}
		destroys = at.destroys
	}
}

// place finds out about the variables at a lookup pc.
func (g *guards) place(pc uint64) *guardPlace {
	if at := g.places[pc]; at != nil {
		return at
	}
	at := &guardPlace{}
	if len(g.places) >= g.maxPlaces {
		g.full = true
		return at
	}
	g.places[pc] = at
	n := g.walker.name(pc)
	for i := range n.names {
		at.givesUp = at.givesUp || waits.GivesUp(n.names[i].demangled)
	}
	if last := len(n.names) - 1; last >= 0 {
		at.destroys = waits.Destroys(n.names[last].demangled)
	}
	if n.module == nil {
		return at
	}
	if data := n.module.Source(); data != nil {
		scopes, err := data.Scopes(pc - n.module.Bias)
		if err != nil {
			g.process.modules.Note(fmt.Errorf("%s: %w", n.module.Path, err))
		}
		if len(scopes) == len(n.names) {
			if at.guards = guardsAt(scopes, n.names); at.guards != nil {
				at.scopes = scopes
			}
		}
	}
	return at
}

// guardsAt returns the guards at a place. names are those of scopes.
func guardsAt(scopes []info.Scope, names []name) (list []guardVariable) {
	for i := range scopes {
		if waits.GivesUp(names[i].demangled) {
			break
		}
		if scopes[i].Language == info.Go || i > 0 && waits.Destroys(names[i-1].demangled) {
			continue
		}
		for j := range scopes[i].Variables {
			v := &scopes[i].Variables[j]
			if v.Type == nil || v.Type.Strip().Kind != info.Struct {
				continue
			}
			switch waits.GuardType(v.Type.Strip().String()) {
			case waits.CXXGuard:
				// In the line of its declaration, or before, the guard does not exist yet or
				// is just made, but what was there before may look like one.
				if v.Line == 0 || names[i].Line <= v.Line {
					continue
				}
			case waits.RustGuard:
			case waits.NoGuard:
				continue
			}
			list = append(list, guardVariable{i, j})
		}
	}
	return list
}

// readGuards reads the guards of a frame. If destroys is set, it is destroying its
// variables.
func (g *guards) readGuards(s *Stack, frame int, at *guardPlace, destroys bool) {
	f := g.process.valueFrame(s, frame)
	if f == nil {
		return
	}
	for _, v := range at.guards {
		if destroys && v.scope == 0 {
			continue
		}
		scope := f.In(&at.scopes[v.scope])
		o := scope.Object(&scope.Variables[v.variable])
		g.left--
		locks, held := guarded(&o, 0, &g.left)
		if g.left < 0 {
			g.full = true
			return
		}
		for _, lock := range locks {
			if held {
				g.hold(s.Thread, lock, shorten(o.Type.Strip().String())+" in "+shorten(g.process.demangle(scope.Func)))
			}
		}
	}
}

// guarded returns the addresses of the locks that an object, a guard or a part of one,
// names, and whether it holds them.
func guarded(o *value.Object, depth int, left *int) (locks []uint64, held bool) {
	parts, err := o.Parts(0, maxGuardMembers)
	if err != nil || depth > maxGuardDepth {
		return nil, false
	}
	for i := range parts {
		part := &parts[i]
		if *left--; *left < 0 {
			return nil, false
		}
		if waits.SaysOwned(part.Name) {
			if text, err := part.Text(); err != nil || text != "true" {
				return nil, false
			}
			continue
		}
		if !part.Base && !waits.LeadsToLock(part.Name) {
			continue
		}
		if addr, pointer, ok := part.Integer(); pointer || ok {
			if ok {
				locks = append(locks, addr)
			}
			continue
		}
		inside, held := guarded(part, depth+1, left)
		if !held {
			return nil, false
		}
		locks = append(locks, inside...)
	}
	return locks, true
}

// hold remembers that a thread has a guard of a lock, unless it waits for that lock: then
// it is making the guard.
func (g *guards) hold(th *core.Thread, lock uint64, guard string) {
	owners := g.found[lock]
	if !g.wanted[lock] || g.waiting[lock][th.ID] || len(owners) == 2 {
		return
	}
	if slices.ContainsFunc(owners, func(o waits.Owner) bool { return o.Thread == th.ID }) {
		return
	}
	g.found[lock] = append(owners, waits.Owner{Thread: th.ID, Inferred: true, Evidence: "a " + guard + " points to it"})
}
