package core

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// atPagesz is AT_PAGESZ [elf.h].
const atPagesz = 6

// Where a process without files has its parts.
const (
	programAt, libraryAt, linkerAt, vdsoAt = 0x5500_0000_0000, 0x7f00_0000_0000, 0x7f00_0100_0000, 0x7ffc_0000_0000
	debugAt, ownStackAt                    = 0x7f00_0200_0000, 0x7ffb_0000_0000
)

// madeProcess is the memory of a process: a program, a library, the dynamic linker
// with its list of these, the vDSO, and a stack that begins with the auxiliary vector.
type madeProcess struct {
	arch  *arch.Arch
	order binary.ByteOrder
	segs  []memreader.Segment
}

func newMadeProcess(a *arch.Arch) *madeProcess {
	p := &madeProcess{arch: a, order: byteOrder(a)}
	const dynamic, code = 0x5000, 0x3000
	image := func(entries ...uint64) []byte {
		e := &testkit.ELF{Order: p.order, Type: elfx.TypeDyn, Machine: a.Machine, Bare: true, Sections: []testkit.ELFSection{
			{Name: ".text", Type: elfx.SectProgbits, Flags: 6, Addr: code, Data: make([]byte, 0x100), Align: 1},
		}}
		if len(entries) > 0 {
			e.Sections = append(e.Sections, testkit.ELFSection{Name: ".dynamic", Type: 6, Flags: 3, Addr: dynamic, Data: testkit.New(p.order).D64(entries...).Done(), Align: 8})
			e.Progs = []testkit.ELFProg{{Type: elfx.ProgDynamic, Flags: 6, Section: ".dynamic"}}
		}
		mem := e.Memory()
		return append(mem, make([]byte, 0x6000-len(mem))...)
	}
	put := func(at uint64, data []byte) {
		p.segs = append(p.segs, memreader.Segment{Addr: at, Size: uint64(len(data)), Data: data})
	}
	put(programAt, image(21 /* DT_DEBUG */, debugAt, 0, 0))
	put(libraryAt, image(1, 1, 0, 0))
	put(vdsoAt, image()[:0x4000])
	b := testkit.New(p.order).D64(1, debugAt+0x10)
	for i, im := range []struct{ name, bias uint64 }{{0, programAt}, {1, libraryAt}, {15, vdsoAt}} {
		next := debugAt + 0x10 + uint64(i+1)*40
		if i == 2 {
			next = 0
		}
		b.D64(im.bias, debugAt+0x10+3*40+im.name, im.bias+dynamic, next, 0)
	}
	put(debugAt, b.Str("").Str("/lib/libx.so.1").Str("linux-vdso.so.1").Done())
	put(ownStackAt, testkit.New(p.order).Zero(0x208).D64(ATSysinfoEhdr, 1, ATSysinfoEhdr, vdsoAt, ATPhdr, programAt+64, ATEntry, programAt+code, 0, 0, atPagesz, 1).Zero(0x100).Done())
	return p
}

// linker adds a dynamic linker that exports its struct r_debug.
func (p *madeProcess) linker(name string, shndx uint16) {
	const dynsym, dynstr, hash, dynamic = 0x1000, 0x2000, 0x3000, 0x4000
	table, strs := testkit.ELFSymbols(p.order, []testkit.ELFSymbol{
		{Name: name + "_not", Info: 0x11, Shndx: 1, Value: 0x8}, {Name: name, Info: 0x11, Shndx: shndx, Value: debugAt - linkerAt},
	}, nil)
	words := testkit.New(p.order).D64(6, dynsym, 5, dynstr, 10, uint64(len(strs)), 4, hash, 0, 0).Done()
	chains := testkit.New(p.order).D32(1, 3, 0, 0, 0, 0).Done()
	if p.arch.Machine == arch.EMS390 {
		chains = testkit.New(p.order).D64(1, 3, 0, 0, 0, 0).Done()
	}
	part := func(name string, addr uint64, data []byte) testkit.ELFSection {
		return testkit.ELFSection{Name: name, Type: elfx.SectProgbits, Flags: 2, Addr: addr, Data: data}
	}
	e := &testkit.ELF{Order: p.order, Type: elfx.TypeDyn, Machine: p.arch.Machine, Bare: true, Sections: []testkit.ELFSection{
		part("syms", dynsym, table), part("strs", dynstr, strs), part("hash", hash, chains), part("dynamic", dynamic, words),
	}, Progs: []testkit.ELFProg{{Type: elfx.ProgDynamic, Flags: 6, Section: "dynamic"}}}
	mem := e.Memory()
	mem = append(mem, make([]byte, 0x5000-len(mem))...)
	p.segs = append(p.segs, memreader.Segment{Addr: linkerAt, Size: uint64(len(mem)), Data: mem})
}

