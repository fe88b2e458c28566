// Package survey measures the unwind tables of whole distributions: for each ELF file,
// package and in total, how much code .sframe and .eh_frame cover, how large they are,
// and what is wrong with them.
package survey

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/gate"
	"github.com/sfcore/sfcore/sframe"
)

// Row is what was measured of one ELF file.
type Row struct {
	Package  string    `json:"package,omitempty"`
	File     string    `json:"file"`
	Kind     gate.Kind `json:"kind"`
	Arch     string    `json:"arch"`
	Versions []string  `json:"versions,omitempty"`
	Counts
	// Findings are the names of errors and warnings with how often each is there.
	Findings map[string]int `json:"findings,omitempty"`
}

// Counts are what is added up, in bytes of code and of sections.
type Counts struct {
	Files       int    `json:"files"`
	WithSFrame  int    `json:"filesWithSFrame"`
	Code        uint64 `json:"codeBytes"`
	SFrame      uint64 `json:"codeInSFrame"`
	CFI         uint64 `json:"codeInCFI"`
	Both        uint64 `json:"codeInBoth"`
	SFrameBytes uint64 `json:"sframeBytes"`
	CFIBytes    uint64 `json:"ehFrameBytes"`
	FileBytes   uint64 `json:"fileBytes"`
	Errors      int    `json:"errors"`
	Warnings    int    `json:"warnings"`
}

// Measure returns the row of a file.
func Measure(pkg string, f *gate.File, size int) Row {
	r := Row{Package: pkg, File: f.Name, Kind: f.Kind, Arch: f.Arch, Versions: f.Versions, Counts: Counts{
		Files: 1, Code: f.Code, SFrame: f.SFrame, CFI: f.CFI, Both: f.Both, SFrameBytes: f.SFrameBytes, CFIBytes: f.CFIBytes, FileBytes: uint64(size),
	}}
	if f.HasSFrame {
		r.WithSFrame = 1
	}
	for i := range f.Findings {
		switch x := &f.Findings[i]; x.Severity {
		case sframe.Error:
			r.Errors += x.Count
			r.found(x)
		case sframe.Warning:
			r.Warnings += x.Count
			r.found(x)
		case sframe.Note:
		}
	}
	return r
}

func (r *Row) found(f *gate.Finding) {
	if r.Findings == nil {
		r.Findings = map[string]int{}
	}
	r.Findings[f.ID] += f.Count
}

func (c *Counts) add(o *Counts) {
	c.Files += o.Files
	c.WithSFrame += o.WithSFrame
	c.Code += o.Code
	c.SFrame += o.SFrame
	c.CFI += o.CFI
	c.Both += o.Both
	c.SFrameBytes += o.SFrameBytes
	c.CFIBytes += o.CFIBytes
	c.FileBytes += o.FileBytes
	c.Errors += o.Errors
	c.Warnings += o.Warnings
}

// Survey is the outcome.
type Survey struct {
	Schema   string    `json:"schema"`
	Total    Counts    `json:"total"`
	Packages []Package `json:"packages"`
	Rows     []Row     `json:"files"`
	// Versions counts the files with each version of SFrame.
	Versions map[string]int `json:"versions"`
	Findings map[string]int `json:"findings"`
	// Skipped is the number of files of other kinds; Unread says which could not be
	// read, and why.
	Skipped int      `json:"filesSkipped"`
	Unread  []string `json:"unread"`
}

// Package are the files of one package added up.
type Package struct {
	Name string `json:"package"`
	Counts
}

// Schema names the format of [Survey] as JSON.
const Schema = "sfcore.sframe-survey/1"

// New adds rows up. It sorts them by package and file; those of two root file systems
// stay in their order.
func New(rows []Row, skipped int, unread []string) *Survey {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.File, b.File))
	})
	s := &Survey{
		Schema: Schema, Packages: []Package{}, Rows: append([]Row{}, rows...), Skipped: skipped, Unread: append([]string{}, unread...),
		Versions: map[string]int{}, Findings: map[string]int{},
	}
	slices.Sort(s.Unread)
	for i := range s.Rows {
		r := &s.Rows[i]
		if n := len(s.Packages); n == 0 || s.Packages[n-1].Name != r.Package {
			s.Packages = append(s.Packages, Package{Name: r.Package})
		}
		s.Packages[len(s.Packages)-1].add(&r.Counts)
		s.Total.add(&r.Counts)
		for _, v := range r.Versions {
			s.Versions[v]++
		}
		for id, n := range r.Findings {
			s.Findings[id] += n
		}
	}
	return s
}

// Covered is the share of the code with any unwind tables that .sframe covers, in
// percent; "-" if there is no such code.
func (c *Counts) Covered() string { return percent(c.SFrame, c.SFrame+c.CFI-c.Both) }

// Described is the share of the code that any unwind table covers.
func (c *Counts) Described() string { return percent(c.SFrame+c.CFI-c.Both, c.Code) }

// Size is the size of .sframe beside that of .eh_frame, of files that have both or not.
func (c *Counts) Size() string { return percent(c.SFrameBytes, c.CFIBytes) }

func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}
