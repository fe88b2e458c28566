// Package process is the session behind every front end. It joins a stopped process
// with the files that the process was made of. It walks the stacks of the threads,
// names code, and finds variables and source lines. It describes all of that in the
// documents of package report, which the command line, the debug adapter and the
// plugin render.
package process

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

// Process is a stopped process with its modules. It is safe for concurrent use.
type Process struct {
	img      *core.Image
	opts     Options
	modules  *module.Set
	servers  *debuginfod.Client // nil if no files are fetched
	steppers func() []unwind.Stepper
	budget   unwind.Budget // of all stacks
	renewed  bool          // Next has made it, with the modules from before
	tails    tailCalls
	heap     programHeap
	owners   stackOwners

	demangling  atomic.Int64 // time that long names took, in nanoseconds
	sourceRead  atomic.Int64 // bytes of source files that were read
	sourceMarks sourceMarks
}

// ErrNoThread is returned for a thread id that the process does not have.
var ErrNoThread = errors.New("no such thread")

// New joins an image with its files. The Process owns the image: Close closes it. A
// file is looked for when an address in its module is first asked about.
//
// The options must be valid: see [Options.Check].
func New(img *core.Image, opts Options) *Process { return join(img, opts, false) }

func join(img *core.Image, opts Options, namesOnly bool) *Process {
	p := &Process{img: img, opts: opts, steppers: opts.steppers(), budget: unwind.Budget{Time: opts.MaxTotalTime}}
	files := opts.module()
	servers, err := opts.servers()
	p.servers, files.Debuginfod, files.NamesOnly = servers, servers, namesOnly
	p.modules = module.Find(img, files)
	if err != nil {
		p.modules.Note(err)
	}
	return p
}

// Next is New for a later snapshot of the same live process, with the options of p. It
// takes over the files of p and what was found out about them, unless others are
// mapped now. Of p, no method may be in use, or be used afterwards.
func Next(p *Process, img *core.Image) *Process {
	if p.modules.Renew(img) {
		return &Process{
			img: img, opts: p.opts, modules: p.modules, servers: p.servers, steppers: p.steppers,
			budget: unwind.Budget{Time: p.opts.MaxTotalTime}, renewed: true,
		}
	}
	next := New(img, p.opts)
	if err := p.Close(); err != nil {
		next.modules.Note(err)
	}
	return next
}

// Close releases the image and all files. No other method may be in use, or be
// used afterwards.
func (p *Process) Close() error {
	return p.modules.Close()
}

// Image returns the process image. It must not be modified.
func (p *Process) Image() *core.Image { return p.img }

// Memory reads the memory of the process. If the image does not have the bytes at an
// address, they come from the file that was mapped there.
func (p *Process) Memory() memreader.Reader { return p.modules.Memory() }

// Threads returns the threads in the order in which they are reported: first the
// crashed thread, then the others in the order of the image.
func (p *Process) Threads() []*core.Thread {
	threads := make([]*core.Thread, 0, len(p.img.Threads))
	for _, crashed := range []bool{true, false} {
		for i := range p.img.Threads {
			if th := &p.img.Threads[i]; th.Crashed == crashed {
				threads = append(threads, th)
			}
		}
	}
	return threads
}

// Problems returns what is wrong with the image and with the modules that were
// opened so far. It is never nil.
func (p *Process) Problems() []string {
	problems := []string{}
	for _, err := range slices.Concat(p.img.Problems, p.modules.Problems()) {
		problems = append(problems, err.Error())
	}
	return problems
}

// Guard calls f, which uses a Process or its memory. It returns an error if f ended
// early because a mapped file became shorter or could not be read. f must not hand
// such work to other goroutines.
func Guard(f func()) error { return module.Guard(f) }
