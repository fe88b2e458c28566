package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// prog is a program header: what it is of, and where that is in the file and in
// memory.
type prog struct {
	typ, flags                uint32
	off, vaddr, filesz, memsz uint64
}

// text is a PT_LOAD with code.
func text(vaddr, size uint64) prog { return prog{elfx.ProgLoad, 5, 0, vaddr, size, size} }

// elfHead makes an ELF header with program headers behind it.
func elfHead(a *arch.Arch, typ uint16, progs ...prog) []byte {
	encoding := uint8(1)
	if a.BigEndian {
		encoding = 2
	}
	b := testkit.New(byteOrder(a)).Raw([]byte("\x7fELF")).D8(2, encoding, 1, 0).Zero(8)
	b.D16(typ, a.Machine).D32(1).D64(0x123, 64, 0).D32(0).D16(64, 56, uint16(len(progs)), 64, 0, 0)
	for _, p := range progs {
		b.D32(p.typ, p.flags).D64(p.off, p.vaddr, p.vaddr, p.filesz, p.memsz, minPage)
	}
	return b.Done()
}

// part is memory that begins with some bytes, and is zero up to its size.
func part(addr, size uint64, head ...byte) memreader.Segment {
	data := make([]byte, size)
	copy(data, head)
	return memreader.Segment{Addr: addr, Size: size, Data: data}
}

func newLoading(a *arch.Arch, segs ...memreader.Segment) *loading {
	img := &Image{Arch: a, Name: "prog", Mem: memreader.NewSpace(segs)}
	return &loading{img: img, words: memreader.Words{R: img.Mem, BigEndian: a.BigEndian}}
}

// describeMaps writes what is mapped.
func describeMaps(maps []Mapping) string {
	var list []string
	for _, m := range maps {
		s := fmt.Sprintf("%#x-%#x+%#x %s", m.Lo, m.Hi, m.Off, m.Path)
		if m.Exec {
			s += " x"
		}
		list = append(list, s)
	}
	return strings.Join(list, ", ")
}

// The bias of an image comes from the page of its lowest segment. What is no image of
// this architecture is none.
func TestHeaderAt(t *testing.T) {
	const at = 0x7000_0000
	for _, tt := range []struct {
		name string
		head []byte
		bias uint64
		ok   bool
	}{
		{"position-independent", elfHead(arch.AMD64, elfx.TypeDyn, text(0, 0x1000)), at, true},
		{"linked to an address", elfHead(arch.AMD64, elfx.TypeDyn, text(0x401000, 0x1000)), at - 0x401000, true},
		{"linked within a page", elfHead(arch.AMD64, elfx.TypeDyn, text(0x401235, 0x1000)), at - 0x401000, true},
		{"a program elsewhere", elfHead(arch.AMD64, elfx.TypeExec, text(0x401000, 0x1000)), 0, false},
		{"a program at its address", elfHead(arch.AMD64, elfx.TypeExec, text(at, 0x1000)), 0, true},
		{"without segments", elfHead(arch.AMD64, elfx.TypeDyn, prog{typ: elfx.ProgNote, memsz: 8}), 0, false},
		{"another machine", elfHead(arch.AArch64, elfx.TypeDyn, text(0, 0x1000)), 0, false},
		{"another byte order", elfHead(&arch.Arch{Machine: arch.AMD64.Machine, BigEndian: true}, elfx.TypeDyn, text(0, 0x1000)), 0, false},
		{"a part of a header", elfHead(arch.AMD64, elfx.TypeDyn, text(0, 0x1000))[:60], 0, false},
		{"other bytes", make([]byte, 200), 0, false},
	} {
		l := newLoading(arch.AMD64, part(at, uint64(len(tt.head)), tt.head...))
		f := l.headerAt(at)
		if (f != nil) != tt.ok || f != nil && f.Bias != tt.bias {
			t.Errorf("%s: got %+v, want %v, bias %#x", tt.name, f, tt.ok, tt.bias)
		}
		// A list has biases, which are where the header is only for images that are
		// linked to 0.
		l.add("/lib/x.so", at)
		if got, want := len(l.maps) > 0, tt.ok && tt.bias == at; got != want {
			t.Errorf("%s: added: %v, want %v", tt.name, got, want)
		}
	}
}

