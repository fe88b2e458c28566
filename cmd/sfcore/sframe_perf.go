package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/internal/perfdata"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind"
)

type perfCommand struct {
	limits
	format, sysroot string
	paths, sidecar  []string
}

func newPerfCommand() *cobra.Command {
	c := &perfCommand{}
	cmd := &cobra.Command{
		Use:   "perf [flags] PERF.DATA",
		Short: "Walk the samples of perf by each method, and compare them",
		Long: `perf walks the stacks that "perf record --call-graph dwarf" has copied, once by each
method alone (.sframe, .eh_frame, frame pointers) and once by all methods of sfcore
together, which is what the others are compared with:

  COMPLETE   samples whose walk reached the start of the thread
  CUT        samples whose walk reached the end of the copy (8 KiB unless perf
             was told otherwise)
  SHORTER    samples with the same frames, but not all of them
  DIFFERENT  samples with a frame that the others do not have
  FRAMES     frames of all samples that are the same, and their share
  NS/FRAME   how long the method took for each frame that it found: each sample
             is walked twice, and the faster walk counts

Below the table it says where walks by .sframe stopped that went on by all methods.
It reads the files that were mapped by their paths; --sysroot and --path as for cores.

Exit status: 0, 1 if some samples could not be read, 2 if none could.`,
		Example: `  perf record --call-graph dwarf -o perf.data ./prog
  sfcore sframe perf perf.data
  sfcore sframe perf --sframe-dir sidecars perf.data # of sframe synth`,
		Args: files(1, 1),
		RunE: c.run,
	}
	c.register(cmd)
	f := cmd.Flags()
	eitherFormat(cmd, &c.format)
	f.StringVar(&c.sysroot, "sysroot", "", "look for recorded paths below `DIR`")
	f.StringArrayVar(&c.paths, "path", nil, "look for files below `DIR`, by build-id, then by name (repeatable)")
	f.StringArrayVar(&c.sidecar, "sframe-dir", nil, "for modules without .sframe, use what sframe synth wrote to `DIR` (repeatable)")
	return cmd
}

// perfMethods are the walks that are compared; the last has all methods.
var perfMethods = []struct {
	name     string
	steppers func() []unwind.Stepper
}{
	{"sframe", func() []unwind.Stepper { return []unwind.Stepper{unwind.NewSFrame()} }},
	{"cfi", func() []unwind.Stepper { return []unwind.Stepper{unwind.NewCFI()} }},
	{"fp", func() []unwind.Stepper { return []unwind.Stepper{unwind.NewFramePointer()} }},
	{"all", process.DefaultSteppers},
}

type perfReport struct {
	Schema   string       `json:"schema"`
	Samples  int          `json:"samples"`
	Without  int          `json:"samplesWithoutUserRegisters"`
	Methods  []perfMethod `json:"methods"`
	Stops    []perfStop   `json:"sframeStops"`
	Problems []string     `json:"problems"`
}

type perfMethod struct {
	Name      string `json:"method"`
	Complete  int    `json:"complete"`
	Cut       int    `json:"cut"`
	Shorter   int    `json:"shorter"`
	Different int    `json:"different"`
	Frames    int    `json:"frames"`
	// All frames that the method found, and how long that took.
	Walked      int   `json:"framesWalked"`
	Nanoseconds int64 `json:"nanoseconds"`
}

// perfStop is a place where walks by .sframe end.
type perfStop struct {
	Module   string `json:"module"`
	Function string `json:"function,omitempty"`
	Reason   string `json:"reason"`
	Samples  int    `json:"samples"`
}

func (c *perfCommand) run(cmd *cobra.Command, args []string) error {
	if err := checkEither(c.format); err != nil {
		return err
	}
	if err := cmp.Or(checkDirs("--sysroot", c.sysroot), checkDirs(pathFlag, c.paths...), checkDirs("--sframe-dir", c.sidecar...)); err != nil {
		return err
	}
	data, release, err := elfx.MapFile(args[0])
	if err != nil {
		return err
	}
	defer release()
	recorded, err := perfdata.Parse(data)
	if err != nil {
		return named(args[0], err)
	}
	defer recorded.Close()
	r, err := c.walk(cmd, recorded)
	if err != nil {
		return err
	}
	if r.Samples == 0 {
		return fmt.Errorf("%s: no sample has registers of user space; record with --call-graph dwarf", args[0])
	}
	if c.format == "json" {
		err = document.Write(cmd.OutOrStdout(), r)
	} else {
		err = r.write(cmd.OutOrStdout())
	}
	if err == nil && len(r.Problems) > 0 {
		return incompleteError{}
	}
	return err
}

