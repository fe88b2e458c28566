package target

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/resolve"
	"github.com/sfcore/sfcore/memreader"
)

func newResolver(img *core.Image, opts *Options) *resolve.Resolver {
	o := resolve.Options{
		Exe: opts.Exe, Paths: opts.Paths, Sysroot: opts.Sysroot, DebugDirs: opts.DebugDirs, CacheDir: opts.CacheDir,
	}
	switch {
	case img.Live != nil:
		o.ProcessRoot = fmt.Sprintf("/proc/%d/root", img.PID)
	case img.Path != "" && img.Path != "-":
		o.CoreDir = filepath.Dir(img.Path)
	}
	return resolve.New(o)
}

// query is what the resolver is told of the module.
func (m *Module) query() resolve.Module {
	return resolve.Module{Path: m.Path, BuildID: m.BuildID, Main: m.Main, Held: m.held}
}

// findFile takes the first file that is the right one.
func (m *Module) findFile() {
	m.Match = MatchMissing
	if m.isVDSO() {
		m.image, m.Match = m.memory, MatchMemory
		return
	}
	m.foreign = m.noImage()
	other := m.findImage()
	if m.image == nil {
		m.fetchImage()
	}
	if m.image != nil {
		m.foreign = false
		m.findDebug()
		return
	}
	if m.foreign = m.foreign && m.header() == nil; m.foreign {
		return
	}
	if other != nil {
		m.Match = MatchMismatch
		m.problem("%s: not used: %w", m.Path, other)
	}
	if m.useMemory() && m.Match == MatchMissing {
		m.Match = MatchMemory
	}
}

// findImage returns why a file of the module's name is not its file, if there
// is none that is.
func (m *Module) findImage() (other error) {
	for name := range m.target.files.Images(m.query()) {
		f, release, err := m.openImage(name)
		if format, ok := errors.AsType[*elfx.FormatError](err); ok && format.Field == "e_ident" {
			m.foreign = true
		}
		if err != nil {
			continue
		}
		match, err := m.compare(f)
		switch {
		case f.Machine == elfx.MachineNone:
			m.foreign = true
		case err != nil:
			if other == nil {
				other = fmt.Errorf("%s (%w)", name, err)
			}
		case emptyCode(f):
			if m.debug == nil {
				m.useDebug(f, name, release)
				continue
			}
		default:
			m.image, m.File, m.Match = f, m.showName(name), match
			m.keep(release)
			m.join(name)
			m.rebase()
			return nil
		}
		release()
	}
	return other
}

// rebase makes up for a prelinked file: one that was given other addresses
// than the file at hand, which is otherwise the same. Of an image whose header
// is not in memory only the file tells the addresses.
func (m *Module) rebase() {
	if p := segmentOf(m.image, m.first); p != nil {
		m.Bias = m.first.Lo - m.first.Off + p.Off - p.Vaddr
	}
	if m.memory == nil || m.image.Type != elfx.TypeDyn {
		return
	}
	was, _ := m.memory.Span()
	is, _ := m.image.Span()
	m.Bias += pageDown(was) - pageDown(is)
}

// findDebug looks for the debug file of the module's image, unless the image
// has all that one would.
func (m *Module) findDebug() {
	if m.twin != nil {
		if m.twin.load(); m.twin.debug != nil {
			m.debug, m.DebugFile = m.twin.debug, m.twin.DebugFile
		}
		return
	}
	if m.debug != nil || hasContents(m.image, ".debug_info") && m.image.Section(".symtab") != nil {
		return
	}
	id := m.image.BuildID()
	for c := range m.target.files.DebugFiles(m.query(), m.image, m.File) {
		f, release, err := m.openCandidate(c.Name)
		if err != nil {
			continue
		}
		switch {
		case f.Machine != m.image.Machine || f.BigEndian != m.image.BigEndian:
		case f.Section(".symtab") == nil && !hasContents(f, ".debug_info"):
		case id != "" && f.BuildID() == id, id == "" && c.Linked && resolve.HasCRC(c.Name, c.CRC):
			m.useDebug(f, c.Name, release)
			return
		}
		release()
	}
}

// fetchImage asks servers for the module's file. That none has it is no
// problem.
func (m *Module) fetchImage() {
	client := m.target.opts.Debuginfod
	if client == nil || m.BuildID == "" {
		return
	}
	name, err := client.Executable(m.BuildID)
	if err != nil {
		m.fetchProblem(err)
		return
	}
	f, release, err := openELF(name)
	if err == nil {
		m.Match, err = m.compare(f)
	}
	if err != nil {
		m.problem("%s: %s: %w", m.Path, name, err)
		return
	}
	m.image, m.File = f, name
	m.keep(release)
	m.rebase()
}

// fetchDebug returns the module's debug file. If none is at hand and servers
// may be asked, it does that.
func (m *Module) fetchDebug() *elfx.File {
	if m.twin != nil {
		f := m.twin.debugFile()
		m.DebugFile = m.twin.DebugFile
		return f
	}
	client := m.target.opts.Debuginfod
	if m.debug != nil || client == nil || m.File == "" || m.BuildID == "" || hasContents(m.image, ".debug_info") {
		return m.debug
	}
	name, err := client.DebugInfo(m.BuildID)
	if err != nil {
		m.fetchProblem(err)
		return nil
	}
	f, release, err := openELF(name)
	if err != nil {
		m.problem("%s: %w", m.Path, err)
		return nil
	}
	m.nameDebug(f, name, release)
	return f
}

// fetchProblem notes why a file was not fetched, unless no server has it.
func (m *Module) fetchProblem(err error) {
	if !errors.Is(err, debuginfod.ErrNotFound) {
		m.problem("%s: %w", m.Path, err)
	}
}

func (m *Module) useDebug(f *elfx.File, name string, release func()) {
	m.debug = f
	m.nameDebug(f, name, release)
}

func (m *Module) nameDebug(f *elfx.File, name string, release func()) {
	m.DebugFile = m.showName(name)
	f.Name = m.DebugFile
	m.keep(release)
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

// openCandidate opens a file that may be one of the module's. That there is no
// such file is no problem; that there is one which cannot be read is.
func (m *Module) openCandidate(name string) (*elfx.File, func(), error) {
	f, release, err := openELF(name)
	format, damaged := errors.AsType[*elfx.FormatError](err)
	if damaged && format.Field != "e_ident" || errors.Is(err, fs.ErrPermission) {
		m.target.problemOnce("%s: not used: %s: %w", m.Path, name, err)
	}
	return f, release, err
}

// openELF maps an ELF file.
func openELF(name string) (*elfx.File, func(), error) {
	data, release, err := elfx.MapFile(name)
	if err != nil {
		return nil, nil, err
	}
	var f *elfx.File
	if fault := memreader.Guard(func() { f, err = elfx.Parse(data) }); fault != nil {
		err = fault
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return f, release, nil
}
