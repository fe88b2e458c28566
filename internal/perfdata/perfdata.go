// Package perfdata reads the samples of perf.data files that have the registers and a
// copy of the stack of user space, as "perf record --call-graph dwarf" writes them
// [linux tools/perf/Documentation/perf.data-file-format.txt; include/uapi/linux/perf_event.h].
package perfdata

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/arch"
)

// A Mapping is a file that a process had mapped.
type Mapping struct {
	Lo, Hi, Off uint64
	Path        string
	Exec        bool
	// BuildID is in lower-case hexadecimal, "" if the file does not say.
	BuildID string
}

// Anonymous reports whether the mapping is of no file.
func (m *Mapping) Anonymous() bool { return strings.HasPrefix(m.Path, "//anon") }

// A Space are the mappings of a process between two calls of exec(2), in the order in
// which they were made. It grows while the file is read.
type Space struct {
	PID      int
	Comm     string
	Mappings []Mapping

	shared bool // Mappings are those of another process, too
}

// A Sample is a moment of a thread.
type Sample struct {
	TID   int
	Space *Space
	// Stack is the memory from SP on. It refers to the file.
	SP    uint64
	Stack []byte

	regs   []byte // in the file
	mapped int    // the mappings that Space had
	event  *attr
}

// File is a perf.data file.
type File struct {
	Arch    *arch.Arch
	Order   binary.ByteOrder
	Samples []Sample
	// Without is the number of samples without registers of user space: of kernel
	// threads, or of events that do not record them.
	Without int
	// Spaces are those of Samples and others.
	Spaces []*Space
	// Problems are what could not be used.
	Problems []error
	// BuildIDs are those of the files that were mapped, by path, in lower-case
	// hexadecimal.
	BuildIDs map[string]string

	unpacked []byte // compressed records
	release  func()
}

// Close releases what was unpacked, which samples refer to.
func (f *File) Close() { f.release() }

// FormatError is a defect of a perf.data file.
type FormatError struct {
	Off uint64
	Msg string
}

func (e *FormatError) Error() string { return fmt.Sprintf("perf.data at offset %#x: %s", e.Off, e.Msg) }

const (
	magicLittle = "PERFILE2"
	magicBig    = "2ELIFREP"
	headerSize  = 104
	pipeSize    = 16 // the size of the header that a pipe has

	// maxAttrs bounds the events of a recording, maxIDs their identifiers: one for each
	// event and processor.
	maxAttrs = 4096
	maxIDs   = 1 << 20
	// maxSamples bounds the samples that are kept, each of which takes 100 bytes. With
	// stacks of 8 KiB they are 8 GiB.
	maxSamples = 1 << 20
	// maxMappings bounds the mappings of all processes. A child shares those of its
	// parent until one of the two maps something.
	maxMappings = 1 << 20
	maxProblems = 20
)

// Parse reads a file, which it keeps. It may be one that perf has written to a pipe, or
// compressed with -z.
func Parse(data []byte) (*File, error) {
	r := reader{data: data, File: &File{BuildIDs: map[string]string{}, release: func() {}}, procs: map[uint32]*Space{}, byID: map[uint64]*attr{}}
	switch {
	case len(data) >= 8 && string(data[:8]) == magicLittle:
		r.Order = binary.LittleEndian
	case len(data) >= 8 && string(data[:8]) == magicBig:
		r.Order = binary.BigEndian
	default:
		return nil, &FormatError{0, "this is not a perf.data file"}
	}
	size, ok := r.u64(8)
	switch {
	case ok && size == pipeSize:
		r.records(data[pipeSize:], pipeSize)
	case !ok || size != headerSize || len(data) < headerSize:
		return nil, &FormatError{8, fmt.Sprintf("the header has %d bytes, not %d or %d", size, headerSize, pipeSize)}
	default:
		if err := r.attrs(); err != nil {
			return nil, err
		}
		records, off, err := r.section(40)
		if err != nil {
			return nil, err
		}
		if err := r.features(off + uint64(len(records))); err != nil {
			return nil, err
		}
		r.records(records, off)
	}
	switch {
	case r.Arch == nil && r.machine != "":
		return nil, &FormatError{8, fmt.Sprintf("the machine is %q, not one of %s", r.machine, arch.Names())}
	case r.Arch == nil:
		return nil, &FormatError{8, "the file does not say which machine it is of; perf writes that last, so the file may be cut off"}
	case len(r.attr) == 0:
		return nil, &FormatError{8, "the file does not say which events it has"}
	}
	r.replay()
	return r.File, nil
}

type reader struct {
	*File
	data    []byte
	machine string
	attr    []*attr
	byID    map[uint64]*attr
	list    []record
	procs   map[uint32]*Space
	held    int // mappings of all spaces
}

