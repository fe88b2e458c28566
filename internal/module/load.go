package module

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/report"
)

// loader fills in the module of a site.
type loader struct {
	site *site
	m    *Module
	// debug is a file of debug information only that was found where images are.
	debug *debugFile
}

func (l *loader) problem(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.m.problems = append(l.m.problems, err)
	l.site.set.add(err)
}

func (l *loader) load() {
	if made, ok := l.site.trace.(*registered); ok {
		l.loadRegistered(made)
		return
	}
	if f := l.site.header(); f != nil {
		l.m.BuildID = f.BuildID()
	}
	l.findFile()
	image := l.m.Image()
	if image == nil {
		return
	}
	if l.m.BuildID == "" {
		l.m.BuildID = image.BuildID()
	}
	l.checkHeaders(image)
	l.findTables(image)
}

// header returns the ELF file as far as it is in memory; where only another
// mapping of the same file has the ELF header, that of this one. nil if none.
func (s *site) header() *elfx.File {
	if _, ok := s.trace.(*mappings); !ok {
		return s.memory()
	}
	for _, o := range s.set.sites {
		if o.memory() != nil && o.path == s.path && o.held == s.held {
			return o.memory()
		}
	}
	return nil
}

// checkHeaders notes what is wrong with the headers of the module's file.
func (l *loader) checkHeaders(image *elfx.File) {
	if image == l.site.memory() {
		return // the core may lack some
	}
	if _, err := image.Sections(); err != nil {
		l.problem("%s: %w", l.m.Path, err)
	}
	for _, err := range image.Problems {
		l.problem("%s: %w", l.m.Path, err)
	}
}

// findFile takes the first file that is the right one.
func (l *loader) findFile() {
	s, m := l.site, l.m
	m.Match = report.MatchMissing
	if s.isVDSO() {
		l.use(s.memory(), report.MatchMemory)
		return
	}
	m.Files.Foreign = s.noImage()
	other := l.findImage()
	if m.names == nil {
		l.fetchImage()
	}
	if m.names != nil {
		m.Files.Foreign = false
		m.names.local()
		return
	}
	if m.Files.Foreign = m.Files.Foreign && s.header() == nil; m.Files.Foreign {
		return
	}
	if other != nil {
		m.Match = report.MatchMismatch
		l.problem("%s: not used: %w", m.Path, other)
	}
	if f := s.imageInMemory(); f != nil {
		match := m.Match
		if match == report.MatchMissing {
			match = report.MatchMemory
		}
		l.use(f, match)
	}
}

// noImage reports whether the file is known from memory not to be an ELF image.
func (s *site) noImage() bool {
	only, ok := s.trace.(*mappings)
	if !ok || only.first.Off != 0 {
		return false
	}
	head := s.set.imageAt(s.lo)
	return len(head) >= len(elfx.Magic) && string(head[:len(elfx.Magic)]) != elfx.Magic
}

// findImage returns why a file of the module's name is not its file, if there
// is none that is.
func (l *loader) findImage() (other error) {
	s, m := l.site, l.m
	for name := range s.set.files.Images(s.query(m.BuildID)) {
		f, shared, release, err := s.set.openImage(s.path, name)
		if format, ok := errors.AsType[*elfx.FormatError](err); ok && format.Field == "e_ident" {
			m.Files.Foreign = true
		}
		if err != nil {
			continue
		}
		match, err := l.compare(f)
		switch {
		case f.Machine == elfx.MachineNone:
			m.Files.Foreign = true
		case err != nil:
			if other == nil {
				other = fmt.Errorf("%s (%w)", name, err)
			}
		case emptyCode(f):
			if l.debug == nil {
				l.debug = newDebugFile(f, s.show(name))
				s.set.keep(release)
				continue
			}
		default:
			m.Files.Image, m.Files.Open = s.show(name), name
			m.Match, m.names = match, shared
			if shared == nil {
				m.names = l.newNames(f)
				s.set.share(name, m.names)
			}
			s.set.keep(release)
			s.trace.place(s, f)
			return nil
		}
		release()
	}
	return other
}

// compare tells whether f is the file that the module was loaded from.
func (l *loader) compare(f *elfx.File) (report.Match, error) {
	a := l.site.set.img.Arch
	if f.Machine != a.Machine || f.BigEndian != a.BigEndian {
		return "", errors.New("it is for another machine")
	}
	id := f.BuildID()
	switch {
	case l.m.BuildID != "" && id == l.m.BuildID:
		return report.MatchBuildID, nil
	case l.m.BuildID != "":
		return "", fmt.Errorf("its build-id is %s, in memory it is %s", orNone(id), l.m.BuildID)
	}
	if err := l.site.trace.fits(l.site, f); err != nil {
		return "", err
	}
	return report.MatchPath, nil
}

func orNone(s string) string {
	if s == "" {
		return "missing"
	}
	return s
}

// fetchImage asks servers for the module's file. That none has it is no
// problem.
func (l *loader) fetchImage() {
	s, m := l.site, l.m
	client := s.set.opts.Debuginfod
	if client == nil || m.BuildID == "" {
		return
	}
	name, err := client.Executable(m.BuildID)
	if errors.Is(err, debuginfod.ErrNotFound) {
		return
	}
	if err != nil {
		l.problem("%s: %w", m.Path, err)
		return
	}
	f, release, err := elfx.Open(name)
	if err == nil {
		m.Match, err = l.compare(f)
	}
	if err != nil {
		l.problem("%s: %s: %w", m.Path, name, err)
		return
	}
	m.Files.Image, m.Files.Open = name, name
	m.names = l.newNames(f)
	s.set.keep(release)
	s.trace.place(s, f)
}

// use takes an image that is in no file.
func (l *loader) use(f *elfx.File, match report.Match) {
	l.m.Match, l.m.names = match, l.newNames(f)
}

// openCandidate opens a file that may be one of the module with a path. That
// there is no such file is no problem; that there is one which cannot be read is.
func (s *Set) openCandidate(path, name string) (*elfx.File, func(), error) {
	f, release, err := elfx.Open(name)
	format, damaged := errors.AsType[*elfx.FormatError](err)
	if damaged && format.Field != "e_ident" || errors.Is(err, fs.ErrPermission) {
		s.Note(fmt.Errorf("%s: not used: %s: %w", path, name, err))
	}
	return f, release, err
}

// openImage is openCandidate, but for a file that a module was found to be of: it
// is opened, and its names and lines are read, once. shared are these.
func (s *Set) openImage(path, name string) (f *elfx.File, shared *names, release func(), err error) {
	s.mu.Lock()
	shared = s.opened[name]
	s.mu.Unlock()
	if shared != nil {
		return shared.image, shared, func() {}, nil
	}
	f, release, err = s.openCandidate(path, name)
	return f, nil, release, err
}

// share lets other modules of a file have its names.
func (s *Set) share(file string, n *names) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened[file] == nil {
		s.opened[file] = n
	}
}

// hasContents reports whether f has a section that is not empty.
func hasContents(f *elfx.File, name string) bool {
	s := f.Section(name)
	return s != nil && s.Type != elfx.SectNobits && s.Size > 0
}

// emptyCode reports whether f is a file of debug information only, whose code
// was left out.
func emptyCode(f *elfx.File) bool {
	s := f.Section(".text")
	return s != nil && s.Type == elfx.SectNobits
}
