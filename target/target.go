// Package target joins a stopped process with the files it was made of: it
// finds each module's file, walks stacks with the unwind tables found there,
// and names addresses. It is the session behind every front end: the command
// line, the debug adapter and the plugin render what its methods return.
package target

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/resolve"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

// Options say where a target's files are looked for and how it is walked. The
// zero value looks at recorded paths and uses every method.
type Options struct {
	// Exe is the file of the main program, "" to search for it.
	Exe string
	// Sysroot is the directory that recorded paths are taken to be below.
	Sysroot string
	// Paths are files, and directories with files, to match with modules by
	// build-id, then by name and program headers.
	Paths []string
	// DebugDirs are directories of debug files; nil for those of the system.
	DebugDirs []string
	// SourceMap says where source files are that are not at the path that debug
	// information has.
	SourceMap []resolve.Substitution
	// Debuginfod fetches files that are not at hand; nil not to.
	Debuginfod *debuginfod.Client
	// CacheDir is where the build-ids of files below Paths are kept; "" not to.
	CacheDir string
	// SFrameDirs are directories with sidecars: files called <build-id>.sframe
	// with an .sframe section for modules that have none.
	SFrameDirs []string
	// Steppers makes the methods of a new unwinder, each time new ones; nil for
	// [DefaultSteppers]. It may be called by several goroutines at once.
	Steppers func() []unwind.Stepper
	// MaxFrames bounds a stack; 0 for unwind.DefaultMaxFrames.
	MaxFrames int
	// MaxTime bounds the walk of a stack; 0 for no bound.
	MaxTime time.Duration
}

// Target is a stopped process with its modules. It is safe for concurrent use.
type Target struct {
	img     *core.Image
	opts    Options
	mem     *memreader.Layers
	modules []*Module // ascending by address
	places  []unwind.Place
	files   *resolve.Resolver
	progs   int // program headers that modules keep

	mu       sync.Mutex
	problems []error
	images   uint64             // bytes of images that are read from memory
	first    map[string]*Module // by file: the module that was found first to be of it

	jit jit
}

// ErrNoThread is returned for a thread id that the process does not have.
var ErrNoThread = errors.New("no such thread")

// New makes a target of an image, which it then owns: Close closes it. Files are
// looked for when a module is used first.
func New(img *core.Image, opts Options) *Target {
	t := &Target{img: img, opts: opts}
	t.files = newResolver(img, &t.opts)
	t.guard(img.Path, func() { t.modules = t.findModules() })
	t.places = t.layOut()
	t.mem = &memreader.Layers{Top: img.Mem, Under: (*moduleMemory)(t)}
	return t
}

// Image returns the process image. It must not be modified.
func (t *Target) Image() *core.Image { return t.img }

// Memory reads the process: the image's bytes, and those of the files it had
// mapped where the image has none.
func (t *Target) Memory() memreader.Reader { return t.mem }

// Modules returns the modules in ascending order of address; of the images that
// just-in-time compilers registered, those that are loaded by now.
func (t *Target) Modules() []*Module {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Concat(t.modules, t.jit.used)
	slices.SortStableFunc(all, func(a, b *Module) int { return cmp.Compare(a.Lo, b.Lo) })
	return all
}

// Problems returns what is wrong with the image and, as far as they were
// looked at, its modules.
func (t *Target) Problems() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Concat(t.img.Problems, t.problems)
}

func (t *Target) problem(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, fmt.Errorf(format, args...))
}

// Close releases the image and all files. No other method may be in use, or be
// used afterwards.
func (t *Target) Close() error {
	for _, m := range t.modules {
		m.close()
	}
	return t.img.Close()
}

// problemOnce is problem for what is found again and again.
func (t *Target) problemOnce(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.ContainsFunc(t.problems, func(e error) bool { return e.Error() == err.Error() }) {
		t.problems = append(t.problems, err)
	}
}

// guard calls f, which ends early if a mapped file becomes shorter or cannot be
// read; path tells of which module.
func (t *Target) guard(path string, f func()) {
	if memreader.Guard(f) != nil {
		t.problemOnce("%s: a mapped file became shorter or cannot be read", path)
	}
}
