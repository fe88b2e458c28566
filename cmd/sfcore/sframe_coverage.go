package main

import (
	"bufio"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/sframe/compare"
	"github.com/sfcore/sfcore/unwind"
)

type coverageCommand struct {
	fileFlags
}

func newCoverageCommand() *cobra.Command {
	c := &coverageCommand{}
	cmd := &cobra.Command{
		Use:   "coverage [flags] FILE...",
		Short: "Count the code that .sframe and .eh_frame cover",
		Long: `coverage prints for every module how many bytes of code it has, and how many of
these have a usable row of .sframe, of call frame information (.eh_frame or
.debug_frame), and of neither. For a core it also prints how many frames of all
stacks are in the module, and how many of these have such a row.

Exit status: 0, or 2 if a file cannot be read.`,
		Example: `  sfcore sframe coverage a.out
  sfcore sframe coverage --path ./build core.1234`,
		Args: files(1, unlimited),
		RunE: c.run,
	}
	c.register(cmd)
	return cmd
}

func (c *coverageCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.eachFile(cmd, args, func(t *module.Set, out *bufio.Writer) (found bool, err error) {
		r := measure(t)
		if c.format == "json" {
			return false, document.Write(out, r)
		}
		return false, r.write(out)
	})
}

// coverage is the output for one file.
type coverage struct {
	Schema  string           `json:"schema"`
	File    string           `json:"file"`
	Modules []moduleCoverage `json:"modules"`
	Total   coverageCounts   `json:"total"`
	// Frames of a core that are in no module.
	Elsewhere int `json:"framesElsewhere,omitempty"`
}

type moduleCoverage struct {
	File string `json:"file"`
	coverageCounts
	Problems []string `json:"problems,omitempty"`

	lo, hi     uint64
	sframe, cf compare.Ranges
}

type coverageCounts struct {
	Code    uint64       `json:"codeBytes"`
	SFrame  uint64       `json:"sframeBytes"`
	CFI     uint64       `json:"cfiBytes"`
	Both    uint64       `json:"bothBytes"`
	Neither uint64       `json:"neitherBytes"`
	Frames  *frameCounts `json:"frames,omitempty"`
}

type frameCounts struct {
	All     int `json:"all"`
	SFrame  int `json:"sframe"`
	CFI     int `json:"cfi"`
	Neither int `json:"neither"`
}

// measure looks at the code of all modules, and at the frames of all threads.
func measure(t *module.Set) *coverage {
	r := &coverage{Schema: "sfcore.sframe-coverage/1", File: t.Image().Path, Modules: []moduleCoverage{}}
	for m := range t.All() {
		r.Modules = append(r.Modules, measureModule(t.Image().Arch, m))
	}
	if len(t.Image().Threads) > 0 {
		r.countFrames(t)
	}
	for i := range r.Modules {
		r.Total.add(&r.Modules[i].coverageCounts)
	}
	return r
}

func measureModule(a *arch.Arch, m *module.Module) moduleCoverage {
	c := moduleCoverage{File: m.Path, lo: m.Lo, hi: m.Hi}
	for _, p := range m.Problems() {
		c.Problems = append(c.Problems, strings.TrimPrefix(p.Error(), m.Path+": "))
	}
	if m.Image() == nil {
		c.Problems = append(c.Problems, "no file")
		return c
	}
	var code []compare.Range
	for _, r := range m.Image().Code() {
		code = append(code, compare.Range{Lo: r.Lo + m.Bias, Hi: r.Hi + m.Bias})
	}
	var problems []error
	if s := m.Tables.SFrame; s != nil {
		c.sframe, problems = compare.SFrameRanges(a, s)
	}
	cf, more := compare.CFIRanges(a, m.Tables.CFI)
	c.cf = cf
	for _, p := range append(problems, more...) {
		c.Problems = append(c.Problems, p.Error())
	}
	n := compare.Cover(compare.NewRanges(code), c.sframe, c.cf)
	c.coverageCounts = coverageCounts{n.Code, n.SFrame, n.CFI, n.Both, n.Neither, nil}
	return c
}

// countFrames walks all threads.
func (r *coverage) countFrames(t *module.Set) {
	for i := range r.Modules {
		r.Modules[i].Frames = &frameCounts{}
	}
	img := t.Image()
	u := unwind.Unwinder{Arch: img.Arch, Mem: t.Memory(), Find: t.Place, Steppers: process.DefaultSteppers()}
	var frames []unwind.Frame
	for i := range img.Threads {
		th := &img.Threads[i]
		if th.Err != nil {
			continue
		}
		u.PACMask, u.Trapped = th.PACMask, img.Trapped(th, t.Memory())
		frames, _ = u.Unwind(frames[:0], &th.Regs)
		for i := range frames {
			r.countFrame(frames[i].LookupPC())
		}
	}
}

func (r *coverage) countFrame(pc uint64) {
	for i := range r.Modules {
		m := &r.Modules[i]
		if pc-m.lo >= m.hi-m.lo {
			continue
		}
		m.Frames.All++
		inSFrame, inCFI := m.sframe.Has(pc), m.cf.Has(pc)
		if inSFrame {
			m.Frames.SFrame++
		}
		if inCFI {
			m.Frames.CFI++
		}
		if !inSFrame && !inCFI {
			m.Frames.Neither++
		}
		return
	}
	r.Elsewhere++
}

func (c *coverageCounts) add(o *coverageCounts) {
	c.Code += o.Code
	c.SFrame += o.SFrame
	c.CFI += o.CFI
	c.Both += o.Both
	c.Neither += o.Neither
	if o.Frames == nil {
		return
	}
	if c.Frames == nil {
		c.Frames = &frameCounts{}
	}
	c.Frames.All += o.Frames.All
	c.Frames.SFrame += o.Frames.SFrame
	c.Frames.CFI += o.Frames.CFI
	c.Frames.Neither += o.Frames.Neither
}

func (r *coverage) write(out *bufio.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	frames := r.Total.Frames != nil
	head := "CODE\tSFRAME\tCFI\tNEITHER\t"
	if frames {
		head += "FRAMES\tSFRAME\tCFI\tNEITHER\t"
	}
	fmt.Fprintln(w, head+"  MODULE")
	for i := range r.Modules {
		r.Modules[i].row(w, plain(r.Modules[i].File))
	}
	if len(r.Modules) > 1 {
		r.Total.row(w, "all")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Elsewhere > 0 {
		fmt.Fprintf(out, "%s in no module\n", count(r.Elsewhere, "frame"))
	}
	for i := range r.Modules {
		for _, p := range r.Modules[i].Problems {
			fmt.Fprintf(out, "%s: %s\n", plain(r.Modules[i].File), plain(p))
		}
	}
	return nil
}

func (c *coverageCounts) row(w *tabwriter.Writer, name string) {
	fmt.Fprintf(w, "%d\t%s\t%s\t%s\t", c.Code, percent(c.SFrame, c.Code), percent(c.CFI, c.Code), percent(c.Neither, c.Code))
	if f := c.Frames; f != nil {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t", f.All, f.SFrame, f.CFI, f.Neither)
	}
	fmt.Fprintf(w, "  %s\n", name)
}

func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}
