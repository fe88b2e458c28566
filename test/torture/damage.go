package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/sfcore/sfcore/internal/elfx"
)

// damage damages ELF files at random.
type damage struct {
	rng *rand.Rand
	log []string // what was done

	data []byte
	file *elfx.File // of the undamaged data
	hot  []part     // what readers interpret
}

// part is a range of a file, in bytes from its start.
type part struct {
	name      string
	off, size int
}

func (d *damage) notef(format string, args ...any) {
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

// kinds are the ways to damage a file. All but cutting keep its size.
var kinds = []struct {
	name   string
	weight int
	do     func(*damage) string
}{
	{"flip bits", 6, (*damage).flip},
	{"extreme value", 8, (*damage).extreme},
	{"copy word", 4, (*damage).copyWord},
	{"own address", 2, (*damage).selfPointer},
	{"zero page", 2, (*damage).zeroPage},
	{"swap segments", 2, (*damage).swapSegments},
	{"overlap segments", 2, (*damage).overlap},
	{"share bytes", 2, (*damage).share},
	{"shift", 1, (*damage).shift},
	{"cut", 1, (*damage).cut},
}

// apply damages data, which it takes over, once or a few times.
func (d *damage) apply(data []byte) []byte {
	d.data = data
	if !d.prepare() {
		return data
	}
	total := 0
	for i := range kinds {
		total += kinds[i].weight
	}
	for range 1 + d.rng.IntN(4) {
		at, i := d.rng.IntN(total), 0
		for at >= kinds[i].weight {
			at -= kinds[i].weight
			i++
		}
		d.notef("%s %s", kinds[i].name, kinds[i].do(d))
	}
	return d.data
}

// prepare reports whether the file is one that can be damaged: an ELF file.
func (d *damage) prepare() bool {
	f, err := elfx.Parse(d.data)
	if err != nil {
		return false
	}
	d.file = f
	d.findHot()
	return true
}

// findHot lists the headers, notes and sections of the file.
func (d *damage) findHot() {
	d.hot = []part{{"ELF header", 0, 64}}
	add := func(name string, off, size uint64) {
		if n := uint64(len(d.data)); size > 0 && off < n {
			d.hot = append(d.hot, part{name, int(off), int(min(size, n-off))})
		}
	}
	order := d.file.ByteOrder()
	add("program headers", order.Uint64(d.data[32:]), 56*uint64(len(d.file.Progs)))
	for i := range d.file.Progs {
		p := &d.file.Progs[i]
		if p.Type != elfx.ProgLoad || d.file.Type == elfx.TypeCore && p.Flags&elfx.ProgWrite != 0 {
			add(fmt.Sprintf("segment %d", i), p.Off, p.Filesz)
		}
	}
	sections, _ := d.file.Sections()
	add("section headers", order.Uint64(d.data[40:]), 64*uint64(len(sections)))
	for i := range sections {
		if s := &sections[i]; s.Type != elfx.SectNobits && s.Flags&elfx.SectExec == 0 {
			add(s.Name, s.Off, s.Size)
		}
	}
}

// place returns a place in the file with room for size bytes. It is mostly in parts
// that readers interpret; small and large parts are equally likely.
func (d *damage) place(size int) (off int, where string) {
	p := part{"anywhere", 0, len(d.data)}
	if d.rng.IntN(8) > 0 {
		p = d.hot[d.rng.IntN(len(d.hot))]
	}
	off = p.off
	if room := min(p.size, len(d.data)-p.off) - size; room > 0 {
		off += d.rng.IntN(room + 1)
	}
	off = max(0, min(off, len(d.data)-size))
	if d.rng.IntN(2) == 0 {
		off -= off % size
	}
	return off, fmt.Sprintf("at %#x (%s)", off, p.name)
}

func (d *damage) flip() string {
	off, where := d.place(1)
	n := 1 << d.rng.IntN(5)
	for i := range n {
		if off+i < len(d.data) {
			d.data[off+i] ^= 1 << d.rng.IntN(8)
		}
	}
	return fmt.Sprintf("in %d bytes %s", n, where)
}

// extremes are values for which code often forgets a bound.
var extremes = []uint64{
	0, 1, 2, 3, 7, 8, 0x7f, 0x80, 0xff, 0xfff, 0x1000, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff,
	1 << 32, 1<<63 - 1, 1 << 63, ^uint64(0) - 7, ^uint64(0),
}

func (d *damage) extreme() string {
	size := 1 << d.rng.IntN(4)
	off, where := d.place(size)
	v := extremes[d.rng.IntN(len(extremes))]
	d.put(off, size, v)
	return fmt.Sprintf("%#x in %d bytes %s", v, size, where)
}

func (d *damage) put(off, size int, v uint64) {
	var b [8]byte
	if d.file.BigEndian {
		binary.BigEndian.PutUint64(b[:], v<<(64-8*size))
	} else {
		binary.LittleEndian.PutUint64(b[:], v)
	}
	copy(d.data[off:], b[:size])
}

// copyWord makes tables refer to each other, and to themselves.
func (d *damage) copyWord() string {
	size := 4 << d.rng.IntN(2)
	from, _ := d.place(size)
	to, where := d.place(size)
	copy(d.data[to:to+size], d.data[from:from+size])
	return fmt.Sprintf("of %d bytes from %#x %s", size, from, where)
}

// selfPointer writes the address of a word into it.
func (d *damage) selfPointer() string {
	for range 16 {
		off, where := d.place(8)
		for i := range d.file.Progs {
			p := &d.file.Progs[i]
			if o := uint64(off); p.Type == elfx.ProgLoad && o-p.Off < p.Filesz {
				d.put(off, 8, p.Vaddr+o-p.Off)
				return where
			}
		}
	}
	return "nowhere"
}

func (d *damage) zeroPage() string {
	off := d.rng.IntN(len(d.data)) &^ (page - 1)
	clear(d.data[off:min(off+page, len(d.data))])
	return fmt.Sprintf("at %#x", off)
}

// header returns the place of a random program header, -1 if there is none.
func (d *damage) header() int {
	off, n := d.file.ByteOrder().Uint64(d.data[32:]), uint64(len(d.file.Progs))
	if n == 0 || off > uint64(len(d.data)) || uint64(len(d.data))-off < 56*n {
		return -1
	}
	return int(off) + 56*d.rng.IntN(int(n))
}

// Offsets in a program header [gABI, 5.1].
const (
	progOffset = 8
	progVaddr  = 16
	progFilesz = 32
	progMemsz  = 40
)

// swapSegments exchanges the places of two segments in the file, or in memory.
func (d *damage) swapSegments() string {
	a, b := d.header(), d.header()
	if a < 0 || b < 0 {
		return "nowhere"
	}
	field := []int{progOffset, progVaddr, progFilesz}[d.rng.IntN(3)]
	var word [8]byte
	copy(word[:], d.data[a+field:])
	copy(d.data[a+field:a+field+8], d.data[b+field:])
	copy(d.data[b+field:], word[:])
	return fmt.Sprintf("at %#x and %#x", a+field, b+field)
}

// overlap moves a segment over another one, or makes it larger.
func (d *damage) overlap() string {
	a, b := d.header(), d.header()
	if a < 0 || b < 0 {
		return "nowhere"
	}
	order := d.file.ByteOrder()
	if d.rng.IntN(2) == 0 {
		d.put(a+progVaddr, 8, order.Uint64(d.data[b+progVaddr:])+page*uint64(d.rng.IntN(4)))
	} else {
		size := uint64(1) << (12 + d.rng.IntN(50))
		d.put(a+progMemsz, 8, size)
		if d.rng.IntN(2) == 0 {
			d.put(a+progFilesz, 8, size)
		}
	}
	return fmt.Sprintf("at %#x and %#x", a, b)
}

// share gives many segments the bytes of one, at their own addresses: what one part of
// a file says is then said at each of them.
func (d *damage) share() string {
	from := d.header()
	if from < 0 {
		return "nowhere"
	}
	order := d.file.ByteOrder()
	off, size := order.Uint64(d.data[from+progOffset:]), order.Uint64(d.data[from+progFilesz:])
	n := 1 + d.rng.IntN(len(d.file.Progs))
	for range n {
		to := d.header()
		d.put(to+progOffset, 8, off)
		if d.rng.IntN(2) == 0 {
			d.put(to+progFilesz, 8, size)
			d.put(to+progMemsz, 8, max(size, order.Uint64(d.data[to+progMemsz:])))
		}
	}
	return fmt.Sprintf("of %#x with %d others", from, n)
}

// shift moves everything after some place by a few bytes.
func (d *damage) shift() string {
	n := 1 + d.rng.IntN(16)
	off, where := d.place(n)
	copy(d.data[min(off+n, len(d.data)):], d.data[off:])
	return fmt.Sprintf("by %d %s", n, where)
}

func (d *damage) cut() string {
	n := d.rng.IntN(len(d.data))
	d.data = d.data[:n:n]
	d.hot = []part{{"all", 0, n}}
	if n < 64+56 { // nothing else can be done to it
		d.data = append(d.data, make([]byte, 64+56)...)
	}
	return fmt.Sprintf("at %#x", n)
}
