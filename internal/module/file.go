package module

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/report"
)

// ErrCore is returned by OpenFile for a core file.
var ErrCore = errors.New("it is a core file")

// OpenFile makes a set for a program, library or object file that no process has
// loaded. The set has one module at its link-time addresses, in a process without
// threads. OpenFile links an object by itself; see [elfx.File.Link]. It looks for
// sidecars in sframeDirs. If the file is of another kind, or for an architecture
// that sfcore does not know, the error says what it is.
func OpenFile(name string, sframeDirs []string) (*Set, error) {
	f, release, err := elfx.Open(name, nil)
	if format := (*elfx.FormatError)(nil); errors.As(err, &format) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		return nil, err
	}
	s, err := fileSet(name, f, sframeDirs)
	if err != nil {
		release()
		return nil, err
	}
	s.keep(release)
	return s, nil
}

// FromBytes is OpenFile for a file whose bytes are in memory, such as the member of an
// archive. It looks for no sidecar.
func FromBytes(name string, data []byte) (*Set, error) {
	f, err := elfx.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return fileSet(name, f, nil)
}

func fileSet(name string, f *elfx.File, sframeDirs []string) (*Set, error) {
	a, ok := arch.ForMachine(f.Machine, f.BigEndian)
	switch {
	case f.Type == elfx.TypeCore:
		return nil, fmt.Errorf("%s: %w", name, ErrCore)
	case !ok:
		return nil, fmt.Errorf("%s: e_machine %d is not one of %s", name, f.Machine, arch.Names())
	}
	relocated := []string{".eh_frame", ".debug_frame"}
	if s := f.SFrameSection(); s != nil {
		relocated = append(relocated, s.Name)
	}
	linked, err := f.Link(relocated...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := &Set{img: &core.Image{Arch: a, Path: name}, opts: Options{SFrameDirs: sframeDirs}}
	at := &site{set: s, path: name, main: f.Entry != 0}
	at.lo, at.hi = linked.Span()
	s.sites = []*site{at}
	at.once.Do(func() {
		l := loader{site: at, m: &Module{
			Path: name, Lo: at.lo, Hi: at.hi, Main: at.main, BuildID: f.BuildID(), Files: Files{Open: name},
		}}
		l.use(linked, report.MatchPath)
		l.m.Files.Image = name
		l.checkHeaders(linked)
		l.findTables(linked)
		at.module = l.m
	})
	return s, nil
}

// Only returns the one module of a set that OpenFile made.
func (s *Set) Only() *Module { return s.sites[0].open() }
