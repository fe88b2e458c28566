package picture

import (
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/sfcore/sfcore/unwind"
)

// WritePprof writes the collection as a profile of google/pprof, compressed. Every
// stack is a sample. A stack that is incomplete has the reason as its outermost frame.
func (c *Collection) WritePprof(w io.Writer) error {
	p := &pprof{Collection: c, ids: map[int]uint64{}, functions: map[function]uint64{}, ends: map[unwind.Reason]uint64{}}
	p.single, p.several = make([]uint64, len(c.frames.all)), map[string]uint64{}
	p.strings.index("")
	p.mappings()
	p.head()
	for i := range c.snapshots {
		for j := c.snapshots[i].first; j < c.snapshots[i].end; j++ {
			p.sample(&c.stacks[j], i)
		}
	}
	for _, s := range p.strings.all { // last, because all that precedes adds to it
		p.out.bytes(6, []byte(s))
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(p.out); err != nil {
		return err
	}
	return z.Close()
}

// pprof is a profile that is being written. Field numbers are those of the
// protocol [github.com/google/pprof/proto/profile.proto]. Ids begin at 1.
type pprof struct {
	*Collection
	out       message
	strings   table[string]
	byBase    []int          // modules by address, for searching
	ids       map[int]uint64 // of the mappings of modules
	functions map[function]uint64
	locations uint64            // the last id of a location
	single    []uint64          // locations by the frame that is there; 0 if there is none yet
	several   map[string]uint64 // locations by the frames that are there, of inlined calls
	ends      map[unwind.Reason]uint64
}

type function struct{ name, linkage, file text }

// s returns the index of a string.
func (p *pprof) s(s string) uint64 { return uint64(p.strings.index(s)) }

// mappings writes the modules; that of the program comes first, as pprof expects.
func (p *pprof) mappings() {
	program := -1
	executable := text(0)
	if len(p.snapshots) > 0 {
		executable = p.pathText(p.snapshots[0].process.Executable)
	}
	for i := range p.modules.all {
		p.byBase = append(p.byBase, i)
		if p.modules.all[i].path == executable && program < 0 {
			program = i
		}
	}
	slices.SortStableFunc(p.byBase, func(a, b int) int { return cmp.Compare(p.modules.all[a].base, p.modules.all[b].base) })
	order := slices.Clone(p.byBase)
	if at := slices.Index(order, program); at > 0 {
		order = slices.Insert(slices.Delete(order, at, at+1), 0, program)
	}
	for _, i := range order {
		m := &p.modules.all[i]
		p.ids[i] = uint64(len(p.ids) + 1)
		var b message
		b.uint(1, p.ids[i])
		b.uint(2, m.base)
		b.uint(3, m.end)
		b.uint(5, p.s(p.at(m.path)))
		b.uint(6, p.s(p.at(m.buildID)))
		for field := 7; field <= 10; field++ { // functions, files, lines and inlined calls are known
			b.uint(field, 1)
		}
		p.out.bytes(3, b)
	}
}

// mapping returns the id of the mapping that a frame is in; 0 if there is none.
func (p *pprof) mapping(f *frame) uint64 {
	at, _ := slices.BinarySearchFunc(p.byBase, f.pc, func(i int, pc uint64) int {
		if p.modules.all[i].base <= pc {
			return -1
		}
		return 1
	})
	if at == 0 || f.module == 0 || f.pc >= p.modules.all[p.byBase[at-1]].end {
		return 0
	}
	return p.ids[p.byBase[at-1]]
}

// head writes what the profile is of.
func (p *pprof) head() {
	unit := string(p.kind) + "s"
	for _, field := range []int{1, 11} { // what a sample counts; what the period is of
		var b message
		b.uint(1, p.s(unit))
		b.uint(2, p.s("count"))
		p.out.bytes(field, b)
	}
	p.out.uint(12, 1)
	p.out.uint(14, p.s(unit))
	for i := range p.snapshots {
		p.out.uint(13, p.s(p.describe(i)))
	}
	if n := len(p.snapshots); n > 0 {
		first, err := time.Parse(time.RFC3339Nano, p.snapshots[0].source.Time)
		last, err2 := time.Parse(time.RFC3339Nano, p.snapshots[n-1].source.Time)
		if err == nil && err2 == nil {
			p.out.uint(9, uint64(first.UnixNano()))
			p.out.uint(10, uint64(last.Sub(first)))
		}
	}
}

// describe says what a snapshot is of.
func (p *pprof) describe(i int) string {
	s := &p.snapshots[i]
	about := fmt.Sprintf("%d %ss of %s, pid %d", s.end-s.first, p.kind, p.at(p.pathText(programName(&s.process))), s.process.PID)
	if s.source.Time != "" {
		about += ", " + s.source.Time
	}
	if signal := s.process.Signal; signal != nil {
		about += ", " + signal.Name
	}
	return about
}

// sample writes a stack.
func (p *pprof) sample(s *stack, snapshot int) {
	var locations, b message
	frames := p.walk(s.innermost)
	methods := []unwind.Method{}
	for i := 0; i < len(frames); {
		n := 1
		for i+n < len(frames) && p.frames.all[frames[i+n-1]].inlined {
			n++
		}
		locations = binary.AppendUvarint(locations, p.location(frames[i:i+n]))
		if m := p.frames.all[frames[i+n-1]].method; !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
		i += n
	}
	if s.reason != unwind.Outermost {
		locations = binary.AppendUvarint(locations, p.end(s.reason))
	}
	b.bytes(1, locations)
	b.bytes(2, binary.AppendUvarint(nil, 1))
	p.label(&b, string(p.kind), strconv.FormatInt(s.id, 10))
	p.label(&b, "name", p.at(s.name))
	p.label(&b, "state", p.at(s.state))
	for _, m := range methods {
		p.label(&b, "method", m.String())
	}
	if len(frames) > 0 {
		p.label(&b, "trust", p.frames.all[frames[len(frames)-1]].trust.String()) // the least
	}
	if s.crashed {
		p.label(&b, "crashed", "true")
	}
	if s.reason != unwind.Outermost {
		p.label(&b, "stop", s.reason.String())
	}
	if len(p.snapshots) > 1 {
		p.label(&b, "snapshot", strconv.Itoa(snapshot+1))
	}
	p.out.bytes(2, b)
}

func (p *pprof) label(sample *message, key, value string) {
	if value == "" {
		return
	}
	var b message
	b.uint(1, p.s(key))
	b.uint(2, p.s(value))
	sample.bytes(3, b)
}

// location returns the id of the location of a frame, whose inlined calls precede it.
func (p *pprof) location(frames []int) uint64 {
	if len(frames) == 1 {
		id := &p.single[frames[0]]
		if *id == 0 {
			*id = p.newLocation(frames)
		}
		return *id
	}
	var key []byte
	for _, f := range frames {
		key = binary.AppendUvarint(key, uint64(f))
	}
	id, ok := p.several[string(key)]
	if !ok {
		id = p.newLocation(frames)
		p.several[string(key)] = id
	}
	return id
}

// newLocation writes a location.
func (p *pprof) newLocation(frames []int) uint64 {
	p.locations++
	id := p.locations
	f := &p.frames.all[frames[len(frames)-1]]
	var b message
	b.uint(1, id)
	b.uint(2, p.mapping(f))
	b.uint(3, f.lookupPC())
	for _, i := range frames {
		f := &p.frames.all[i]
		var line message
		line.uint(1, p.function(p.name(f), p.at(f.linkage), p.at(f.file)))
		line.uint(2, uint64(f.line))
		line.uint(3, uint64(f.column))
		b.bytes(4, line)
	}
	p.out.bytes(4, b)
	return id
}

// end returns the id of the location that stands for the end of incomplete stacks.
func (p *pprof) end(reason unwind.Reason) uint64 {
	if id, ok := p.ends[reason]; ok {
		return id
	}
	p.locations++
	id := p.locations
	p.ends[reason] = id
	var b, line message
	line.uint(1, p.function(endName(reason), "", ""))
	b.uint(1, id)
	b.bytes(4, line)
	p.out.bytes(4, b)
	return id
}

// endName is the name of what stands for the outer end of an incomplete stack.
func endName(reason unwind.Reason) string { return "[" + reason.String() + "]" }

func (p *pprof) function(name, linkage, file string) uint64 {
	f := function{int(p.s(name)), int(p.s(linkage)), int(p.s(file))}
	id, ok := p.functions[f]
	if !ok {
		id = uint64(len(p.functions) + 1)
		p.functions[f] = id
		var b message
		b.uint(1, id)
		b.uint(2, uint64(f.name))
		b.uint(3, uint64(f.linkage))
		b.uint(4, uint64(f.file))
		p.out.bytes(5, b)
	}
	return id
}

// message is a protocol buffer that is being written.
type message []byte

// uint appends a number; 0 is the default and left out.
func (m *message) uint(field int, v uint64) {
	if v != 0 {
		*m = binary.AppendUvarint(append(*m, byte(field<<3)), v)
	}
}

// bytes appends a string, a message or packed numbers.
func (m *message) bytes(field int, v []byte) {
	*m = binary.AppendUvarint(append(*m, byte(field<<3|2)), uint64(len(v)))
	*m = append(*m, v...)
}
