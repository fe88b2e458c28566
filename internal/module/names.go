package module

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/places"
	"github.com/sfcore/sfcore/internal/resolve"
	"github.com/sfcore/sfcore/internal/symbol"
)

// names are an image and the names for its link-time addresses. The names are made
// when they are first asked for. Modules of one file share them.
type names struct {
	set   *Set
	image *elfx.File
	path  string         // the path of the module in the process
	query resolve.Module // what the resolver needs to know about the module
	file  string         // the name to show for the image's file; "" if the image is in memory only
	show  func(string) string

	// local returns the debug file if it is on this machine. debug returns that
	// file or a fetched one. Both return nil if there is no such file.
	local, debug func() *debugFile
	// symbols and source return nil if there are no symbols or no debug
	// information.
	symbols func() *symbol.Object
	source  func() *source
	// work bounds the work on debug information; 0 for the usual bound.
	work int

	mu       sync.Mutex
	problems []error
}

// source is debug information, and what earlier runs found in it.
type source struct {
	*info.Data
	remembered *places.Table
}

// debugFile is a separate file with symbols or debug information.
type debugFile struct {
	*elfx.File
	name string // the name to show
}

func newDebugFile(f *elfx.File, name string) *debugFile {
	f.Name = name
	return &debugFile{f, name}
}

// newNames makes the names for the module of the loader.
func (l *loader) newNames(image *elfx.File) *names {
	n := &names{
		set: l.site.set, image: image, path: l.m.Path, file: l.m.Files.Image, show: l.site.show,
		query: l.site.query(cmp.Or(l.m.BuildID, image.BuildID())),
	}
	given := l.debug
	n.local = sync.OnceValue(func() *debugFile {
		if given != nil || n.file == "" && !n.set.opts.NamesOnly {
			return given
		}
		return n.findDebug()
	})
	n.debug = sync.OnceValue(n.fetchDebug)
	n.symbols = sync.OnceValue(n.openSymbols)
	n.source = sync.OnceValue(n.openSource)
	return n
}

func (n *names) problem(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	n.mu.Lock()
	n.problems = append(n.problems, err)
	n.mu.Unlock()
	n.set.Note(err)
}

// noted returns what is wrong with the debug files.
func (n *names) noted() []error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.problems)
}

// findDebug looks for the debug file of the image. It does not look for one if the
// image has debug information and a complete symbol table itself.
func (n *names) findDebug() *debugFile {
	if hasContents(n.image, ".debug_info") && n.image.Section(".symtab") != nil {
		return nil
	}
	id := n.image.BuildID()
	for c := range n.set.files.DebugFiles(n.query, n.image, n.file) {
		f, release, err := n.set.openCandidate(n.path, c.Name)
		if err != nil {
			continue
		}
		switch {
		case f.Machine != n.image.Machine || f.BigEndian != n.image.BigEndian:
		case f.Section(".symtab") == nil && !hasContents(f, ".debug_info"):
		case id != "" && f.BuildID() == id, id == "" && c.Linked && n.set.files.HasCRC(c.Name, c.CRC):
			n.set.keep(release)
			return newDebugFile(f, n.show(c.Name))
		}
		release()
	}
	return nil
}

// fetchDebug returns the debug file. If the file is not on this machine and servers
// may be asked, it fetches the file.
func (n *names) fetchDebug() *debugFile {
	client := n.set.opts.Debuginfod
	local := n.local()
	if local != nil || client == nil || n.file == "" || hasContents(n.image, ".debug_info") {
		return local
	}
	name, err := client.DebugInfo(n.query.BuildID)
	if err != nil {
		n.fetchProblem(err)
		return nil
	}
	f, release, err := elfx.Open(name, &n.set.budget)
	if err != nil {
		n.problem("%s: %w", n.path, err)
		return nil
	}
	n.set.keep(release)
	return newDebugFile(f, n.show(name))
}

// fetchProblem notes why a file was not fetched, unless no server has it.
func (n *names) fetchProblem(err error) {
	if !errors.Is(err, debuginfod.ErrNotFound) {
		n.problem("%s: %w", n.path, err)
	}
}

// debugName returns the name of the debug file, or "" if there is no debug file.
func (n *names) debugName() string {
	if d := n.debug(); d != nil {
		return d.name
	}
	return ""
}

// withDebug returns the debug file, if there is one, and the image.
func (n *names) withDebug(debug *debugFile) []*elfx.File {
	if debug == nil {
		return []*elfx.File{n.image}
	}
	return []*elfx.File{debug.File, n.image}
}

func (n *names) openSymbols() *symbol.Object {
	if d := n.debug(); d != nil {
		return symbol.New(n.image, d.File)
	}
	return symbol.New(n.image)
}

// openSource opens the debug information. It returns nil if there is no debug
// information.
func (n *names) openSource() *source {
	for _, f := range n.withDebug(n.debug()) {
		if d := info.New(f, n.furtherFiles()); d != nil {
			remembered := places.Open(n.set.opts.CacheDir, f)
			n.set.keep(func() {
				if !d.Failed() {
					remembered.Save(d.Work())
				}
			})
			return &source{d, remembered}
		}
	}
	return nil
}
