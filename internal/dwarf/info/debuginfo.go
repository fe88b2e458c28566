// Package info reads DWARF, versions 2 to 5. For an address it finds the source
// line, the functions that were inlined there, and the variables in scope, with
// their types and the expressions that locate them. It does not evaluate these
// expressions: package internal/dwarf/value does.
//
// It decodes in place, and only what an address needs: the header of its unit,
// that unit's functions, the entries within the one function, and the line
// number program. A file of a gigabyte costs no more memory than the units that
// were used. debug/dwarf, by contrast, decodes all abbreviations when it opens a
// file, and knows neither supplementary files nor split units.
//
// All addresses are link-time addresses: run-time addresses minus the module's
// bias.
package info

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/sfcore/sfcore/internal/elfx"
)

// Location is a place in the source whose code is at an address.
type Location struct {
	// Func is the linkage name of the function (mangled) or, where there is
	// none, its name with those of the scopes around it; "" if unknown.
	Func string
	// Start is the link-time address at which the part of the function's code
	// begins that holds the address, 0 if unknown. A function may have several
	// parts, and a cold part may lie before its entry.
	Start uint64
	// File is the source file, by the compiler's directory if it is not
	// absolute; "" if unknown. In all Locations but the first it is the file
	// of the call that was inlined.
	File   string
	Line   int // from 1; 0 if unknown
	Column int // from 1, in bytes; 0 if unknown
	// Inlined is set if the code of Func stands within that of the Location
	// that follows.
	Inlined bool
}

// Options find the files that debug information refers to. Functions may be nil,
// and return nil if they find nothing. Their results must stay valid as long as
// the Data. They are called one at a time, from within methods of the Data, and
// must not use the Data.
type Options struct {
	// Supplement returns the supplementary file (made by dwz) with a name and
	// build-id, as written in .gnu_debugaltlink.
	Supplement func(name, buildID string) *elfx.File
	// Split yields the files that may be the .dwo with a name, as the compiler
	// in directory dir wrote it.
	Split func(name, dir string) iter.Seq[*elfx.File]
	// Package returns the file (.dwp) that holds all split units.
	Package func() *elfx.File
	// MaxWork bounds what is decoded: the attributes, the line number operations and,
	// four times, the entries. 0 stands for 2^28, which take two seconds.
	MaxWork int
	// Budget bounds them for all Data that share it; nil for one of this Data alone.
	Budget *Budget
}

// Data is the debug information of one image. It is safe for concurrent use.
type Data struct {
	mu     sync.Mutex
	opts   Options
	main   *file
	ranges ranges
	kept   int // ranges of units and functions
	packed int // bytes that were inflated
	split  splitFiles
	work   work
	types  map[typeKey]*Type
	// members and enumerators are those of the types that were asked for.
	members     kept[typeKey, memberList]
	enumerators kept[typeKey, []Enumerator]
	// scopes and calls are by link-time address.
	scopes kept[uint64, []Scope]
	calls  kept[uint64, *CallSite]
	named  fileNamed
	naming int // types that were named for the one being named
	names  *nameIndex
}

// New returns the debug information in an ELF file, which must stay valid as
// long as the Data; nil if there is none. It reads nothing but section
// headers.
func New(f *elfx.File, opts Options) *Data {
	if s := f.Section(".debug_info"); s == nil || s.Type == elfx.SectNobits || s.Size == 0 {
		return nil
	}
	d := &Data{opts: opts, work: work{limit: cmp.Or(opts.MaxWork, maxWork), budget: opts.Budget}}
	d.main = newFile(d, f, "")
	return d
}

