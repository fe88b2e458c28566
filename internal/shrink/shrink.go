// Package shrink makes minimal cores: core files with the notes of the original and the
// part of its memory that debuggers need to show the same stacks. It keeps the used part
// of every stack, what sfcore itself read for its report, the ELF headers and variables
// of programs and libraries, the dynamic linker's list, and what the stack and the
// registers of the thread that crashed point to.
package shrink

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"sort"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// Summary says what was written.
type Summary struct {
	// Kept is how many bytes of memory the small core has.
	Kept uint64
	// Stacks has a fingerprint of each stack, in the order of the threads; see [Fingerprint].
	Stacks []uint64
	// Problems are those of the original core; LeftOut is what is not in the small one
	// because of a limit.
	Problems, LeftOut []string
}

// Shrinker collects what is kept of an image while a [process.Process] is used.
type Shrinker struct {
	img    *core.Image
	rec    *recorder
	loads  []core.Load
	stacks stacks

	leftOut  []string
	programs map[string]bool // the files with code

	private  bool         // only what leads to the callers is kept; see Private
	verbatim []core.Range // what is not blanked then
}

// New returns a Shrinker of an image, which stays the caller's.
func New(img *core.Image) *Shrinker {
	s := &Shrinker{img: img, rec: newRecorder(img.Mem), loads: img.Loads()}
	s.stacks.of = s
	return s
}

// Image returns the image to make a [process.Process] of. It is the original one, but
// tells the Shrinker what is read. Only one of both may be closed.
func (s *Shrinker) Image() *core.Image {
	seen := *s.img
	seen.Mem = s.rec
	return &seen
}

// Add adds the stack of a thread. It may be called by several goroutines.
func (s *Shrinker) Add(st *process.Stack) { s.stacks.add(st) }

// Write writes the small core. p is the process of [Shrinker.Image]; modules are those
// that it has opened, nil if they are not to be kept as a whole.
func (s *Shrinker) Write(w io.Writer, p *process.Process, modules []report.Module) (*Summary, error) {
	var (
		kept uint64
		err  error
	)
	if e := process.Guard(func() {
		stacks := core.Whole(s.stacks.ranges(), unit)
		keep := s.special(p.Memory())
		keep = append(keep, s.images(modules)...)
		if !s.private {
			keep = append(keep, s.pointed()...)
		}
		keep = append(keep, s.rec.ranges()...)
		kept, err = s.img.WriteCore(w, append(stacks, beside(stacks, keep)...))
	}); e != nil {
		err = errors.Join(err, e)
	}
	if s.rec.full {
		s.leaveOut("the rest of the memory that sfcore reads, beyond %d MiB", maxRecorded*unit>>20)
	}
	sum := &Summary{Kept: kept, LeftOut: s.leftOut}
	for _, e := range s.img.Problems {
		sum.Problems = append(sum.Problems, e.Error())
	}
	return sum, err
}

// beside returns ranges extended to pages, but not over a page that is in part a stack's:
// of 1,000 threads, the unused rest of these has megabytes.
func beside(stacks, keep []core.Range) []core.Range {
	wide := core.Whole(keep, unit)
	for i, r := range wide {
		r.Lo, r.Hi = r.Lo&^(pageSize-1), max(r.Hi, (r.Hi+pageSize-1)&^(pageSize-1))
		n := sort.Search(len(stacks), func(n int) bool { return stacks[n].Hi > r.Lo })
		if n == len(stacks) || stacks[n].Lo >= r.Hi {
			wide[i] = r
		}
	}
	return wide
}

// Core writes the small core of an image, which it closes. It looks for files, walks all
// stacks, and describes them as a report does, also the variables of the thread that
// crashed, with opts.
func Core(ctx context.Context, w io.Writer, img *core.Image, opts process.Options) (*Summary, error) {
	return New(img).core(ctx, w, opts)
}

func (s *Shrinker) core(ctx context.Context, w io.Writer, opts process.Options) (*Summary, error) {
	p := process.New(s.Image(), opts)
	defer p.Close()
	threads := p.Threads()
	if len(threads) == 0 {
		return nil, errors.New("the core has no threads")
	}
	_ = p.Head()
	waits := process.NewWaits(p)
	stacks := make([]uint64, 0, len(threads))
	for sum := range process.Parallel(ctx, p, threads, func(w *process.Walker, th *core.Thread) uint64 {
		st := w.Walk(th)
		s.Add(st)
		r := w.Describe(st, true)
		waits.Add(r, th)
		if th == threads[0] && !s.private {
			w.AddVariables(st, r)
		}
		return Fingerprint(r)
	}) {
		stacks = append(stacks, sum)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%d of %d stacks were walked: %w", len(stacks), len(threads), err)
	}
	_ = waits.Waiting()
	var modules []report.Module
	for m := range p.Modules() {
		if s.private && len(modules) == MaxPrivateModules {
			s.leaveOut("modules beyond the first %d", MaxPrivateModules)
			break
		}
		modules = append(modules, m)
	}
	sum, err := s.Write(w, p, modules)
	if err != nil {
		return nil, err
	}
	sum.Stacks = stacks
	return sum, nil
}

var seed = maphash.MakeSeed()

// Fingerprint returns a number that two equal stacks of this run of the program share, and
// others do not: of the thread, where its stack ends and why, and the addresses, functions, methods and
// trust of its frames.
func Fingerprint(th *report.Thread) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, th.TID)
	maphash.WriteComparable(&h, th.Stop.Reason)
	for i := range th.Frames {
		f := &th.Frames[i]
		maphash.WriteComparable(&h, f.PC)
		maphash.WriteComparable(&h, f.Method)
		maphash.WriteComparable(&h, f.Trust)
		maphash.WriteComparable(&h, f.Function)
	}
	return h.Sum64()
}
