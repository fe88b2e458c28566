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

// A Space are the mappings of a process between two calls of exec(2). It grows while
// the file is read.
type Space struct {
	PID      int
	Comm     string
	Mappings []Mapping
}

// A Sample is a moment of a thread.
type Sample struct {
	TID   int
	Space *Space
	Regs  arch.Regs
	// Stack is the memory from SP on. It refers to the file.
	SP    uint64
	Stack []byte
}

// File is a perf.data file.
type File struct {
	Arch    *arch.Arch
	Samples []Sample
	// Without is the number of samples without registers of user space: of kernel
	// threads, or of events that do not record them.
	Without int
	// Spaces are those of Samples and others.
	Spaces []*Space
	// Problems are what could not be used.
	Problems []error
}

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
	// maxSamples bounds the samples that are kept.
	maxSamples = 4 << 20
	// maxMappings bounds the mappings of all processes. One may fork often and inherits
	// them each time.
	maxMappings = 1 << 20
	maxProblems = 20
)

// Parse reads a file, which it keeps.
func Parse(data []byte) (*File, error) {
	r := reader{data: data, File: &File{}, procs: map[uint32]*Space{}, byID: map[uint64]*attr{}}
	switch {
	case len(data) >= 8 && string(data[:8]) == magicLittle:
		r.order = binary.LittleEndian
	case len(data) >= 8 && string(data[:8]) == magicBig:
		r.order = binary.BigEndian
	default:
		return nil, &FormatError{0, "this is not a perf.data file"}
	}
	size, ok := r.u64(8)
	switch {
	case ok && size == pipeSize:
		return nil, &FormatError{8, "perf wrote this to a pipe; record to a file with -o"}
	case !ok || size != headerSize || len(data) < headerSize:
		return nil, &FormatError{8, fmt.Sprintf("the header has %d bytes, not %d", size, headerSize)}
	}
	if err := r.features(); err != nil {
		return nil, err
	}
	if err := r.attrs(); err != nil {
		return nil, err
	}
	r.records()
	return r.File, nil
}

type reader struct {
	*File
	data  []byte
	order binary.ByteOrder
	attr  []attr
	byID  map[uint64]*attr
	procs map[uint32]*Space
	held  int // mappings of all spaces
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
	return r.order.Uint64(r.data[at:]), true
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
const featArch = 6

// features finds the architecture.
func (r *reader) features() error {
	data, off, err := r.section(40)
	if err != nil {
		return err
	}
	at := off + uint64(len(data))
	for bit := range 256 {
		word := r.order.Uint64(r.data[72+bit/64*8:])
		if word>>(bit%64)&1 == 0 {
			continue
		}
		if bit == featArch {
			text, off, err := r.section(at)
			if err != nil {
				return err
			}
			if len(text) < 4 {
				return &FormatError{off, "the name of the machine is cut off"}
			}
			name, _, _ := strings.Cut(string(text[4:min(len(text), 68)]), "\x00")
			for a := range arch.All() {
				if a.Perf.Machine == name && a.BigEndian == (r.order == binary.ByteOrder(binary.BigEndian)) {
					r.Arch = a
					return nil
				}
			}
			return &FormatError{off, fmt.Sprintf("the machine is %q, not one of %s", name, arch.Names())}
		}
		at += 16
	}
	return &FormatError{72, "the file does not say which machine it is of"}
}

// attrs reads which fields the samples of each event have.
func (r *reader) attrs() error {
	size, _ := r.u64(16)
	table, off, err := r.section(24)
	if err != nil {
		return err
	}
	if size < 16+96 || size > 1<<16 || uint64(len(table))/size > maxAttrs || uint64(len(table)) < size {
		return &FormatError{16, fmt.Sprintf("%d bytes of events of %d bytes each", len(table), size)}
	}
	for ; uint64(len(table)) >= size; table, off = table[size:], off+size {
		o := r.order
		flags, idAll := o.Uint64(table[40:]), sampleIDAll
		if o == binary.ByteOrder(binary.BigEndian) {
			idAll = 63 - sampleIDAll // the compiler begins at the other end
		}
		r.attr = append(r.attr, attr{o.Uint64(table[24:]), o.Uint64(table[32:]), o.Uint64(table[72:]), o.Uint64(table[80:]), flags>>idAll&1 != 0})
	}
	at := off - uint64(len(r.attr))*size
	for i := range r.attr {
		ids, where, err := r.section(at + uint64(i+1)*size - 16)
		if err != nil {
			return err
		}
		for ; len(ids) >= 8; ids = ids[8:] {
			if len(r.byID) == maxIDs {
				return &FormatError{where, "there are too many identifiers"}
			}
			r.byID[r.order.Uint64(ids)] = &r.attr[i]
		}
	}
	return nil
}