// walk walks all samples.
func (c *perfCommand) walk(cmd *cobra.Command, f *perfdata.File) (*perfReport, error) {
	r := &perfReport{Schema: "sfcore.sframe-perf/1", Samples: len(f.Samples), Without: f.Without, Stops: []perfStop{}, Problems: []string{}}
	for _, m := range perfMethods {
		r.Methods = append(r.Methods, perfMethod{Name: m.name})
	}
	for _, p := range f.Problems {
		r.Problems = append(r.Problems, p.Error())
	}
	bySpace := map[*perfdata.Space][]*perfdata.Sample{}
	for i := range f.Samples {
		bySpace[f.Samples[i].Space] = append(bySpace[f.Samples[i].Space], &f.Samples[i])
	}
	progress := newProgress()
	defer progress.clear()
	w := perfWalk{f: f, report: r, stops: map[perfStop]int{}, frames: make([][]unwind.Frame, len(perfMethods)), budget: unwind.Budget{Steps: perfSteps + perfSampleSteps*int64(len(f.Samples))}}
	done := 0
	laid := 0
	for _, space := range f.Spaces {
		samples := bySpace[space]
		if samples == nil {
			continue
		}
		if laid += len(space.Mappings); laid > maxPerfMappings {
			w.ended += len(samples)
			continue
		}
		epochs, whole := space.Epochs(samples)
		if !whole {
			r.Problems = append(r.Problems, fmt.Sprintf("process %d: files were replaced too often; its first samples may have frames of the wrong file", space.PID))
		}
		for i := range epochs { // one set of modules at a time
			set := module.Find(perfImage(f, space, epochs[i].Mappings), module.Options{Sysroot: c.sysroot, Paths: c.paths, SFrameDirs: c.sidecar})
			w.begin(set)
			for _, s := range epochs[i].Samples {
				if err := cmd.Context().Err(); err != nil {
					set.Close()
					return nil, err
				}
				w.sample(s)
				done++
				progress.share(done, len(f.Samples), space.Comm)
			}
			w.checkFiles(epochs[i].Mappings)
			set.Close()
		}
	}
	if w.ended > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s not walked to the end: the walks take too much time", count(w.ended, "sample")))
	}
	for stop, n := range w.stops {
		stop.Samples = n
		r.Stops = append(r.Stops, stop)
	}
	slices.SortFunc(r.Stops, func(a, b perfStop) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), strings.Compare(a.Module, b.Module), strings.Compare(a.Function, b.Function), strings.Compare(a.Reason, b.Reason))
	})
	return r, nil
}

// perfImage is the process that a sample was taken of, without memory.
func perfImage(f *perfdata.File, s *perfdata.Space, mappings []perfdata.Mapping) *core.Image {
	img := &core.Image{Arch: f.Arch, PID: s.PID, Name: s.Comm, Mem: memreader.NewSpace(nil)}
	for i := range mappings {
		m := &mappings[i]
		path := m.Path
		if m.Anonymous() {
			path = ""
		}
		img.Mappings = append(img.Mappings, core.Mapping{Lo: m.Lo, Hi: m.Hi, Off: m.Off, Path: path, Exec: m.Exec})
	}
	return img
}

const (
	// maxPerfFrames bounds the frames of a sample: the copy of a stack has at most 64 KiB.
	maxPerfFrames = 4096
	// perfSteps and perfSampleSteps bound the work on all samples: see [unwind.Budget].
	// It is enough for 300 frames of each sample, which is walked twice, and a million more.
	perfSteps, perfSampleSteps = 1 << 30, 1 << 18
	// maxPerfMappings bounds the mappings that are put one over the other, for all
	// processes together. That many take some seconds.
	maxPerfMappings = 4 << 20
)

// perfWalk walks the samples of a recording.
type perfWalk struct {
	f      *perfdata.File
	report *perfReport
	budget unwind.Budget
	stops  map[perfStop]int
	ended  int              // samples that were not walked to the end
	frames [][]unwind.Frame // room for each method

	// Of the process at hand:
	set  *module.Set
	by   []unwind.Unwinder // each by a method
	used map[*module.Module]bool
}

// begin begins with the samples of a process.
func (w *perfWalk) begin(set *module.Set) {
	w.set, w.used, w.by = set, map[*module.Module]bool{}, make([]unwind.Unwinder, len(perfMethods))
	for i, m := range perfMethods {
		w.by[i] = unwind.Unwinder{Arch: w.f.Arch, Find: set.Place, Steppers: m.steppers(), MaxFrames: maxPerfFrames, Budget: &w.budget}
	}
}

