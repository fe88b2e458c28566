package module

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/resolve"
	"github.com/sfcore/sfcore/memreader"
)

// Options say where to look for files. With the zero value, files are expected at
// their recorded paths.
type Options struct {
	// Exe is the file of the main program; "" to search for it.
	Exe string
	// Sysroot is a directory. Recorded paths are looked up below it.
	Sysroot string
	// Paths are files, and directories with files. They are matched with modules by
	// build-id, then by name and program headers.
	Paths []string
	// DebugDirs are directories of debug files; nil for the system's directories.
	DebugDirs []string
	// CacheDir is the directory for what saves time in the next run: the build-ids of
	// files below Paths, and what was found in debug information. If it is "", nothing
	// is kept.
	CacheDir string
	// Searching, if not nil, is called for each file that is looked at below Paths, with
	// how many there are so far, and with -1 at the end; also concurrently.
	Searching func(files int)
	// SFrameDirs are directories with sidecars: files called <build-id>.sframe
	// with an .sframe section for modules without one.
	SFrameDirs []string
	// Debuginfod fetches files that are not on this machine. If it is nil, no files
	// are fetched.
	Debuginfod *debuginfod.Client
	// NamesOnly is set if memory has nothing but headers, and only names are asked for.
	// A debug file of the build-id in such a header is then enough.
	NamesOnly bool
}

// Set holds the modules of a process. It is safe for concurrent use.
type Set struct {
	img   *core.Image
	opts  Options
	files *resolve.Resolver // nil if OpenFile made the set
	mem   *memreader.Layers
	sites []*site // ascending by address
	spans []span  // the address space, ascending
	progs int     // the number of program headers that sites keep
	// copied is how many bytes of images in memory were copied for their headers.
	copied atomic.Int64
	// withHeader are the first images of each file that have the ELF header in
	// memory. They are indexed when the first one is looked for.
	withHeader func() map[fileKey]*elfx.File

	budget elfx.Budget // of all files, for compressed sections
	work   info.Budget // of all files, for debug information

	mu       sync.Mutex
	problems problems
	inMemory uint64            // the size of images that were read from memory, in bytes
	opened   map[string]*names // the names of modules by the file that was matched with them
	release  []func()          // functions that close files

	jit generated
}

// Find finds the modules of an image. The set then owns the image. Find opens files
// only if the image is a core that does not name the mapped files.
func Find(img *core.Image, opts Options) *Set {
	s := &Set{img: img, opts: opts, opened: make(map[string]*names)}
	s.files = newResolver(img, &opts)
	s.withHeader = sync.OnceValue(s.indexHeaders)
	s.mem = &memreader.Layers{Top: img.Mem, Under: (*fileMemory)(s)}
	s.Guard(img.Path, s.findSites)
	s.layOut()
	return s
}

func newResolver(img *core.Image, opts *Options) *resolve.Resolver {
	o := resolve.Options{
		Exe: opts.Exe, Paths: opts.Paths, Sysroot: opts.Sysroot, DebugDirs: opts.DebugDirs, CacheDir: opts.CacheDir, Searching: opts.Searching,
	}
	switch {
	case img.Live != nil:
		o.ProcessRoot, o.NoRoot = img.Root, img.Root == ""
	case img.Path != "" && img.Path != "-":
		o.CoreDir = filepath.Dir(img.Path)
	}
	return resolve.New(o)
}

// Image returns the process image. It must not be modified.
func (s *Set) Image() *core.Image { return s.img }

// Memory reads the memory of the process. If the image does not have the bytes at an
// address, they come from the file that was mapped there, and global offset tables of
// a live process from the process.
func (s *Set) Memory() memreader.Reader { return s.mem }

// Resolver proposes further files, such as sources. It is nil for a set that
// OpenFile made.
func (s *Set) Resolver() *resolve.Resolver { return s.files }

// All yields every module in ascending order of address. It opens each module when
// its turn comes. Of the images that just-in-time compilers registered, it yields
// only those that were used before.
func (s *Set) All() iter.Seq[*Module] {
	return func(yield func(*Module) bool) {
		for _, site := range s.all() {
			if !yield(site.open()) {
				return
			}
		}
	}
}

// Len returns how many modules All yields.
func (s *Set) Len() int { return len(s.all()) }

func (s *Set) all() []*site {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Concat(s.sites, s.jit.used)
	slices.SortStableFunc(all, func(a, b *site) int { return cmp.Compare(a.lo, b.lo) })
	return all
}

// Problems returns what is wrong with the modules that were opened so far, once each.
// Of more than a thousand problems, it counts those after the first thousand.
func (s *Set) Problems() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problems.all()
}

// Note adds a problem, unless the same problem was noted before.
func (s *Set) Note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems.add(err)
}

// Close releases all files and the image. No other method may be in use, or be
// used afterwards.
func (s *Set) Close() error {
	for _, release := range s.release {
		release()
	}
	return s.img.Close()
}

// keep keeps a file open until the set is closed; release then closes it.
func (s *Set) keep(release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release = append(s.release, release)
}

// ErrShrunk is the error with which Guard ends a function early.
var ErrShrunk = errors.New("a mapped file became shorter or cannot be read")

// Guard calls f, which reads mapped files, and returns [ErrShrunk] if it ended
// early because one became shorter or could not be read. f must not hand such
// work to other goroutines.
func Guard(f func()) error {
	if memreader.Guard(f) != nil {
		return ErrShrunk
	}
	return nil
}

// Guard is [Guard] for a function that reads the files of a module or core. path is
// the path of that module or core. Guard notes the fault as a problem.
func (s *Set) Guard(path string, f func()) {
	if err := Guard(f); err != nil {
		s.Note(fmt.Errorf("%s: %w", path, err))
	}
}
