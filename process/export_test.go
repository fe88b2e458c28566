package process

import (
	"cmp"

	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/internal/waits"
	"github.com/sfcore/sfcore/report"
)

// Modules returns what Next takes over.
func Modules(p *Process) *module.Set { return p.modules }

// OpenModules opens the files of all modules and looks at no names.
func (p *Process) OpenModules() {
	for range p.modules.All() {
	}
}

// SymbolAt returns the name of the function that holds the code at pc, as the
// symbol table spells it, and where it begins; "" if it has no name.
func (p *Process) SymbolAt(pc uint64) (name string, start uint64) {
	at := p.Locate(pc)
	f := at.Function()
	if f == nil {
		return "", 0
	}
	return cmp.Or(f.LinkageName, f.Name), pc - f.Offset
}

// WaitingWithin is Waiting with other bounds on the search for guards. It also tells how
// many places were looked at, and how many parts of guards were read.
func WaitingWithin(w *Waits, places, parts int) (r report.Waiting, seen, read int) {
	g := guards{process: w.process, maxPlaces: places, left: parts}
	list := w.waiters()
	g.inferOwners(list)
	return waits.Gather(list), len(g.places), parts - g.left
}