// Lookup appends to dst the places in the source that the code at a link-time
// address comes from: the innermost inlined function first, the function that holds
// the code last. It appends nothing if nothing is known. An error says what is
// damaged or missing; Lookup still appends what is known.
func (d *Data) Lookup(addr uint64, dst []Location) ([]Location, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.unitAt(addr)
	if u == nil {
		return dst, d.work.take()
	}
	line := u.lineAt(addr)
	code := u.split()
	scopes := code.scopesAt(addr)
	for i := len(scopes) - 1; i >= 0; i-- {
		if i > 0 && !d.work.spend(callWork) {
			continue // the function itself still has its name
		}
		e := &scopes[i]
		l := Location{Func: code.funcName(e), Start: e.partAt(addr), File: line.file, Line: line.line, Column: line.column}
		if l.Inlined = i > 0; l.Inlined {
			line = code.callSite(e)
		}
		dst = append(dst, l)
	}
	if len(scopes) == 0 && line.line > 0 {
		dst = append(dst, Location{File: line.file, Line: line.line, Column: line.column})
	}
	return dst, d.work.take()
}

// maxWork is the default of [Options.MaxWork], so that no file takes unbounded
// time. The largest programs need a third of it for a thousand addresses.
const maxWork = 1 << 28

// Budget bounds the work on the debug information of several files, counted as by
// [Options.MaxWork]. All together it may be 2^29. The zero Budget is ready for use, also concurrently.
type Budget struct{ used atomic.Int64 }

// Used returns how many steps were taken so far.
func (b *Budget) Used() int64 { return b.used.Load() }

const (
	// maxBudget bounds a Budget: that is twice what one file may take.
	maxBudget = 1 << 29
	// entryWork is what an entry, or one of a list of locations, counts. It takes as
	// long as some line number operations.
	entryWork = 4
	// unitWork is what the header of a unit, or of a set of addresses, counts.
	unitWork = 16
	// listWork is what the place of a unit counts, which is kept: 8 bytes, and as many in
	// memory that was too small.
	listWork = 48
	// abbrevWork is what an abbreviation counts: it is kept, in a map at worst.
	abbrevWork = 32
	// rangeWork is what one of a list of ranges counts.
	rangeWork = 2
	// callWork is what an inlined call counts: its ranges, its name and its place are
	// read.
	callWork = 64
	// share is how much of it a file takes at a time.
	share = 1 << 16
)

// work counts what was decoded, and keeps the first error of a lookup.
type work struct {
	done, limit int
	granted     int // of budget
	budget      *Budget
	err         error
	failed      bool // there was an error, in any lookup
}

// spend counts n steps and reports whether there may be more.
func (w *work) spend(n int) bool {
	if w.done += n; w.done > w.granted {
		return w.ask()
	}
	return true
}

// ask takes more from the budget, if it and the limit of the file allow that.
func (w *work) ask() bool {
	if w.done > w.limit {
		w.fail(fmt.Errorf("debug information: more than %d steps were taken; the rest of the file is ignored", w.limit))
		return false
	}
	more := int64(w.done - w.granted + share)
	if w.budget != nil && w.budget.used.Add(more) > maxBudget {
		w.fail(fmt.Errorf("debug information: more than %d steps were taken for all files; the rest is ignored", maxBudget))
		return false
	}
	w.granted = min(w.granted+int(more), w.limit)
	return true
}

func (w *work) fail(err error) {
	w.failed = true
	if w.err == nil {
		w.err = err
	}
}

func (w *work) take() error {
	err := w.err
	w.err = nil
	return err
}

// inflatedWork is how many bytes are inflated in the time of a step.
const inflatedWork = 3

// Work returns how much was decoded so far, in steps as for [Options.MaxWork].
func (d *Data) Work() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.work.done + d.packed/inflatedWork
}

// Failed reports whether anything was damaged or missing so far. A lookup that needs it
// again may not say so again.
func (d *Data) Failed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.work.failed
}

// FormatError is a defect of a section.
type FormatError struct {
	Section string
	Off     uint64 // in bytes, in the section, decompressed
	Field   string // as DWARF spells it
	Msg     string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: %s at offset %#x: %s", e.Section, e.Field, e.Off, e.Msg)
}

var errNoSupplement = errors.New("the supplementary debug file was not found: some names are missing")
