package target

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/unwind"
)

// Match says how a module's file was recognised.
type Match string

// How a module's file was recognised, best first.
const (
	MatchBuildID  Match = "build-id" // its build-id is the one in memory
	MatchPath     Match = "path"     // no build-ids to compare; name and program headers agree
	MatchMemory   Match = "memory"   // no file; the image in memory is used
	MatchMismatch Match = "mismatch" // no file; those of this name are of another build
	MatchMissing  Match = "missing"  // no file
)

// Module is an ELF image that the process had mapped. What is marked as loaded
// is valid after the first use of the module by the target, or [Target.Load].
type Module struct {
	// Path is the name of the file in the process; "[vdso]" for the vDSO, "[jit]" for
	// an image that a just-in-time compiler registered.
	Path string
	// Lo and Hi bound the addresses of the image.
	Lo, Hi uint64
	// Bias is what is added to link-time addresses.
	Bias uint64
	// Main is set for the program itself.
	Main bool

	// File is the file that is used, "" if none. Loaded.
	File string
	// DebugFile is a separate file with symbols, "" if none. Loaded.
	DebugFile string
	// SFrameFile is the sidecar that .sframe is from, "" if the module's own is
	// used. Loaded.
	SFrameFile string
	// BuildID is in lower-case hexadecimal, "" if unknown. Loaded.
	BuildID string
	// Match is how File was recognised. Loaded.
	Match Match
	// Problems are what is wrong with the module. Loaded.
	Problems []error

	// Where a module is not known from mappings, these addresses, or 0, tell
	// whether a file fits and where it is.
	entryAt   uint64 // of the entry point
	dynamicAt uint64 // of the dynamic section

	// first and last are its mappings where they are all that is known of it,
	// as there is no ELF header in memory; else nil.
	first, last *core.Mapping

	// foreign is set where the file is no ELF image: its code is as code that
	// is in no file. Loaded.
	foreign bool

	// registered are the bytes of an image that a just-in-time compiler registered;
	// nil of other modules.
	registered []byte

	twin   *Module    // the first module of the same file; nil if it is that
	held   string     // a name of the file of a live process; see core.Mapping.File
	memory *elfx.File // the image as far as it is in the core; may be nil
	image  *elfx.File // what tables are read from; loaded, may be nil
	debug  *elfx.File // loaded, and not the one fetched later; may be nil
	unwind unwind.Module

	target *Target
	once   sync.Once
	names  func() *symbol.Object
	source func() *info.Data
	// debugFile is debug, fetched if need be.
	debugFile func() *elfx.File
	open      []func() // release files
}

var errNoFileBytes = errors.New("not in a file at hand")

// Load looks for the module's file, unless that has been done.
func (t *Target) Load(m *Module) { m.load() }

func (m *Module) load() { m.once.Do(func() { m.target.guard(m.Path, m.find) }) }

// loaded is load in an expression.
func (m *Module) loaded() *Module { m.load(); return m }

func (m *Module) find() {
	m.openLazily()
	if m.registered != nil {
		m.findRegistered()
		return
	}
	if f := m.header(); f != nil {
		m.BuildID = f.BuildID()
	}
	m.findFile()
	if m.image != nil && m.BuildID == "" {
		m.BuildID = m.image.BuildID()
	}
	if m.image != nil {
		m.place()
		m.checkHeaders()
		m.findTables()
	}
}

// checkHeaders notes what is wrong with the headers of the module's file.
func (m *Module) checkHeaders() {
	if m.image == m.memory {
		return // the core may lack some
	}
	if _, err := m.image.Sections(); err != nil {
		m.problem("%s: %w", m.Path, err)
	}
	for _, err := range m.image.Problems {
		m.problem("%s: %w", m.Path, err)
	}
}

// place sets the bounds of a module that is not known from mappings.
func (m *Module) place() {
	if m.entryAt == 0 && m.dynamicAt == 0 {
		return
	}
	if m.entryAt != 0 {
		m.Bias = m.entryAt - m.image.Entry
	}
	lo, hi := m.image.Span()
	m.Lo, m.Hi = pageDown(lo+m.Bias), pageUp(hi+m.Bias)
}

// showName returns the name to show for a file.
func (m *Module) showName(name string) string {
	if name == m.held {
		return m.Path
	}
	return name
}