// sample walks a sample by each method.
func (w *perfWalk) sample(s *perfdata.Sample) {
	mem, regs := &memreader.Layers{Top: s.Memory(), Under: w.set.Memory()}, w.f.Regs(s)
	walks := make([][]unwind.Frame, len(perfMethods))
	ends := make([]unwind.Stop, len(perfMethods))
	for i := range w.by {
		w.by[i].SetMem(mem)
		m, best := &w.report.Methods[i], time.Duration(math.MaxInt64)
		for range 2 { // the first reads files, and either may be interrupted
			start := time.Now()
			walks[i], ends[i] = w.by[i].Unwind(w.frames[i][:0], &regs)
			best = min(best, time.Since(start))
			w.frames[i] = walks[i]
		}
		m.Nanoseconds += best.Nanoseconds()
		m.Walked += len(walks[i])
	}
	last := len(walks) - 1
	want := walks[last]
	if ends[last].Reason == unwind.Limit {
		w.ended++
	}
	w.uses(want)
	for i := range walks {
		m := &w.report.Methods[i]
		same := samePrefix(walks[i], want)
		m.Frames += same
		switch {
		case ends[i].Complete():
			m.Complete++
		case ends[i].Reason == unwind.UnreadableMemory:
			m.Cut++
		}
		switch {
		case same < len(walks[i]) && same < len(want):
			m.Different++
		case same < len(want):
			m.Shorter++
		}
	}
	if at := walks[0]; len(at) > 0 && len(at) < len(want) && samePrefix(at, want) == len(at) {
		w.stops[placeOf(w.set, &at[len(at)-1], ends[0].Reason)]++
	}
}

// uses notes the modules that frames are in.
func (w *perfWalk) uses(frames []unwind.Frame) {
	for i := range frames {
		if m := w.set.At(frames[i].LookupPC()); m != nil {
			w.used[m] = true
		}
	}
}

// checkFiles tells which of the files that were used are not those that were recorded.
func (w *perfWalk) checkFiles(mappings []perfdata.Mapping) {
	recorded := map[string]string{}
	for i := range mappings {
		m := &mappings[i]
		recorded[m.Path] = cmp.Or(m.BuildID, w.f.BuildIDs[m.Path])
	}
	for m := range w.used {
		if id := recorded[m.Path]; id != "" && m.BuildID != "" && id != m.BuildID && len(w.report.Problems) < maxPerfProblems {
			w.report.Problems = append(w.report.Problems, fmt.Sprintf("%s: its build-id is %s, that of the file which was recorded is %s; its frames may be wrong", m.Path, m.BuildID, id))
		}
	}
}

// maxPerfProblems bounds what is said about files: each process may have others.
const maxPerfProblems = 100

// samePrefix returns how many frames two walks have in common.
func samePrefix(a, b []unwind.Frame) int {
	n := 0
	for n < len(a) && n < len(b) && a[n].PC == b[n].PC {
		n++
	}
	return n
}

func placeOf(set *module.Set, f *unwind.Frame, reason unwind.Reason) perfStop {
	stop := perfStop{Module: "(no module)", Reason: reason.String()}
	if m := set.At(f.LookupPC()); m != nil {
		stop.Module = m.Name()
	}
	if locs := set.Locate(f.LookupPC(), nil); len(locs) > 0 {
		stop.Function = locs[len(locs)-1].Func
	}
	return stop
}

// maxStops bounds the places that text lists.
const maxStops = 15

func (r *perfReport) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "COMPLETE\tCUT\tSHORTER\tDIFFERENT\tFRAMES\tSHARE\tNS/FRAME\t  METHOD")
	all := r.Methods[len(r.Methods)-1].Frames
	for _, m := range r.Methods {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%s\t%d\t  %s\n", m.Complete, m.Cut, m.Shorter, m.Different, m.Frames, percent(uint64(m.Frames), uint64(all)), m.Nanoseconds/int64(max(m.Walked, 1)), m.Name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s of user space", count(r.Samples, "sample"))
	if r.Without > 0 {
		fmt.Fprintf(out, "; %d without registers of user space", r.Without)
	}
	fmt.Fprintln(out)
	for i, s := range r.Stops {
		if i == maxStops {
			fmt.Fprintf(out, "and %d more places; --format json lists them\n", len(r.Stops)-maxStops)
			break
		}
		fmt.Fprintf(out, ".sframe stops in %s: %s in %s (%s)\n", count(s.Samples, "sample"), plain(cmp.Or(s.Function, "??")), plain(s.Module), s.Reason)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(out, "not read: %s\n", plain(p))
	}
	return nil
}
