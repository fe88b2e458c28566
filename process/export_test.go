package process

import (
	"cmp"

	"github.com/sfcore/sfcore/internal/module"
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
