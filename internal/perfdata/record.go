package perfdata

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Types of records [perf_event.h; linux tools/lib/perf/include/perf/event.h].
const (
	recMmap        = 1
	recComm        = 3
	recFork        = 7
	recSample      = 9
	recMmap2       = 10
	recUser        = 64 // the first that perf itself writes
	recCompressed  = 81
	recCompressed2 = 83

	miscExec        = 1 << 13 // of COMM
	miscMmapData    = 1 << 13
	miscMmapBuildID = 1 << 14
	protExec        = 4
)

// record is where a record is, and when it was written.
type record struct{ time, off uint64 }

// maxRecords bounds the records of a file.
const maxRecords = 16 << 20

// records reads all records by their time: each processor has a buffer of its own, so
// that a sample may come before the mapping that it is in.
func (r *reader) records() {
	data, off, err := r.section(40)
	if err != nil { // features has read it
		return
	}
	var list []record
	for len(data) >= 8 {
		size := int(r.order.Uint16(data[6:]))
		if size < 8 || size > len(data) || len(list) == maxRecords {
			r.problem(off, "a record of %d bytes where %d are left, after %d records; the rest is ignored", size, len(data), len(list))
			break
		}
		list = append(list, record{r.timeOf(data[:size]), off})
		data, off = data[size:], off+uint64(size)
	}
	slices.SortStableFunc(list, func(a, b record) int { return cmp.Compare(a.time, b.time) })
	for _, rec := range list {
		r.record(rec.off)
	}
}

// timeOf returns the time of a record, 0 if it has none.
func (r *reader) timeOf(rec []byte) uint64 {
	a, at := &r.attr[0], 8
	if a.sampleType&sampleTime == 0 {
		return 0
	}
	if typ := r.order.Uint32(rec); typ == recSample {
		for _, field := range []uint64{sampleIdentifier, sampleIP, sampleTID} {
			if a.sampleType&field != 0 {
				at += 8
			}
		}
	} else {
		if !a.idAll || typ >= recUser {
			return 0
		}
		at = len(rec) - 8
		for _, field := range []uint64{sampleID, sampleStreamID, sampleCPU, sampleIdentifier} {
			if a.sampleType&field != 0 {
				at -= 8
			}
		}
	}
	if at < 8 || at > len(rec)-8 {
		return 0
	}
	return r.order.Uint64(rec[at:])
}

// record reads one record.
func (r *reader) record(off uint64) {
	data := r.data[off:]
	typ, misc, size := r.order.Uint32(data), r.order.Uint16(data[4:]), int(r.order.Uint16(data[6:]))
	b := body{data[8:size], r.order, false}
	switch typ {
	case recMmap, recMmap2:
		r.mmap(&b, typ, misc)
	case recComm:
		r.comm(&b, misc)
	case recFork:
		pid, parent := b.u32(), b.u32()
		r.fork(pid, parent)
	case recSample:
		r.sample(&b, off)
	case recCompressed, recCompressed2:
		r.problem(off, "compressed records are not read; record without -z")
	}
	if b.short {
		r.problem(off, "a record of type %d is too short", typ)
	}
}

func (r *reader) problem(off uint64, format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, &FormatError{off, fmt.Sprintf(format, args...)})
	}
}

// body is what is left of a record.
type body struct {
	b     []byte
	order binary.ByteOrder
	short bool
}

func (b *body) take(n uint64) []byte {
	if n > uint64(len(b.b)) {
		b.b, b.short = nil, true
		return nil
	}
	part := b.b[:n]
	b.b = b.b[n:]
	return part
}

func (b *body) u64() uint64 {
	if p := b.take(8); p != nil {
		return b.order.Uint64(p)
	}
	return 0
}

func (b *body) u32() uint32 {
	if p := b.take(4); p != nil {
		return b.order.Uint32(p)
	}
	return 0
}

// text returns the string that begins here.
func (b *body) text() string {
	s, _, _ := strings.Cut(string(b.b), "\x00")
	return s
}

func (r *reader) space(pid uint32) *Space {
	if r.procs[pid] == nil {
		r.procs[pid] = &Space{PID: int(pid)}
		r.Spaces = append(r.Spaces, r.procs[pid])
	}
	return r.procs[pid]
}

func (r *reader) mmap(b *body, typ uint32, misc uint16) {
	pid := b.u32()
	b.u32() // tid
	m := Mapping{Lo: b.u64()}
	size := b.u64()
	m.Hi, m.Off = m.Lo+min(size, -m.Lo-1), b.u64()
	m.Exec = misc&miscMmapData == 0
	if typ == recMmap2 {
		if id := b.take(24); misc&miscMmapBuildID != 0 && id != nil {
			m.BuildID = fmt.Sprintf("%x", id[4:4+min(id[0], 20)])
		}
		m.Exec = b.u32()&protExec != 0
		b.u32() // flags
	}
	m.Path = b.text()
	if int32(pid) < 0 || b.short || m.Hi == m.Lo { // the kernel has -1
		return
	}
	if r.held++; r.held > maxMappings {
		return
	}
	s := r.space(pid)
	s.Mappings = append(s.Mappings, m)
}

func (r *reader) comm(b *body, misc uint16) {
	pid, tid := b.u32(), b.u32()
	name := b.text()
	if b.short || pid != tid {
		return
	}
	if misc&miscExec != 0 {
		delete(r.procs, pid)
	}
	r.space(pid).Comm = name
}

// fork lets a process begin with the mappings of its parent. A new thread has them.
func (r *reader) fork(pid, parent uint32) {
	from := r.procs[parent]
	if pid == parent || from == nil {
		return
	}
	if r.held += len(from.Mappings); r.held > maxMappings {
		return
	}
	delete(r.procs, pid)
	s := r.space(pid)
	s.Comm, s.Mappings = from.Comm, append([]Mapping(nil), from.Mappings...)
}