// image returns the process with a thread for each SP and pc, of which the first is
// the main one.
func (p *madeProcess) image(regs ...[2]uint64) *Image {
	img := &Image{Arch: p.arch, PID: 10, Name: "prog", Mem: memreader.NewSpace(p.segs), Threads: make([]Thread, len(regs))}
	for i, r := range regs {
		img.Threads[i].ID = 10 + i
		img.Threads[i].Regs.Set(p.arch.SP, r[0])
		img.Threads[i].Regs.Set(p.arch.PC, r[1])
	}
	return img
}

// found lists what FindLoaded found: the path and the start of what is mapped as code.
func found(img *Image) string {
	var list []string
	for i := range img.Mappings {
		if m := &img.Mappings[i]; m.Exec {
			list = append(list, fmt.Sprintf("%s %#x-%#x+%#x", m.Path, m.Lo, m.Hi, m.Off))
		}
	}
	return strings.Join(list, ", ")
}

// TestFindLoaded finds the images of a process by each way that leads to them.
func TestFindLoaded(t *testing.T) {
	const (
		program = "prog 0x550000003000-0x550000004000+"
		library = "/lib/libx.so.1 0x7f0000003000-0x7f0000004000+"
		vdso    = "[vdso] 0x7ffc00003000-0x7ffc00004000+"
	)
	nowhere := [2]uint64{8, 8}
	tests := []struct {
		name string
		make func(p *madeProcess) (*Image, []Loaded)
		want []string // the beginnings
	}{
		{"nothing known", func(p *madeProcess) (*Image, []Loaded) { return p.image(nowhere), nil }, nil},
		{"auxiliary vector", func(p *madeProcess) (*Image, []Loaded) { return p.image([2]uint64{ownStackAt + 0x100, 8}), nil }, []string{program, library, vdso}},
		{"auxiliary vector, SP between words", func(p *madeProcess) (*Image, []Loaded) { return p.image([2]uint64{ownStackAt + 0x20f, 8}), nil }, []string{program, library, vdso}},
		{"above the auxiliary vector", func(p *madeProcess) (*Image, []Loaded) { return p.image([2]uint64{ownStackAt + 0x230, 8}), nil }, nil},
		{"the stack of another thread", func(p *madeProcess) (*Image, []Loaded) { return p.image(nowhere, [2]uint64{ownStackAt, 8}), nil }, nil},
		{"pc in the program", func(p *madeProcess) (*Image, []Loaded) { return p.image([2]uint64{8, programAt + 0x3010}), nil }, []string{program, library, vdso}},
		{"pc of another thread", func(p *madeProcess) (*Image, []Loaded) {
			return p.image(nowhere, [2]uint64{8, programAt + 0x3010}), nil
		}, []string{program, library, vdso}},
		{"pc in the vDSO", func(p *madeProcess) (*Image, []Loaded) { return p.image([2]uint64{8, vdsoAt + 0x3010}), nil }, []string{vdso}},
		{"listed program", func(p *madeProcess) (*Image, []Loaded) {
			return p.image(nowhere), []Loaded{{"/bin/listed", programAt}}
		}, []string{"/bin/listed 0x550000003000-0x550000004000+", library, vdso}},
		{"listed library", func(p *madeProcess) (*Image, []Loaded) {
			return p.image(nowhere), []Loaded{{"/lib/l.so", libraryAt}, {"/lib/no.so", libraryAt + 0x1000}, {"/lib/again.so", libraryAt}}
		}, []string{"/lib/l.so 0x7f0000003000-0x7f0000004000+"}},
		{"dynamic linker", func(p *madeProcess) (*Image, []Loaded) {
			p.linker("_r_debug", 1)
			return p.image(nowhere), []Loaded{{"/lib/x.so", linkerAt + 0x1000}, {"/lib64/ld-linux.so.2", linkerAt}}
		}, []string{program, library, vdso}},
		{"dynamic linker by another name", func(p *madeProcess) (*Image, []Loaded) {
			p.linker("_r_debug", 1)
			return p.image(nowhere), []Loaded{{"/lib64/xd.so", linkerAt}}
		}, nil},
		{"dynamic linker of another place", func(p *madeProcess) (*Image, []Loaded) {
			p.linker("_r_debug", 1)
			return p.image(nowhere), []Loaded{{"/lib64/ld.so", linkerAt + 0x1000}}
		}, nil},
		{"dynamic linker without the symbol", func(p *madeProcess) (*Image, []Loaded) {
			p.linker("_r_debuh", 1)
			return p.image(nowhere), []Loaded{{"/lib64/ld.so", linkerAt}}
		}, nil},
		{"dynamic linker that imports the symbol", func(p *madeProcess) (*Image, []Loaded) {
			p.linker("_r_debug", 0)
			return p.image(nowhere), []Loaded{{"/lib64/ld.so", linkerAt}}
		}, nil},
		{"a program of another machine", func(p *madeProcess) (*Image, []Loaded) {
			p.order.PutUint16(p.segs[0].Data[18:], 8)
			return p.image([2]uint64{ownStackAt, 8}), nil
		}, []string{vdso}},
		{"a name of the program", func(p *madeProcess) (*Image, []Loaded) {
			img := p.image([2]uint64{ownStackAt, 8})
			img.Executable = "/bin/true"
			return img, nil
		}, []string{"/bin/true 0x550000003000-0x550000004000+", library, vdso}},
		{"no name at all", func(p *madeProcess) (*Image, []Loaded) {
			img := p.image([2]uint64{ownStackAt, 8})
			img.Name = ""
			return img, nil
		}, []string{"(program) 0x550000003000-0x550000004000+", library, vdso}},
	}
	eachArch(t, func(t *testing.T, a *arch.Arch) {
		for _, tt := range tests {
			p := newMadeProcess(a)
			img, list := tt.make(p)
			img.FindLoaded(list)
			got := found(img)
			parts := strings.Split(got, ", ")
			ok := len(parts) == max(1, len(tt.want)) && (got == "") == (tt.want == nil)
			for i, want := range tt.want {
				ok = ok && i < len(parts) && strings.HasPrefix(parts[i], want)
			}
			if !ok {
				t.Errorf("%s: got %s, want %q", tt.name, got, tt.want)
			}
		}
		img := newMadeProcess(a).image([2]uint64{ownStackAt, 8})
		img.FindLoaded(nil)
		for typ, want := range map[uint64]uint64{ATSysinfoEhdr: vdsoAt, ATPhdr: programAt + 64, ATEntry: programAt + 0x3000} {
			if got, ok := img.Auxv.Get(typ); !ok || got != want {
				t.Errorf("auxiliary vector, type %d: got %#x, %v, want %#x", typ, got, ok, want)
			}
		}
		if _, ok := img.Auxv.Get(atPagesz); ok {
			t.Error("the auxiliary vector was read past its end")
		}
		img = newMadeProcess(a).image([2]uint64{8, programAt + 0x3010})
		img.FindLoaded(nil)
		for typ, want := range map[uint64]uint64{ATSysinfoEhdr: vdsoAt, ATPhdr: programAt + 64, ATPhnum: 4} {
			if got, ok := img.Auxv.Get(typ); !ok || got != want {
				t.Errorf("without a vector, type %d: got %#x, %v, want %#x", typ, got, ok, want)
			}
		}
		if m := img.Mapping(programAt + 0x3010); m == nil || m.Off != img.Mapping(programAt).Off+programOffset(img) {
			t.Errorf("got %+v", m)
		}
	})
}

// programOffset is where the code of the program is in its file, down to a page.
func programOffset(img *Image) uint64 {
	head, _ := memreader.ReadFull(img.Mem, programAt, 4096)
	f, err := elfx.ParseLoaded(head)
	if err != nil {
		return 1
	}
	return f.Progs[1].Off - f.Progs[1].Vaddr%minPage
}

// The end of what is mapped is that of a page.
func TestPageEnd(t *testing.T) {
	const top = ^uint64(0)
	for _, tt := range []struct{ start, size, want uint64 }{
		{0x1000, 0, 0x1000},
		{0x1000, 1, 0x2000},
		{0x1000, 0x1000, 0x2000},
		{0x1000, 0x1001, 0x3000},
		{top - 0x1fff, 0x1000, top - 0xfff},
		{top - 0x1fff, 0x1001, top - 0x1fff},
		{0x1000, top, 0x1000},
	} {
		if got := pageEnd(tt.start, tt.size); got != tt.want {
			t.Errorf("%#x bytes from %#x: got %#x, want %#x", tt.size, tt.start, got, tt.want)
		}
	}
}
