package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

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
  CUT        samples whose walk reached the end of the copy (8 KiB unless perf was
             told otherwise)
  SHORTER    samples with the same frames, but not all of them
  DIFFERENT  samples with a frame that the others do not have
  FRAMES     frames of all samples that are the same, and their share

Below the table it says where walks by .sframe stopped that went on by all methods.
It reads the files that were mapped by their paths; --sysroot and --path as for cores.

Exit status: 0, 1 if some samples could not be read, 2 if none could.`,
		Example: `  perf record --call-graph dwarf -o perf.data ./prog
  sfcore sframe perf perf.data
  sfcore sframe perf --sframe-dir sidecars perf.data   # what .sframe made by synth gives`,
		Args: files(1, 1),
		RunE: c.run,
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "text", "print text or json")
	f.StringVar(&c.sysroot, "sysroot", "", "look for recorded paths below `DIR`")
	f.StringArrayVar(&c.paths, "path", nil, "look for files below `DIR`, by build-id, then by name (repeatable)")
	f.StringArrayVar(&c.sidecar, "sframe-dir", nil, "for modules without .sframe, use what sframe synth wrote to `DIR` (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
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
}

// perfStop is a place where walks by .sframe end.
type perfStop struct {
	Module   string `json:"module"`
	Function string `json:"function,omitempty"`
	Reason   string `json:"reason"`
	Samples  int    `json:"samples"`
}

func (c *perfCommand) run(cmd *cobra.Command, args []string) error {
	if c.format != "text" && c.format != "json" {
		return fmt.Errorf("--format: unknown format %q; use text or json", c.format)
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
	stops, done := map[perfStop]int{}, 0
	for _, space := range f.Spaces { // one set of modules at a time
		if bySpace[space] == nil {
			continue
		}
		set := module.Find(perfImage(f, space), module.Options{Sysroot: c.sysroot, Paths: c.paths, SFrameDirs: c.sidecar})
		for _, s := range bySpace[space] {
			if err := cmd.Context().Err(); err != nil {
				set.Close()
				return nil, err
			}
			r.sample(f, set, s, stops)
			done++
			progress.share(done, len(f.Samples), space.Comm)
		}
		set.Close()
	}
	for stop, n := range stops {
		stop.Samples = n
		r.Stops = append(r.Stops, stop)
	}
	slices.SortFunc(r.Stops, func(a, b perfStop) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), strings.Compare(a.Module, b.Module), strings.Compare(a.Function, b.Function), strings.Compare(a.Reason, b.Reason))
	})
	return r, nil
}

// perfImage is the process that a sample was taken of, without memory.
func perfImage(f *perfdata.File, s *perfdata.Space) *core.Image {
	byStart := map[uint64]core.Mapping{}
	for _, m := range s.Mappings {
		path := m.Path
		if strings.HasPrefix(path, "//anon") {
			path = ""
		}
		byStart[m.Lo] = core.Mapping{Lo: m.Lo, Hi: m.Hi, Off: m.Off, Path: path, Exec: m.Exec}
	}
	img := &core.Image{Arch: f.Arch, PID: s.PID, Name: s.Comm, Mem: memreader.NewSpace(nil)}
	for _, lo := range slices.Sorted(maps.Keys(byStart)) {
		m := byStart[lo]
		if n := len(img.Mappings); n > 0 && img.Mappings[n-1].Hi > lo {
			img.Mappings[n-1].Hi = lo // the later one replaced a part
		}
		img.Mappings = append(img.Mappings, m)
	}
	return img
}

// maxPerfFrames bounds the frames of a sample: the copy of a stack has at most 64 KiB.
const maxPerfFrames = 4096

// sample walks a sample by each method.
func (r *perfReport) sample(f *perfdata.File, set *module.Set, s *perfdata.Sample, stops map[perfStop]int) {
	mem := &memreader.Layers{Top: s.Memory(), Under: set.Memory()}
	walks := make([][]unwind.Frame, len(perfMethods))
	ends := make([]unwind.Stop, len(perfMethods))
	for i, m := range perfMethods {
		u := unwind.Unwinder{Arch: f.Arch, Mem: mem, Find: set.Place, Steppers: m.steppers(), MaxFrames: maxPerfFrames}
		walks[i], ends[i] = u.Unwind(nil, &s.Regs)
	}
	last := len(walks) - 1
	want := walks[last]
	for i := range walks {
		m := &r.Methods[i]
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
		stops[placeOf(set, &at[len(at)-1], ends[0].Reason)]++
	}
}

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
	fmt.Fprintln(w, "COMPLETE\tCUT\tSHORTER\tDIFFERENT\tFRAMES\tSHARE\t  METHOD")
	all := r.Methods[len(r.Methods)-1].Frames
	for _, m := range r.Methods {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%s\t  %s\n", m.Complete, m.Cut, m.Shorter, m.Different, m.Frames, percent(uint64(m.Frames), uint64(all)), m.Name)
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