// The beginning of an image is found below an address in it, across gaps that are
// not too large.
func TestAround(t *testing.T) {
	const at = 0x7000_0000
	image := func(size uint64) []byte { return elfHead(arch.AMD64, elfx.TypeDyn, text(0, size)) }
	small, large, fixed := image(0x3000), image(16<<20), elfHead(arch.AMD64, elfx.TypeExec, text(0x400000, 32<<20))
	for _, tt := range []struct {
		name    string
		segs    []memreader.Segment
		addr    uint64
		want    uint64 // where an image is found, 0 for none
		scanned int
	}{
		{"the header", []memreader.Segment{part(at, 0x5000, small...)}, at, at, 1},
		{"the last byte", []memreader.Segment{part(at, 0x5000, small...)}, at + 0x2fff, at, 3},
		{"behind the last byte", []memreader.Segment{part(at, 0x5000, small...)}, at + 0x3000, 0, 4 + maxGap/minPage},
		{"an image within another", []memreader.Segment{part(at, 0x8000, large...), part(at+0x4000, 0x1000, image(0x1000)...)}, at + 0x6000, at, 7},
		{"a gap", []memreader.Segment{part(at, minPage, large...), part(at+maxGap, 8)}, at + maxGap + 7, at, maxGap/minPage + 1},
		{"a larger gap", []memreader.Segment{part(at, minPage, large...), part(at+maxGap+minPage, 8)}, at + maxGap + minPage + 7, 0, maxGap/minPage + 1},
		{"two gaps", []memreader.Segment{part(at, minPage, large...), part(at+maxGap, 4), part(at+2*maxGap, 4)}, at + 2*maxGap, at, 2*maxGap/minPage + 1},
		{"a gap with less than a word in it", []memreader.Segment{part(at, minPage, large...), part(at+maxGap, 3), part(at+2*maxGap, 4)}, at + 2*maxGap, 0, maxGap/minPage + 1},
		{"at the usual address", []memreader.Segment{part(0x400000, minPage, fixed...)}, 0x400000 + 20<<20, 0x400000, 0},
		{"not in the one at the usual address", []memreader.Segment{part(0x400000, minPage, fixed...), part(at, 0x5000, small...)}, at + 0x1000, at, 2},
		{"at address 0", []memreader.Segment{part(0, 0x5000, small...)}, 0x2000, 0, 2},
	} {
		l := newLoading(arch.AMD64, tt.segs...)
		l.around(tt.addr)
		got := uint64(0)
		for base := range l.bases {
			got = base
		}
		if got != tt.want || len(l.bases) != len(l.maps)/2 || l.scanned != tt.scanned {
			t.Errorf("%s: got %#x, %d mappings, %d pages looked at, want %#x, %d", tt.name, got, len(l.maps), l.scanned, tt.want, tt.scanned)
		}
	}
}

// zeroMemory is memory without end.
type zeroMemory struct{}

func (zeroMemory) ReadMem(p []byte, _ uint64) (int, error) { clear(p); return len(p), nil }

// The search for one image ends, and so do all searches together.
func TestAroundEnds(t *testing.T) {
	img := &Image{Arch: arch.AMD64, Mem: zeroMemory{}}
	l := &loading{img: img, words: memreader.Words{R: img.Mem}}
	for n := 1; n <= 6; n++ {
		l.around(0x7000_0000_0000 + 123)
		if want := min(n*maxScan/minPage, maxScanned); l.scanned != want {
			t.Fatalf("search %d: got %d pages, want %d", n, l.scanned, want)
		}
	}
	l.scanned = maxScanned - 1
	if l.around(0x7000_0000_0000); l.scanned != maxScanned {
		t.Errorf("got %d pages, want %d", l.scanned, maxScanned)
	}
}