// compare tells whether f is the file that the module was loaded from.
func (m *Module) compare(f *elfx.File) (Match, error) {
	a := m.target.img.Arch
	if f.Machine != a.Machine || f.BigEndian != a.BigEndian {
		return "", errors.New("it is for another machine")
	}
	id := f.BuildID()
	switch {
	case m.BuildID != "" && id == m.BuildID:
		return MatchBuildID, nil
	case m.BuildID != "":
		return "", fmt.Errorf("its build-id is %s, in memory it is %s", orNone(id), m.BuildID)
	}
	if err := m.compareShape(f); err != nil {
		return "", err
	}
	return MatchPath, nil
}

// compareShape compares what is known of the image: its program headers, the
// addresses of its parts, or else the size of the mappings.
func (m *Module) compareShape(f *elfx.File) error {
	switch {
	case m.memory != nil:
		if !slices.Equal(f.Progs, m.memory.Progs) {
			return errors.New("its program headers differ from those in memory")
		}
		// A page that is not writable is as it was in the file, but for the ELF
		// header, in which strip moves the section headers. It may hold a
		// build-id that no program header leads to, as Go programs have it.
		inMemory := m.memory.Bytes(elfHeaderSize, minPage-elfHeaderSize)
		inFile := f.Bytes(elfHeaderSize, uint64(len(inMemory)))
		if first := f.Prog(elfx.ProgLoad); first != nil && first.Flags&elfx.ProgWrite == 0 && !bytes.Equal(inFile, inMemory) {
			return errors.New("its first page differs from the one in memory")
		}
	case m.entryAt != 0:
		bias := m.entryAt - f.Entry
		phdr, _ := m.target.img.Auxv.Get(core.ATPhdr)
		phnum, _ := m.target.img.Auxv.Get(core.ATPhnum)
		if bias%minPage != 0 || phnum != uint64(len(f.Progs)) || phdr-bias != f.PhdrAddr() {
			return errors.New("its entry point and program headers do not fit the auxiliary vector")
		}
	case m.dynamicAt != 0:
		if p := f.Prog(elfx.ProgDynamic); p == nil || p.Vaddr+m.Bias != m.dynamicAt {
			return errors.New("its dynamic section is at another address")
		}
	default:
		lo, hi := f.Span()
		if size := pageUp(hi) - pageDown(lo); m.Hi-m.Lo > size {
			return fmt.Errorf("it spans %#x bytes, the mappings %#x", size, m.Hi-m.Lo)
		}
		if m.first != nil && segmentOf(f, m.first) == nil {
			return fmt.Errorf("it has no segment at offset %#x, which was mapped", m.first.Off)
		}
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "missing"
	}
	return s
}

// fileBytes returns the file's bytes of the segment that addr is in.
func (m *Module) fileBytes(addr uint64) ([]byte, uint64) {
	if m.image == nil || m.image == m.memory {
		return nil, 0
	}
	vaddr := addr - m.Bias
	for i := range m.image.Progs {
		p := &m.image.Progs[i]
		if p.Type != elfx.ProgLoad || m.held != "" && p.Flags&elfx.ProgWrite != 0 {
			continue // what a live process has written since is not in the file
		}
		if data := m.image.SegmentData(p); vaddr-p.Vaddr < uint64(len(data)) {
			return data, p.Vaddr + m.Bias
		}
	}
	return nil, 0
}

// openLazily makes names and lines available when they are asked for.
func (m *Module) openLazily() {
	m.names = sync.OnceValue(m.openSymbols)
	m.source = sync.OnceValue(m.openDebugInfo)
	m.debugFile = sync.OnceValue(m.fetchDebug)
}

// symbols returns the names of the module; nil if it has no image.
func (m *Module) symbols() *symbol.Object { return m.names() }

func (m *Module) openSymbols() *symbol.Object {
	if m.twin != nil {
		return m.twin.symbols()
	}
	if m.image == nil {
		return nil
	}
	if debug := m.debugFile(); debug != nil {
		return symbol.New(m.image, debug)
	}
	return symbol.New(m.image)
}

// Name returns the last element of the module's path.
func (m *Module) Name() string { return path.Base(m.Path) }

func (m *Module) isVDSO() bool { return m.Path == vdsoName }

func (m *Module) problem(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	m.Problems = append(m.Problems, err)
	m.target.problem("%w", err)
}

func (m *Module) close() {
	for _, release := range m.open {
		release()
	}
}
