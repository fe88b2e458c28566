package places

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
)

// A file of answers is little-endian:
//
//	head: magic, sum, the numbers of entries, records and bytes of strings
//	entries, ascending: address, first record, number of records, kind
//	records: name, file, address, two numbers
//	strings: the first one tells the source
//
// sum is that of all that follows it. Names and files are offsets in strings and lengths;
// the highest bit of a file's length is the flag.
const (
	magic      = "sfcore places\x00\x00\x02" // the last byte is the version
	sumEnd     = len(magic) + 4
	headSize   = sumEnd + 12
	entrySize  = 16
	recordSize = 32

	// maxEntries bounds the entries of a file: programs have some thousand addresses on
	// their stacks.
	maxEntries = 1 << 16
	// maxRecords bounds the records of a file.
	maxRecords = 4 * maxEntries
	// maxStrings bounds the strings of a file, in bytes.
	maxStrings = 8 << 20
	// maxFile is the size of a file with all of that.
	maxFile = headSize + maxEntries*entrySize + maxRecords*recordSize + maxStrings
	// maxParts bounds the records of an answer: 1001 calls may be inlined at an address.
	maxParts = 1 << 11

	flagBit = 1 << 31
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// kind is what was asked about an address.
type kind uint16

type question struct {
	addr uint64
	kind kind
}

func (q question) compare(o question) int {
	return cmp.Or(cmp.Compare(q.addr, o.addr), cmp.Compare(q.kind, o.kind))
}

// record is a part of an answer. What its fields mean depends on the kind.
type record struct {
	name, file string
	addr       uint64
	numbers    [2]uint32
	flag       bool
}

// answers are the contents of a file. The zero value has none.
type answers struct {
	entries, records []byte
	strings          string
}

// text returns what a file says of its source.
func (s source) text() string { return fmt.Sprintf("%s %+v", s.id, s.stamp) }

// parse returns the answers in data, and whether data are answers for a source.
func parse(data []byte, from source) (a answers, ok bool) {
	if len(data) < headSize || string(data[:len(magic)]) != magic {
		return a, false
	}
	if binary.LittleEndian.Uint32(data[len(magic):]) != crc32.Checksum(data[sumEnd:], castagnoli) {
		return a, false
	}
	count := func(i int) int64 { return int64(binary.LittleEndian.Uint32(data[sumEnd+4*i:])) }
	entries, records, text := count(0), count(1), count(2)
	if entries > maxEntries || records > maxRecords || text > maxStrings || int64(len(data)) != int64(headSize)+entries*entrySize+records*recordSize+text {
		return a, false
	}
	data = data[headSize:]
	a.entries, data = data[:entries*entrySize], data[entries*entrySize:]
	a.records, data = data[:records*recordSize], data[records*recordSize:]
	a.strings = string(data)
	if !a.sound(from) {
		return answers{}, false
	}
	return a, true
}

// sound reports whether all that answers refer to is there, for a source.
func (a *answers) sound(from source) bool {
	if !strings.HasPrefix(a.strings, "\x00"+from.text()+"\x00") {
		return false
	}
	var before question
	next := 0 // record; they do not overlap, so that answers take no more than the file
	for i := range a.len() {
		q, first, n := a.entry(i)
		if i > 0 && before.compare(q) >= 0 || first != next || n > maxParts || n > len(a.records)/recordSize-next {
			return false
		}
		before, next = q, next+n
	}
	for r := range slices.Chunk(a.records, recordSize) {
		for _, at := range [2]int{recordName, recordFile} {
			if off, size := textAt(r[at:]); size > len(a.strings) || off > len(a.strings)-size {
				return false
			}
		}
	}
	return true
}

func (a *answers) len() int { return len(a.entries) / entrySize }

func (a *answers) entry(i int) (q question, first, n int) {
	e := a.entries[i*entrySize : (i+1)*entrySize]
	q = question{binary.LittleEndian.Uint64(e), kind(binary.LittleEndian.Uint16(e[14:]))}
	return q, int(binary.LittleEndian.Uint32(e[8:])), int(binary.LittleEndian.Uint16(e[12:]))
}

// find returns the records of an answer, and whether there is one.
func (a *answers) find(want question) ([]record, bool) {
	lo, hi := 0, a.len()
	for lo < hi {
		mid := (lo + hi) / 2
		q, first, n := a.entry(mid)
		switch c := q.compare(want); {
		case c < 0:
			lo = mid + 1
		case c > 0:
			hi = mid
		default:
			return a.decode(first, n), true
		}
	}
	return nil, false
}

// Offsets of the fields of a record.
const (
	recordName    = 0
	recordFile    = 8
	recordAddr    = 16
	recordNumbers = 24
)

func (a *answers) decode(first, n int) []record {
	list := make([]record, 0, n)
	for r := range slices.Chunk(a.records[first*recordSize:(first+n)*recordSize], recordSize) {
		le := binary.LittleEndian
		list = append(list, record{
			name: a.text(r[recordName:]), file: a.text(r[recordFile:]), addr: le.Uint64(r[recordAddr:]),
			numbers: [2]uint32{le.Uint32(r[recordNumbers:]), le.Uint32(r[recordNumbers+4:])},
			flag:    le.Uint32(r[recordFile+4:])&flagBit != 0,
		})
	}
	return list
}

// textAt reads where a string is, and how long it is.
func textAt(r []byte) (off, size int) {
	return int(binary.LittleEndian.Uint32(r) &^ flagBit), int(binary.LittleEndian.Uint32(r[4:]) &^ flagBit)
}

// text returns a string without looking for its end: a file may name a long one many
// times.
func (a *answers) text(r []byte) string {
	off, size := textAt(r)
	return a.strings[off : off+size]
}

// with returns a file of these answers and of more, for a source. Those of a were for it,
// too. If there are too many, those of a are left out.
func (a *answers) with(more map[question][]record, from source) []byte {
	all := map[question][]record{}
	if a.len()+len(more) <= maxEntries {
		for i := range a.len() {
			q, first, n := a.entry(i)
			all[q] = a.decode(first, n)
		}
	}
	maps.Copy(all, more)
	w := writer{text: []byte("\x00" + from.text() + "\x00"), offsets: map[string]uint32{"": 0}}
	for _, q := range slices.SortedFunc(maps.Keys(all), question.compare) {
		w.add(q, all[q])
	}
	return w.file()
}

// writer makes a file.
type writer struct {
	entries, records, text []byte
	offsets                map[string]uint32 // of strings in text
}

// add adds an answer, which must come behind those before it, unless there is no room
// for it.
func (w *writer) add(q question, list []record) {
	size := 0
	for i := range list {
		size += len(list[i].name) + len(list[i].file)
	}
	first := len(w.records) / recordSize
	if len(list) > maxParts || first+len(list) > maxRecords || len(w.text)+size > maxStrings || len(w.entries) == maxEntries*entrySize {
		return
	}
	le := binary.LittleEndian
	w.entries = le.AppendUint32(le.AppendUint64(w.entries, q.addr), uint32(first))
	w.entries = le.AppendUint16(le.AppendUint16(w.entries, uint16(len(list))), uint16(q.kind))
	for i := range list {
		r := &list[i]
		flag := uint32(0)
		if r.flag {
			flag = flagBit
		}
		w.records = le.AppendUint32(le.AppendUint32(w.records, w.offset(r.name)), uint32(len(r.name)))
		w.records = le.AppendUint32(le.AppendUint32(w.records, w.offset(r.file)), uint32(len(r.file))|flag)
		w.records = le.AppendUint64(w.records, r.addr)
		w.records = le.AppendUint32(le.AppendUint32(w.records, r.numbers[0]), r.numbers[1])
	}
}

func (w *writer) offset(s string) uint32 {
	off, ok := w.offsets[s]
	if !ok {
		off = uint32(len(w.text))
		w.offsets[s] = off
		w.text = append(w.text, s...)
	}
	return off
}

func (w *writer) file() []byte {
	var body []byte
	for _, n := range []int{len(w.entries) / entrySize, len(w.records) / recordSize, len(w.text)} {
		body = binary.LittleEndian.AppendUint32(body, uint32(n))
	}
	body = slices.Concat(body, w.entries, w.records, w.text)
	return append(binary.LittleEndian.AppendUint32([]byte(magic), crc32.Checksum(body, castagnoli)), body...)
}