// An image gives a mapping for each segment: its pages that are in the file, and those
// that are not.
func TestCommit(t *testing.T) {
	const at = 0x7000_0000
	data := prog{elfx.ProgLoad, 6, 0x2800, 0x5800, 0x900, 0x3000}
	for _, tt := range []struct {
		name, path string
		typ        uint16
		progs      []prog
		want, auxv string
	}{
		{"a library", "/lib/x.so", elfx.TypeDyn, []prog{text(0, 0x1001), data}, "0x70000000-0x70002000+0x0 /lib/x.so x, 0x70002000-0x70002000+0x0  x, 0x70005000-0x70007000+0x2000 /lib/x.so, 0x70007000-0x70009000+0x0 ", "[]"},
		{"one byte", "/lib/x.so", elfx.TypeDyn, []prog{text(0, 1)}, "0x70000000-0x70001000+0x0 /lib/x.so x, 0x70001000-0x70001000+0x0  x", "[]"},
		{"empty segments and other headers", "/lib/x.so", elfx.TypeDyn, []prog{{typ: elfx.ProgNote, filesz: 8, memsz: 8}, text(0, 1), text(0x4000, 0)}, "0x70000000-0x70001000+0x0 /lib/x.so x, 0x70001000-0x70001000+0x0  x", "[]"},
		{"the vDSO", "", elfx.TypeDyn, []prog{text(0, maxVDSO)}, "0x70000000-0x70100000+0x0 [vdso] x, 0x70100000-0x70100000+0x0  x", "[{33 1879048192}]"},
		{"the vDSO, linked to an address", "", elfx.TypeDyn, []prog{text(0x100000, 0x1000)}, "0x70000000-0x70001000+0x0 [vdso] x, 0x70001000-0x70001000+0x0  x", "[{33 1879048192}]"},
		{"too large for the vDSO", "", elfx.TypeDyn, []prog{text(0, maxVDSO+1)}, "0x70000000-0x70101000+0x0  x, 0x70101000-0x70101000+0x0  x", "[]"},
		{"a library of that size", "/lib/x.so", elfx.TypeDyn, []prog{text(0, 8)}, "0x70000000-0x70001000+0x0 /lib/x.so x, 0x70001000-0x70001000+0x0  x", "[]"},
		{"a program", "", elfx.TypeExec, []prog{text(at, 0x1000)}, "0x70000000-0x70001000+0x0 prog x, 0x70001000-0x70001000+0x0  x", "[{3 1879048256} {5 1} {9 291}]"},
	} {
		head := elfHead(arch.AMD64, tt.typ, tt.progs...)
		l := newLoading(arch.AMD64, part(at, minPage, head...))
		f := l.headerAt(at)
		if f == nil {
			t.Fatalf("%s: no image", tt.name)
		}
		for range 2 { // an image is there once
			l.commit(tt.path, f)
			if got := describeMaps(l.maps); got != tt.want {
				t.Errorf("%s: got  %s\nwant %s", tt.name, got, tt.want)
			}
			if got := fmt.Sprint(l.img.Auxv); got != tt.auxv {
				t.Errorf("%s: got auxiliary vector %s, want %s", tt.name, got, tt.auxv)
			}
		}
		if len(l.bases) != 1 || !l.bases[at] {
			t.Errorf("%s: got images at %v", tt.name, l.bases)
		}
	}
}

