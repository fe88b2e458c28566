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
	recAttr        = 64
	recTracing     = 66
	recBuildID     = 67
	recAuxtrace    = 71
	recFeature     = 80
	recCompressed  = 81
	recCompressed2 = 83

	miscBuildIDSize = 1 << 15 // of BUILD_ID
	miscExec        = 1 << 13 // of COMM
	miscMmapData    = 1 << 13
	miscMmapBuildID = 1 << 14
	protExec        = 4
)

// record is where a record is, and when it was written. Those that were compressed have
// an offset in what they unpack to, with the highest bit set.
type record struct{ time, off uint64 }

const inUnpacked = 1 << 63

// maxRecords bounds the records of a file.
const maxRecords = 8 << 20

// records finds all records, in data, which is at an offset of the file, and in the
// stream of those that are compressed.
func (r *reader) records(data []byte, off uint64) {
	var packed stream
	r.scan(data, off, &packed)
	if len(packed.parts) == 0 {
		return
	}
	unpacked, release, err := packed.open()
	if err != nil {
		r.problem(packed.off, "the records that are compressed cannot be unpacked: %v", err)
	}
	if unpacked == nil {
		return
	}
	r.unpacked, r.release = unpacked, release
	r.scan(r.unpacked, inUnpacked, nil)
}

// scan finds the records in data. Those that say what others hold are read at once.
func (r *reader) scan(data []byte, off uint64, packed *stream) {
	for len(data) >= 8 {
		size := int(r.Order.Uint16(data[6:]))
		if size < 8 || size > len(data) || len(r.list) == maxRecords {
			r.problem(off, "a record of %d bytes where %d are left, after %d records; the rest is ignored", size, len(data), len(r.list))
			return
		}
		rec := data[:size]
		data = data[size:]
		var behind uint64 // bytes that belong to the record
		switch typ := r.Order.Uint32(rec); typ {
		case recAttr, recFeature, recBuildID:
			if err := r.header(typ, rec, off); err != nil {
				r.problem(off, "%v", err)
			}
		case recTracing:
			if size >= 12 {
				behind = (uint64(r.Order.Uint32(rec[8:])) + 7) &^ 7
			}
		case recAuxtrace:
			if size >= 16 {
				behind = r.Order.Uint64(rec[8:])
			}
		case recCompressed, recCompressed2:
			packed.add(typ, rec, off, r.Order)
		default:
			r.list = append(r.list, record{r.timeOf(rec), off})
		}
		if behind > uint64(len(data)) {
			r.problem(off, "a record is followed by %d bytes where %d are left; the rest is ignored", behind, len(data))
			return
		}
		data, off = data[behind:], off+uint64(size)+behind
	}
	if len(data) > 0 {
		r.problem(off, "%d bytes are left behind the last record", len(data))
	}
}

// header reads a record that a file on disk has in its header.
func (r *reader) header(typ uint32, rec []byte, off uint64) error {
	b := rec[8:]
	switch {
	case typ == recBuildID:
		r.buildIDs(rec)
	case typ == recFeature && len(b) >= 8 && r.Order.Uint64(b) == featArch:
		return r.architecture(b[8:], off)
	case typ == recAttr:
		if len(b) < attrSize {
			return &FormatError{off, "an event is cut off"}
		}
		size := r.Order.Uint32(b[4:])
		if size < attrSize || uint64(size) > uint64(len(b)) {
			return &FormatError{off, fmt.Sprintf("an event has %d bytes", size)}
		}
		return r.event(b, b[size:], off)
	}
	return nil
}

// replay reads all records by their time: each processor has a buffer of its own, so
// that a sample may come before the mapping that it is in.
func (r *reader) replay() {
	slices.SortStableFunc(r.list, func(a, b record) int { return cmp.Compare(a.time, b.time) })
	for _, rec := range r.list {
		r.record(rec.off)
	}
	r.list = nil
}

// timeOf returns the time of a record, 0 if it has none.
func (r *reader) timeOf(rec []byte) uint64 {
	if len(r.attr) == 0 {
		return 0
	}
	a, at := r.attr[0], 8
	if a.sampleType&sampleTime == 0 {
		return 0
	}
	if typ := r.Order.Uint32(rec); typ == recSample {
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
	return r.Order.Uint64(rec[at:])
}

// record reads one record.
func (r *reader) record(off uint64) {
	data := r.data
	if off&inUnpacked != 0 {
		data = r.unpacked
	}
	data = data[off&^inUnpacked:]
	typ, misc, size := r.Order.Uint32(data), r.Order.Uint16(data[4:]), int(r.Order.Uint16(data[6:]))
	b := body{data[8:size], r.Order, false}
	switch typ {
	case recMmap, recMmap2:
		r.mmap(&b, typ, misc, off)
	case recComm:
		r.comm(&b, misc)
	case recFork:
		pid, parent := b.u32(), b.u32()
		r.fork(pid, parent)
	case recSample:
		r.sample(&b, off)
	}
	if b.short {
		r.problem(off, "a record of type %d is too short", typ)
	}
}

func (r *reader) problem(off uint64, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if off&inUnpacked != 0 {
		off, msg = off&^inUnpacked, "in what is compressed: "+msg
	}
	if n := len(r.Problems); n < maxProblems {
		r.Problems = append(r.Problems, &FormatError{off, msg})
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

func (r *reader) mmap(b *body, typ uint32, misc uint16, off uint64) {
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
	s := r.space(pid)
	if s.shared { // the copy counts
		r.held += len(s.Mappings)
		s.shared = false
	}
	if r.held++; r.held > maxMappings {
		r.problem(off, "there are more than %d mappings; the others are ignored", maxMappings)
		return
	}
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
	delete(r.procs, pid)
	s := r.space(pid)
	from.Mappings, from.shared = slices.Clip(from.Mappings), true
	s.Comm, s.Mappings, s.shared = from.Comm, from.Mappings, true
}
