package jit

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The records of jitdump files, and their sizes in bytes without what varies in
// length [linux tools/perf/Documentation/jitdump-specification.txt].
const (
	dumpMagic  = 0x4a695444
	dumpHeader = 40
	dumpPrefix = 16 // of every record

	dumpLoad, dumpLoadSize   = 0, dumpPrefix + 40
	dumpMove, dumpMoveSize   = 1, dumpPrefix + 48
	dumpLines, dumpLinesSize = 2, dumpPrefix + 16
	dumpLine                 = 16 // of a line, without the name of its file
)

// ErrNotDump is returned by Dump for a file of another kind.
var ErrNotDump = errors.New("this is no jitdump file")

// Dump reads a jitdump file, jit-PID.dump, the newest function first. Such a file is
// written while the process runs, so that it may end anywhere. Any other damage is an
// error that has the offset; the functions before that come with it. data is not
// kept.
func Dump(data []byte) ([]Run[Func], error) {
	d := dump{data: data, at: dumpHeader, order: binary.LittleEndian, byStart: map[uint64]int{}}
	if len(data) < dumpHeader {
		return nil, ErrNotDump
	}
	if binary.BigEndian.Uint32(data) == dumpMagic {
		d.order = binary.BigEndian
	} else if binary.LittleEndian.Uint32(data) != dumpMagic {
		return nil, ErrNotDump
	}
	if v := d.order.Uint32(data[4:]); v != 1 {
		return nil, fmt.Errorf("version %d at offset 4 is not 1", v)
	}
	err := d.read()
	slices.Reverse(d.funcs)
	return d.funcs, err
}

type dump struct {
	data  []byte
	at    int
	order binary.ByteOrder

	funcs   []Run[Func]
	byStart map[uint64]int // the newest function that begins at an address
	lines   []Line         // of the next function
	of      uint64         // where the function of lines begins
	numLine int
	records int
	names   int // bytes of names so far
}

func (d *dump) read() error {
	if size := d.order.Uint32(d.data[8:]); size > dumpHeader && uint64(size) <= uint64(len(d.data)) {
		d.at = int(size)
	}
	for len(d.data)-d.at >= dumpPrefix {
		if d.records++; d.records > 4*maxFuncs {
			return fmt.Errorf("only the first %d records are read", 4*maxFuncs)
		}
		size := d.order.Uint32(d.data[d.at+4:])
		if size < dumpPrefix {
			return fmt.Errorf("total_size at offset %#x: %d bytes are no record", d.at+4, size)
		}
		if uint64(size) > uint64(len(d.data)-d.at) {
			return nil
		}
		if len(d.funcs) == maxFuncs {
			return fmt.Errorf("only the first %d functions are read", maxFuncs)
		}
		d.record(d.data[d.at : d.at+int(size)])
		d.at += int(size)
	}
	return nil
}

// record reads a record. One that is too short for its fields is left out.
func (d *dump) record(b []byte) {
	u64 := func(at int) uint64 { return d.order.Uint64(b[at:]) }
	switch id := d.order.Uint32(b); {
	case id == dumpLoad && len(b) >= dumpLoadSize:
		name, _, _ := bytes.Cut(b[dumpLoadSize:], []byte{0})
		f := Func{Name: d.copy(name)}
		if d.of == u64(32) {
			f.Lines, d.lines = d.lines, nil
		}
		d.add(u64(32), u64(40), f)
	case id == dumpMove && len(b) >= dumpMoveSize:
		if i, ok := d.byStart[u64(32)]; ok {
			d.add(u64(40), u64(48), Func{Name: d.funcs[i].Of.Name})
		}
	case id == dumpLines && len(b) >= dumpLinesSize:
		d.of = u64(16)
		d.readLines(b[dumpLinesSize:], u64(24))
	}
}

// copy copies a name, or nothing once all names have too many bytes.
func (d *dump) copy(name []byte) string {
	name = name[:min(len(name), maxName, maxNames-d.names)]
	d.names += len(name)
	return string(name)
}

func (d *dump) add(lo, size uint64, f Func) {
	if size == 0 || lo+size < lo {
		return
	}
	d.byStart[lo] = len(d.funcs)
	d.funcs = append(d.funcs, Run[Func]{Lo: lo, Hi: lo + size, Of: f})
}

// readLines reads the lines of the function that follows. A name of "\xff" is that
// of the line before.
func (d *dump) readLines(b []byte, n uint64) {
	d.lines = nil
	file := ""
	for ; n > 0 && len(b) > dumpLine && d.numLine < maxLines; n-- {
		name, rest, ok := bytes.Cut(b[dumpLine:], []byte{0})
		if !ok {
			break
		}
		if string(name) != "\xff" && string(name) != file {
			file = d.copy(name)
		}
		d.lines = append(d.lines, Line{
			Addr: d.order.Uint64(b), Line: int(d.order.Uint32(b[8:])), Column: int(d.order.Uint32(b[12:])), File: file,
		})
		d.numLine++
		b = rest
	}
	sortLines(d.lines)
}

func sortLines(lines []Line) {
	slices.SortStableFunc(lines, func(a, b Line) int { return cmp.Compare(a.Addr, b.Addr) })
}