// Images and mappings have a limit.
func TestCommitLimits(t *testing.T) {
	const at = 0x7000_0000
	f := newLoading(arch.AMD64, part(at, minPage, elfHead(arch.AMD64, elfx.TypeDyn, text(0, 0x1000))...)).headerAt(at)
	for _, tt := range []struct {
		name         string
		images, maps int
		want         int // mappings more
	}{
		{"none", 0, 0, 2},
		{"room for an image", maxLoaded - 1, 0, 2},
		{"as many images as may be", maxLoaded, 0, 0},
		{"room for a mapping", 0, maxLoadedMaps - 1, 2},
		{"as many mappings as may be", 0, maxLoadedMaps, 0},
	} {
		l := newLoading(arch.AMD64)
		l.bases, l.maps = map[uint64]bool{}, make([]Mapping, tt.maps)
		for i := range tt.images {
			l.bases[uint64(i)<<12] = true
		}
		if l.commit("/lib/x.so", f); len(l.maps) != tt.maps+tt.want {
			t.Errorf("%s: got %d mappings more, want %d", tt.name, len(l.maps)-tt.maps, tt.want)
		}
	}
}

// An address is in a mapping whether that was sorted already or came later.
func TestCovers(t *testing.T) {
	l := newLoading(arch.AMD64)
	check := func(n int) {
		t.Helper()
		for i := range uint64(300) {
			at := 0x10000 + i*0x1000
			for off, want := range map[uint64]bool{0: i < uint64(n), 0x7ff: i < uint64(n), 0x800: false} {
				if got := l.covers(at + off); got != want {
					t.Fatalf("%d mappings: %#x: got %v, want %v", n, at+off, got, want)
				}
			}
		}
		if l.covers(0xffff) || l.covers(0) {
			t.Errorf("%d mappings: what is below all of them is covered", n)
		}
	}
	for n := range 250 {
		check(n)
		at := 0x10000 + uint64(n)*0x1000
		l.maps = append(l.maps, Mapping{Lo: at, Hi: at + 0x800})
	}
	down := newLoading(arch.AMD64)
	for i := range uint64(200) {
		at := 0x100000 - i*0x1000
		down.maps = append(down.maps, Mapping{Lo: at, Hi: at + 0x800})
		if !down.covers(at) || !down.covers(0x100000+0x7ff) || down.covers(at-1) || down.covers(at+0x800) {
			t.Fatalf("mapping %d is not the one that is covered", i)
		}
	}
}

// stack is a stack of the main thread that holds words.
func stack(words ...uint64) memreader.Segment {
	data := testkit.New(byteOrder(arch.AMD64)).D64(words...).Done()
	return part(ownStackAt, uint64(len(data)), data...)
}

// The auxiliary vector begins with the address of a vDSO. Other words that are
// addresses of images do not begin it, nor does an odd end of the stack.
func TestFindAuxv(t *testing.T) {
	dso := part(vdsoAt, minPage, elfHead(arch.AMD64, elfx.TypeDyn, text(0, 0x1000))...)
	short := stack(1, 2, ATSysinfoEhdr, vdsoAt)
	short.Data, short.Size = short.Data[:len(short.Data)-1], short.Size-1
	for _, tt := range []struct {
		name  string
		stack memreader.Segment
		want  string
	}{
		{"all of the stack", stack(ATSysinfoEhdr, vdsoAt, ATUID, 7), "[{33 140720308486144} {11 7}]"},
		{"at its very end", stack(1, 2, ATSysinfoEhdr, vdsoAt), "[{33 140720308486144}]"},
		{"cut off", short, "[]"},
		{"behind the address of an image", stack(7, vdsoAt, 0, ATSysinfoEhdr, vdsoAt), "[{33 140720308486144}]"},
		{"an argument before it", stack(ATSysinfoEhdr, 5, ATSysinfoEhdr, vdsoAt), "[{33 140720308486144}]"},
	} {
		l := newLoading(arch.AMD64, tt.stack, dso)
		l.findAuxv(ownStackAt)
		if got := fmt.Sprint(l.img.Auxv); !strings.HasPrefix(got, strings.TrimSuffix(tt.want, "]")) || (tt.want == "[]") != (len(l.maps) == 0) {
			t.Errorf("%s: got %s, %d mappings, want %s", tt.name, got, len(l.maps), tt.want)
		}
	}
}

