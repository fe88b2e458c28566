package process

import (
	"fmt"
	"time"

	"github.com/sfcore/sfcore/internal/symbol"
)

const (
	// shortName is the length of names, in bytes, that are always demangled. That
	// takes up to a millisecond.
	shortName = 256
	// maxDemangling bounds the time for all other names. The demangler takes up to
	// half a second for a name that is made for it, and some microseconds for
	// others.
	maxDemangling = 2 * time.Second
)

// demangle returns the source form of a name, or the name itself if demangling long
// names has taken too much time.
func (p *Process) demangle(name string) string {
	if len(name) <= shortName {
		return symbol.Demangle(name)
	}
	if taken := p.demangling.Load(); taken > int64(maxDemangling) {
		p.modules.Note(fmt.Errorf("demangling long names took more than %v; the others are shown as they are in symbol tables", maxDemangling))
		return name
	}
	start := time.Now()
	source := symbol.Demangle(name)
	p.demangling.Add(int64(time.Since(start)))
	return source
}
