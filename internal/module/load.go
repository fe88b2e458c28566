package module

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/report"
)

// loader fills in the module of a site.
type loader struct {
	site *site
	m    *Module
	// debug is a file that only has debug information, and that was found during
	// the search for the image.
	debug *debugFile
}

func (l *loader) problem(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.m.problems = append(l.m.problems, err)
	l.site.set.Note(err)
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
		if l.m.Main { // its first function is still known
			l.m.Tables.Entry, _ = l.site.set.img.Auxv.Get(core.ATEntry)
		}
		return
	}
	if l.m.BuildID == "" {
		l.m.BuildID = image.BuildID()
	}
	l.checkHeaders(image)
	l.findTables(image)
}

// header returns the part of the ELF file that is in memory. If only another image
// of the same file has the ELF header in memory, header returns that image. It
// returns nil if there is no ELF header.
func (s *site) header() *elfx.File {
	if _, ok := s.trace.(*mappings); !ok {
		return s.memory()
	}
	return s.set.withHeader()[fileKey{s.path, s.held}]
}

// fileKey tells mapped files apart: by path and, in a live process, by the name by
// which the file can be opened.
type fileKey struct{ path, held string }

func (s *Set) indexHeaders() map[fileKey]*elfx.File {
	index := map[fileKey]*elfx.File{}
	for _, at := range s.sites {
		if key := (fileKey{at.path, at.held}); index[key] == nil {
			index[key] = at.memory()
		}
	}
	return index
}

// checkHeaders notes what is wrong with the headers of the module's file.
func (l *loader) checkHeaders(image *elfx.File) {
	if image == l.site.memory() {
		return // the core may lack some of them
	}
	if _, err := image.Sections(); err != nil {
		l.problem("%s: %w", l.m.Path, err)
	}
	for _, err := range image.Problems {
		l.problem("%s: %w", l.m.Path, err)
	}
}

// findFile looks for the module's file and uses the first one that matches.
func (l *loader) findFile() {
	s, m := l.site, l.m
	m.Match = report.MatchMissing
	if s.isVDSO() { // it is no file, even if its header is not in memory
		if f := s.memory(); f != nil {
			l.use(f, report.MatchMemory)
		}
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
	f := s.imageInMemory()
	if s.set.opts.NamesOnly {
		f = s.memory()
	}
	if f != nil {
		match := m.Match
		if match == report.MatchMissing {
			match = report.MatchMemory
		}
		l.use(f, match)
	}
}

// noImage reports whether memory shows that the file is not an ELF image.
func (s *site) noImage() bool {
	only, ok := s.trace.(*mappings)
	if !ok || only.first.Off != 0 {
		return false
	}
	head := s.set.imageAt(s.lo)
	return len(head) >= len(elfx.Magic) && string(head[:len(elfx.Magic)]) != elfx.Magic
}

// findImage looks for the module's file. If it does not find the file, but other
// files with the module's name, it returns why the first of them does not match.
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

// fetchImage asks servers for the module's file. It is not a problem if no server
// has the file.
func (l *loader) fetchImage() {
	s, m := l.site, l.m
	client := s.set.opts.Debuginfod
	if client == nil {
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
	f, release, err := elfx.Open(name, &s.set.budget)
	var match report.Match
	if err == nil {
		match, err = l.compare(f)
	}
	if err != nil {
		l.problem("%s: %s: %w", m.Path, name, err)
		return
	}
	m.Match = match
	m.Files.Image, m.Files.Open = name, name
	m.names = l.newNames(f)
	s.set.keep(release)
	s.trace.place(s, f)
}

// use takes an image that is not in a file of its own.
func (l *loader) use(f *elfx.File, match report.Match) {
	l.m.Match, l.m.names = match, l.newNames(f)
}

// openProposed opens a file that the resolver proposed.
func (s *Set) openProposed(name string) (*elfx.File, func(), error) {
	file := s.img.Held[name]
	if file == nil {
		var err error
		if file, err = s.files.Open(name); err != nil {
			return nil, nil, err
		}
		defer file.Close()
	}
	return elfx.OpenFile(file, &s.budget)
}

// openCandidate opens a file that may belong to the module with a path. A file
// that does not exist is not a problem. A file that cannot be read is one.
func (s *Set) openCandidate(path, name string) (*elfx.File, func(), error) {
	f, release, err := s.openProposed(name)
	format, damaged := errors.AsType[*elfx.FormatError](err)
	if damaged && format.Field != "e_ident" || errors.Is(err, fs.ErrPermission) {
		s.Note(fmt.Errorf("%s: not used: %s: %w", path, name, err))
	}
	return f, release, err
}

// openImage is like openCandidate, but it opens a file only once if a module was
// already matched with it. It then returns the names and lines of that module in
// shared, so that they are read only once, too.
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

// share makes the names of a file available to its other modules.
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

// emptyCode reports whether f only has debug information, and its code was left
// out.
func emptyCode(f *elfx.File) bool {
	s := f.Section(".text")
	return s != nil && s.Type == elfx.SectNobits
}