// linkMap is the dynamic linker's list of images, by name, bias and dynamic section.
func linkMap(images ...Loaded) memreader.Segment {
	const node = 40
	b := testkit.New(byteOrder(arch.AMD64)).D64(1, debugAt+16)
	names := ""
	for i, im := range images {
		next := uint64(debugAt + 16 + (i+1)*node)
		if i == len(images)-1 {
			next = 0
		}
		name, dynamic, _ := strings.Cut(im.Path, "@")
		at := uint64(0)
		_, _ = fmt.Sscanf(dynamic, "%v", &at)
		b.D64(im.Bias, uint64(debugAt+16+len(images)*node+len(names)), at, next, 0)
		names += name + "\x00"
	}
	data := b.Raw([]byte(names)).Done()
	return part(debugAt, uint64(len(data)), data...)
}

// An image on the dynamic linker's list is where its bias says or, if it is linked to
// an address, around its dynamic section.
func TestLink(t *testing.T) {
	const a, b, c = 0x7100_0000_0000, 0x7200_0000_0000, 0x7300_0000_0000
	plain := elfHead(arch.AMD64, elfx.TypeDyn, text(0, 0x3000))
	linked := elfHead(arch.AMD64, elfx.TypeDyn, text(0x40000, 0x3000))
	segs := []memreader.Segment{part(a, 0x3000, plain...), part(b, 0x3000, linked...), part(c, 0x3000, plain...)}
	for _, tt := range []struct {
		name string
		list []Loaded
		want string
	}{
		{"by bias", []Loaded{{fmt.Sprint("/a@", a+0x2000), a}}, "/a"},
		{"without a dynamic section", []Loaded{{"/a", a}}, "/a"},
		{"around the dynamic section", []Loaded{{fmt.Sprint("/b@", b+0x2000), b - 0x40000}}, "[vdso]"},
		{"a name that is no path", []Loaded{{fmt.Sprint("linux-vdso.so.1@", a+0x2000), a}}, "[vdso]"},
		{"none of them", []Loaded{{"/b", b - 0x40000}, {"/x@1", 8}}, ""},
		{"some", []Loaded{{"/x", 1 << 20}, {"/a", a}, {"/c", c}}, "/a /c"},
	} {
		l := newLoading(arch.AMD64, append(segs[:3:3], linkMap(tt.list...))...)
		l.rdebug = debugAt
		l.link()
		var got []string
		for i := 0; i < len(l.maps); i += 2 {
			got = append(got, l.maps[i].Path)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		scanned, n := l.scanned, len(l.maps)
		if strings.Contains(tt.want, "/a") && scanned != 0 {
			t.Errorf("%s: %d pages were looked at", tt.name, scanned)
		}
		if l.maps = nil; n > 0 {
			l.bases = nil
		}
		if l.link(); l.maps != nil {
			t.Errorf("%s: the list was read twice", tt.name)
		}
	}
	l := newLoading(arch.AMD64, append(segs[:3:3], linkMap(Loaded{"/a", a}, Loaded{"/c", c}))...)
	if l.link(); l.maps != nil || l.linked {
		t.Error("got images of a list whose address is not known")
	}
	// The list ends where there are too many.
	l.rdebug, l.bases = debugAt, map[uint64]bool{}
	for i := range maxLoaded - 1 {
		l.bases[uint64(i)<<12] = true
	}
	if l.link(); len(l.maps) != 2 || l.maps[0].Path != "/a" {
		t.Errorf("got %s", describeMaps(l.maps))
	}
}

// What is known of the dynamic linker's list comes first; the linker itself is asked
// only if nothing is.
func TestFindLoadedOrder(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(p *madeProcess) (*Image, []Loaded)
		want []string
	}{
		{"the program knows the list better than the linker", func(p *madeProcess) (*Image, []Loaded) {
			p.linker("_r_debug", 1)
			other := p.segs[len(p.segs)-1].Data[0x1000:0x2000] // the symbols
			// The value of the symbol is wrong.
			i := strings.Index(string(other), string(testkit.New(p.order).D64(debugAt-linkerAt).Done()))
			copy(other[i:], make([]byte, 8))
			return p.image([2]uint64{ownStackAt, 8}), []Loaded{{"/lib64/ld.so", linkerAt}}
		}, []string{"prog", "/lib/libx.so.1", "[vdso]"}},
		{"an image on the list has its name, though a thread is in it", func(p *madeProcess) (*Image, []Loaded) {
			return p.image([2]uint64{ownStackAt, libraryAt + 0x3000}), nil
		}, []string{"prog", "/lib/libx.so.1", "[vdso]"}},
		{"a second linker, after one that cannot be read", func(p *madeProcess) (*Image, []Loaded) {
			p.linker("_r_debug", 1)
			return p.image([2]uint64{8, 8}), []Loaded{{"/lib/ld-none.so", linkerAt + 0x1000}, {"/lib/ldlib.so", libraryAt}, {"/lib64/ld.so", linkerAt}}
		}, []string{"prog", "/lib/ldlib.so", "[vdso]"}},
	} {
		p := newMadeProcess(arch.AMD64)
		img, list := tt.make(p)
		img.FindLoaded(list)
		var got []string
		for _, m := range img.Mappings {
			if m.Exec && m.Path != "" && m.Path != "/lib64/ld.so" {
				got = append(got, m.Path)
			}
		}
		if strings.Join(got, " ") != strings.Join(tt.want, " ") {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Threads in code that is known cost no search, however far from its beginning they
// are.
func TestFindLoadedSearches(t *testing.T) {
	const at, size = 0x7000_0000_0000, 200 << 20
	head := elfHead(arch.AMD64, elfx.TypeDyn, text(0, size))
	dso := elfHead(arch.AMD64, elfx.TypeDyn, text(0, 0x1000))
	img := &Image{Arch: arch.AMD64, Mem: overlaid{map[uint64][]byte{at: head, vdsoAt: dso}}, Threads: make([]Thread, 9)}
	for i := range img.Threads {
		img.Threads[i].ID = i + 1
		img.Threads[i].Regs.Set(arch.AMD64.PC, at+size-1)
	}
	img.Threads[8].Regs.Set(arch.AMD64.PC, vdsoAt+0x800)
	img.FindLoaded([]Loaded{{"/lib/large.so", at}})
	if got, want := describeMaps(img.Mappings), "0x700000000000-0x70000c800000+0x0 /lib/large.so x, 0x7ffc00000000-0x7ffc00001000+0x0 [vdso] x"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// overlaid is memory without end that is zero but for some bytes.
type overlaid struct{ parts map[uint64][]byte }

func (o overlaid) ReadMem(p []byte, addr uint64) (int, error) {
	clear(p)
	for at, data := range o.parts {
		if addr < at+uint64(len(data)) && addr+uint64(len(p)) > at {
			if addr >= at {
				copy(p, data[addr-at:])
			} else {
				copy(p[at-addr:], data)
			}
		}
	}
	return len(p), nil
}

// A core of only registers and memory has its images where mappings begin.
func TestFilesInMemoryBehindOthers(t *testing.T) {
	program := elfHead(arch.AMD64, elfx.TypeExec, text(0x400000, 0x1000))
	library := elfHead(arch.AMD64, elfx.TypeDyn, text(0, 0x1000))
	img := openBuilt(t, testkit.NewCore(arch.AMD64).Process(1, "tool", "tool").Thread(1, 11, regs(arch.AMD64, 1)).
		Segment(0x10000, 0x1000, false, []byte("not an image")).
		Segment(0x20000, 0x1000, true, append(library, make([]byte, minPage-len(library))...)).
		Segment(0x400000, 0x1000, true, append(program, make([]byte, minPage-len(program))...)))
	if got, want := describeMaps(img.Mappings), "0x10000-0x11000+0x0 , 0x20000-0x21000+0x0  x, 0x400000-0x401000+0x0 tool x"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if entry, ok := img.Auxv.Get(ATEntry); entry != 0x123 || !ok {
		t.Errorf("got entry point %#x, %v", entry, ok)
	}
}
