// Package gate judges the .sframe sections that assemblers and linkers have written:
// against the format, against call frame information, by how much code they cover and
// by their size. [Examine] says what is wrong with one file, and a [Policy] whether that
// is good enough.
package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
)

// File is what was found out about an ELF file.
type File struct {
	// Path is where the file is. Name identifies it in baselines and allow-lists: it
	// is relative to the directory that was searched.
	Path, Name string
	Kind       Kind
	Arch       string
	// Versions are those of the tables of .sframe, without repetition.
	Versions []string
	// HasSFrame is set if the file has a section or segment for SFrame, even an empty
	// one.
	HasSFrame bool
	// SFrameBytes and CFIBytes are the sizes of .sframe, and of .eh_frame with its
	// header.
	SFrameBytes, CFIBytes uint64
	Functions             int // of .sframe
	compare.Coverage
	// Findings are sorted by severity, then by ID, function and field.
	Findings []Finding
}

// Finding is one kind of defect of one function, or of the whole section.
type Finding struct {
	// ID is stable: see [Meanings].
	ID       string
	Severity sframe.Severity
	// Function is the name of the function, "" if the finding is not about one, or its
	// name is not known.
	Function string
	// Field is the field of the format or the rule that is wrong.
	Field string
	// Addr is the first link-time address that the finding is about, 0 if it is not
	// about code. Off is the offset in the section; -1 if there is none.
	Addr uint64
	Off  int64
	Msg  string
	// Count says how often the function has this.
	Count int
}

// key is what makes findings the same in two builds: not addresses, which change.
func (f *Finding) key() [3]string { return [3]string{f.ID, f.Function, f.Field} }

// Covered returns the share of the code with unwind tables that .sframe covers, or of
// all code if .sframe is the only table; 1 if there is no such code.
func (f *File) Covered() float64 {
	tables := f.Code - f.Neither
	if f.CFI == 0 {
		tables = f.Code
	}
	if tables == 0 {
		return 1
	}
	return float64(f.SFrame) / float64(tables)
}

// examination is one in progress.
type examination struct {
	*File
	module *module.Module
	image  *elfx.File
	code   []elfx.Code
	index  map[[3]string]int // of findings
	kept   map[sframe.Severity]int
	left   map[sframe.Severity]int // findings beyond maxFindings
}

// maxFindings bounds the findings of each severity, of a file in which everything is
// wrong. Notes leave room for errors.
const maxFindings = 2000

func newExamination(f *File) *examination {
	return &examination{File: f, index: map[[3]string]int{}, kept: map[sframe.Severity]int{}, left: map[sframe.Severity]int{}}
}

// Examine finds out what is wrong with the SFrame sections of the ELF file in data. The
// error says why the file cannot be read.
func Examine(path, name string, data []byte) (*File, error) {
	if foreign(data) {
		return nil, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	set, err := module.FromBytes(path, data)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	m := set.Only()
	e := newExamination(&File{Path: path, Name: name, Arch: set.Image().Arch.Name})
	e.module, e.image, e.code = m, m.Image(), m.Image().Code()
	e.Kind = kindOf(e.image)
	e.sizes()
	e.layout()
	e.format()
	if s := m.Tables.SFrame; s != nil {
		e.functions(s)
		if len(m.Tables.CFI) > 0 {
			e.differences(compare.Compare(compare.Module{
				Arch: set.Image().Arch, SFrame: s, CFI: m.Tables.CFI[0],
				Section: func(addr uint64) string { return elfx.CodeName(e.code, addr) },
			}))
		}
	}
	e.Coverage = measure(m)
	e.finish()
	return e.File, nil
}

// measure returns how much of the code of a module its tables cover.
func measure(m *module.Module) compare.Coverage {
	image, a := m.Image(), archOf(m)
	var code []compare.Range
	for _, r := range image.Code() {
		code = append(code, compare.Range{Lo: r.Lo, Hi: r.Hi})
	}
	var sf compare.Ranges
	if s := m.Tables.SFrame; s != nil {
		sf, _ = compare.SFrameRanges(a, s)
	}
	cf, _ := compare.CFIRanges(a, m.Tables.CFI)
	return compare.Cover(compare.NewRanges(code), sf, cf)
}

// sizes notes which sections there are.
func (e *examination) sizes() {
	sects, _ := e.image.Sections()
	for i := range sects {
		if s := &sects[i]; s.Name == ".eh_frame" || s.Name == ".eh_frame_hdr" {
			e.CFIBytes += s.Size
		}
	}
	for _, s := range e.image.SFrameSections() {
		e.HasSFrame = true
		e.SFrameBytes += s.Size
	}
	if e.image.Prog(elfx.ProgGNUSFrame) != nil { // what it leads to may be cut off
		e.HasSFrame = true
	}
	if s := e.module.Tables.SFrame; s != nil {
		if e.HasSFrame = true; e.SFrameBytes == 0 { // only a segment says where it is
			e.SFrameBytes = uint64(s.Size())
		}
		for t, err := range s.Tables() {
			if v := t.Version.String(); err == nil && !slices.Contains(e.Versions, v) {
				e.Versions = append(e.Versions, v)
			}
		}
	}
}

// add adds a finding, or counts it if there is one of the same kind.
func (e *examination) add(f Finding) {
	if f.Count == 0 {
		f.Count = 1
	}
	if i, ok := e.index[f.key()]; ok {
		e.Findings[i].Count += f.Count
		return
	}
	if e.kept[f.Severity] == maxFindings {
		e.left[f.Severity] += f.Count
		return
	}
	e.kept[f.Severity]++
	e.index[f.key()] = len(e.Findings)
	e.Findings = append(e.Findings, f)
}

// found adds a finding of a kind that this package knows.
func (e *examination) found(id, field, format string, args ...any) {
	e.add(Finding{ID: id, Severity: kinds[id].severity, Field: field, Off: -1, Msg: fmt.Sprintf(format, args...)})
}

// omitted adds that findings are left out, of which the worst has a severity. Count says
// how many, so that a baseline notices more of them.
func (e *examination) omitted(severity sframe.Severity, n int) {
	e.add(Finding{ID: "too-many-findings", Severity: severity, Field: severity.String(), Off: -1, Msg: "more findings are left out", Count: n})
}

func (e *examination) finish() {
	for _, severity := range slices.Sorted(maps.Keys(e.left)) {
		n := e.left[severity]
		e.kept[severity], e.left[severity] = 0, 0
		e.omitted(severity, n)
	}
	slices.SortStableFunc(e.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Addr, b.Addr))
	})
}

// function returns the name of the function that begins at an address, "" if it is not
// known.
func (e *examination) function(addr uint64) string {
	names := e.module.Symbols()
	if names == nil {
		return ""
	}
	if locs := names.Lookup(addr, nil); len(locs) > 0 && locs[0].Offset == 0 {
		return shorten(locs[0].Func)
	}
	return ""
}

// maxName bounds the names of functions, in bytes: 2,000 findings of a file may each
// have one.
const maxName = 256

func shorten(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "") + "…"
}
