package main

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/sframe"
)

// lister renders a listing.
type lister interface {
	section(*listed)
	table(*sframe.Table)
	function(*listedFunc)
	end(problems []string)
}

// listedFunc is a function to list.
type listedFunc struct {
	*sframe.Func
	index int    // in its table
	start uint64 // as it is shown
	name  string
	rows  []listedRow
}

type listedRow struct {
	sframe.FRE
	sframe.Columns
}

// dumper walks sections.
type dumper struct {
	lister
	only      filter
	functions int
	problems  []string
}

// maxSharing is how often all bytes of a table's rows may be listed: the format lets
// functions share rows, but no known producer does.
const maxSharing = 4

func (d *dumper) section(l *listed) {
	var tables []sframe.Table
	for t, err := range l.section.Tables() {
		if err != nil {
			d.problem(l, err)
		} else {
			tables = append(tables, t)
		}
	}
	h := heads{dumper: d, l: l, tables: tables}
	narrow := d.only.pc != nil || d.only.name != ""
	if !narrow {
		d.lister.section(l)
		h.begun = true
	}
	budget, index, last := 0, 0, int64(-1)
	for f, err := range l.section.Funcs() {
		if f.Table() == nil { // which Tables has reported
			continue
		}
		if f.Table().Off != last {
			index, last = 0, f.Table().Off
			budget = maxSharing * (int(min(uint64(f.Table().FRELen), uint64(l.section.Size()))) + 1)
		}
		lf := listedFunc{Func: &f, index: index, start: l.shown(f.Start)}
		index++
		if d.skips(l, &lf) {
			continue
		}
		h.until(last, narrow)
		d.functions++
		d.rows(l, &lf, err, &budget)
		d.function(&lf)
		if budget < 0 {
			d.problem(l, errors.New("many functions share the same rows; the rest is not listed"))
			return
		}
	}
	if !narrow {
		h.until(math.MaxInt64, false)
	}
}

// heads writes the heads of a section and its tables.
type heads struct {
	*dumper
	l      *listed
	begun  bool // the section's is written
	tables []sframe.Table
}

// until writes the heads of tables up to the one at off. It leaves out the heads of
// tables without a function to list.
func (h *heads) until(off int64, narrow bool) {
	for len(h.tables) > 0 && h.tables[0].Off <= off {
		t := &h.tables[0]
		h.tables = h.tables[1:]
		if narrow && t.Off != off {
			continue
		}
		if !h.begun {
			h.lister.section(h.l)
			h.begun = true
		}
		h.table(t)
	}
}

// skips reports whether a function is not to be listed. It sets the name of the
// others.
func (d *dumper) skips(l *listed, f *listedFunc) bool {
	if d.only.pc != nil && *d.only.pc-f.start >= uint64(f.Size) {
		return true
	}
	f.name = l.name(f.Start)
	return d.only.name != "" && d.only.name != f.name && d.only.name != symbol.Demangle(f.name)
}

func (d *dumper) rows(l *listed, f *listedFunc, err error, budget *int) {
	if err != nil {
		d.problem(l, err)
		return
	}
	for e, err := range l.section.FREs(*f.Func) {
		var c sframe.Columns
		if err == nil {
			c, err = f.Columns(&e)
		}
		if err != nil {
			d.problem(l, err)
			continue
		}
		if *budget -= 2 + e.Count()*e.WordSize(); *budget < 0 {
			break
		}
		f.rows = append(f.rows, listedRow{e, c})
	}
	if d.only.pc != nil {
		f.rows = rowsAt(f, uint32(*d.only.pc-f.start))
	}
}

// rowsAt returns the row for the instruction at off, if there is one.
func rowsAt(f *listedFunc, off uint32) []listedRow {
	if f.PCMask() {
		off %= f.Block()
	}
	for i, r := range slices.Backward(f.rows) {
		if r.Start <= off {
			return f.rows[i : i+1]
		}
	}
	return nil
}

// maxProblems bounds the problems that are listed.
const maxProblems = 100

func (d *dumper) problem(l *listed, err error) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, fmt.Sprintf("%s: %v", l.file, err))
	}
}