// attr is what samples of an event hold.
type attr struct {
	sampleType, readFormat, branchType, regs uint64
	// idAll is set if other records than samples end with their time.
	idAll bool
}

func (r *reader) u64(at uint64) (uint64, bool) {
	if at > uint64(len(r.data)) || uint64(len(r.data))-at < 8 {
		return 0, false
	}
	return r.Order.Uint64(r.data[at:]), true
}

// section returns the bytes that a pair of offset and size at a place describes.
func (r *reader) section(at uint64) (data []byte, off uint64, err error) {
	off, ok1 := r.u64(at)
	size, ok2 := r.u64(at + 8)
	if !ok1 || !ok2 || off > uint64(len(r.data)) || size > uint64(len(r.data))-off {
		return nil, 0, &FormatError{at, fmt.Sprintf("a section of %d bytes at %#x is not in the file", size, off)}
	}
	return r.data[off : off+size], off, nil
}

// Features of the header [linux tools/perf/util/header.h].
const (
	featBuildID = 2
	featArch    = 6
)

// features reads the features that matter. The table of all begins at an offset.
func (r *reader) features(at uint64) error {
	for bit := range 256 {
		word := r.Order.Uint64(r.data[72+bit/64*8:])
		if word>>(bit%64)&1 == 0 {
			continue
		}
		if bit == featArch || bit == featBuildID {
			data, off, err := r.section(at)
			if err != nil {
				return err
			}
			if bit == featArch {
				err = r.architecture(data, off)
			} else {
				r.buildIDs(data)
			}
			if err != nil {
				return err
			}
		}
		at += 16
	}
	return nil
}

// architecture finds the architecture by the name of the machine.
func (r *reader) architecture(text []byte, off uint64) error {
	if len(text) < 4 {
		return &FormatError{off, "the name of the machine is cut off"}
	}
	r.machine, _, _ = strings.Cut(string(text[4:min(len(text), 68)]), "\x00")
	for a := range arch.All() {
		if a.Perf.Machine == r.machine && a.BigEndian == (r.Order == binary.ByteOrder(binary.BigEndian)) {
			r.Arch = a
		}
	}
	return nil
}

// buildIDs reads records of build-ids, of which the section consists.
func (r *reader) buildIDs(data []byte) {
	for len(data) >= 8 && len(r.BuildIDs) < maxIDs {
		size := int(r.Order.Uint16(data[6:]))
		if size < 8 || size > len(data) {
			return
		}
		r.buildID(data[:size])
		data = data[size:]
	}
}

// buildID reads a record with a process, a build-id of 24 bytes with its length, and the
// name of the file.
func (r *reader) buildID(rec []byte) {
	b := body{rec[8:], r.Order, false}
	b.u32() // pid
	id := b.take(24)
	if b.short {
		return
	}
	size := byte(20) // older versions of perf do not tell
	if r.Order.Uint16(rec[4:])&miscBuildIDSize != 0 {
		size = min(id[20], 20)
	}
	r.BuildIDs[b.text()] = fmt.Sprintf("%x", id[:size])
}

// attrs reads which fields the samples of each event have.
func (r *reader) attrs() error {
	size, _ := r.u64(16)
	table, off, err := r.section(24)
	if err != nil {
		return err
	}
	if size < 16+attrSize || size > 1<<16 || uint64(len(table))/size > maxAttrs || uint64(len(table)) < size {
		return &FormatError{16, fmt.Sprintf("%d bytes of events of %d bytes each", len(table), size)}
	}
	for ; uint64(len(table)) >= size; table, off = table[size:], off+size {
		ids, where, err := r.section(off + size - 16)
		if err != nil {
			return err
		}
		if err := r.event(table, ids, where); err != nil {
			return err
		}
	}
	return nil
}

// attrSize is how much of perf_event_attr is needed.
const attrSize = 96

// event adds an event with its identifiers.
func (r *reader) event(b, ids []byte, where uint64) error {
	o := r.Order
	idAll := sampleIDAll
	if o == binary.ByteOrder(binary.BigEndian) {
		idAll = 63 - sampleIDAll // the compiler begins at the other end
	}
	a := &attr{o.Uint64(b[24:]), o.Uint64(b[32:]), o.Uint64(b[72:]), o.Uint64(b[80:]), o.Uint64(b[40:])>>idAll&1 != 0}
	if len(r.attr) == maxAttrs {
		return &FormatError{where, "there are too many events"}
	}
	r.attr = append(r.attr, a)
	for ; len(ids) >= 8; ids = ids[8:] {
		if len(r.byID) == maxIDs {
			return &FormatError{where, "there are too many identifiers"}
		}
		r.byID[o.Uint64(ids)] = a
	}
	return nil
}
