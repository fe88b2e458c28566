package target

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/unwind"
)

// OpenFile makes a target of a program, library or object file that no process
// has loaded: one module at its link-time addresses, and no threads. An object
// is linked by itself, see [elfx.File.Link]. The error says what kind of file
// it is if it is not one of these for an architecture that sfcore knows. Of
// opts, SFrameDirs is used.
func OpenFile(name string, opts Options) (*Target, error) {
	f, release, err := openELF(name)
	if format := (*elfx.FormatError)(nil); errors.As(err, &format) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		return nil, err
	}
	t, err := fileTarget(name, f, opts)
	if err != nil {
		release()
		return nil, err
	}
	t.modules[0].open = append(t.modules[0].open, release)
	return t, nil
}

// ErrCore is returned by OpenFile for a core file.
var ErrCore = errors.New("it is a core file")

func fileTarget(name string, f *elfx.File, opts Options) (*Target, error) {
	a, ok := arch.ForMachine(f.Machine, f.BigEndian)
	switch {
	case f.Type == elfx.TypeCore:
		return nil, fmt.Errorf("%s: %w", name, ErrCore)
	case !ok:
		return nil, fmt.Errorf("%s: e_machine %d is none of amd64, aarch64 and s390x", name, f.Machine)
	}
	linked, err := f.Link(".sframe", ".eh_frame", ".debug_frame")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t := &Target{img: &core.Image{Arch: a, Path: name}, opts: opts}
	m := &Module{Path: name, File: name, Match: MatchPath, Main: f.Entry != 0, BuildID: f.BuildID(), target: t, image: linked}
	m.Lo, m.Hi = linked.Span()
	t.modules = []*Module{m}
	m.once.Do(func() {
		m.openLazily()
		m.checkHeaders()
		m.findTables()
	})
	return t, nil
}

// Image returns the ELF image that the module's tables are from; nil if there
// is none. Valid, like Tables and Symbols, once the module is loaded and until
// the target is closed.
func (m *Module) Image() *elfx.File { return m.image }

// Tables returns the module's unwind tables.
func (m *Module) Tables() *unwind.Module { return &m.unwind }

// Symbols names the module's link-time addresses; nil if there is no image.
func (m *Module) Symbols() *symbol.Object { return m.symbols() }
