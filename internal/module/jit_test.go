package module

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/jit"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/unwind"
)

const (
	jitProgram    = 0x40_0000
	jitDescriptor = jitProgram + 0x2000
	jitHeap       = 0x10_0000_0000 // entries, 32 bytes each, then images
	jitImages     = jitHeap + 0x1000
	jitText       = 0x20_0000_0000
	jitTextSize   = 0x4000 // of executable memory
	jitStack      = 0x30_0000_0000
	jitFrame      = 32 // bytes of each function's frame
)

// jitProcess is a process that has registered images, the one registered last
// first.
type jitProcess struct {
	arch   *arch.Arch
	order  binary.AppendByteOrder
	images [][]byte
	last   uint64 // what the last entry leads on to
	text   []byte
	stack  []byte
	root   string // the sysroot; "" for one that nothing else has
}

func newJITProcess(a *arch.Arch) *jitProcess {
	p := &jitProcess{arch: a, order: binary.LittleEndian, text: make([]byte, jitTextSize), stack: make([]byte, 0x100)}
	if a.BigEndian {
		p.order = binary.BigEndian
	}
	return p
}

// image describes a function at an address. With a frame it has call frame
// information.
func (p *jitProcess) image(typ uint16, name string, at, size uint64, frame bool) *testkit.ELF {
	a := p.arch
	e := &testkit.ELF{
		Order: p.order.(binary.ByteOrder), Type: typ, Machine: a.Machine,
		Sections: []testkit.ELFSection{{Name: ".text", Type: elfx.SectNobits, Flags: elfx.SectAlloc | elfx.SectExec, Addr: at, NobitsSize: size, Align: 16}},
		Symbols:  []testkit.ELFSymbol{{Name: name, Info: 1<<4 | elfx.SymFunc, Section: ".text", Size: size}},
	}
	if typ != elfx.TypeRel {
		e.Symbols[0].Value = at
	}
	if frame {
		const defCFA, offset, dataAlign = 0x0c, 0x80, -8
		b := testkit.New(e.Order).Diff(4, "cie end", "cie", 0).Mark("cie").D32(0).D8(1).Str("zR").ULEB(1).SLEB(dataAlign)
		b.ULEB(uint64(a.RA())).ULEB(1).D8(0).D8(defCFA).ULEB(uint64(a.SP), uint64(jitFrame-a.SPFromCFA))
		b.D8(offset | uint8(a.RA())).ULEB(uint64(8-a.SPFromCFA) / 8).Align(8).Mark("cie end")
		b.Diff(4, "fde end", "fde", 0).Mark("fde").Diff(4, "fde", "", 0).D64(at, size).ULEB(0).Align(8).Mark("fde end").D32(0)
		e.Sections = append(e.Sections, testkit.ELFSection{Name: ".eh_frame", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Data: b.Done(), Align: 8})
	}
	return e
}

func (p *jitProcess) register(e *testkit.ELF) { p.images = append(p.images, e.File()) }

// call puts a call at an address and returns where it returns to.
func (p *jitProcess) call(at uint64) uint64 {
	code := map[uint16]string{arch.EMX86_64: "\xff\xd0", arch.EMAArch64: "\x00\x00\x3f\xd6", arch.EMS390: "\x0d\xe1"}[p.arch.Machine]
	copy(p.text[at-jitText:], code)
	return at + uint64(len(code))
}

// set makes the modules. Of the program only the symbol table is known.
func (p *jitProcess) set(t *testing.T) *Set {
	t.Helper()
	program := &testkit.ELF{
		Order: p.order.(binary.ByteOrder), Type: elfx.TypeExec, Machine: p.arch.Machine, Base: jitProgram,
		Sections: []testkit.ELFSection{
			{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc | elfx.SectExec, Addr: jitProgram + 0x1000, Data: make([]byte, 0x100)},
			{Name: ".data", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: jitDescriptor, Data: make([]byte, 0x100)},
		},
		Symbols: []testkit.ELFSymbol{
			{Name: jit.Symbol, Info: 1<<4 | 1, Section: ".data", Value: jitDescriptor, Size: 24},
			{Name: "main", Info: 1<<4 | elfx.SymFunc, Section: ".text", Value: jitProgram + 0x1000, Size: 0x100},
		},
	}
	f, err := elfx.Parse(program.File())
	if err != nil {
		t.Fatal(err)
	}
	heap := testkit.New(f.ByteOrder())
	images := testkit.New(f.ByteOrder())
	for i, image := range p.images {
		next := p.last
		if i+1 < len(p.images) {
			next = jitHeap + uint64(i+1)*32
		}
		heap.D64(next, 0, jitImages+uint64(images.Len()), uint64(len(image)))
		images.Raw(image).Align(16)
	}
	heap.Zero(jitImages - jitHeap - heap.Len()).Raw(images.Done())
	mem := program.Memory()
	copy(mem[jitDescriptor-jitProgram:], testkit.New(f.ByteOrder()).D32(1, 1).D64(0, jitHeap).Done())
	seg := func(addr uint64, data []byte) memreader.Segment {
		return memreader.Segment{Addr: addr, Size: uint64(len(data)), Data: data}
	}
	img := &core.Image{
		Arch: p.arch, Threads: []core.Thread{{ID: 1}},
		Mem: memreader.NewSpace([]memreader.Segment{seg(jitProgram, mem), seg(jitHeap, heap.Done()), seg(jitText, p.text), seg(jitStack, p.stack)}),
		Mappings: []core.Mapping{
			{Lo: jitProgram, Hi: jitProgram + 0x1000, Path: "/program"},
			{Lo: jitProgram + 0x1000, Hi: jitProgram + 0x2000, Off: 0x1000, Path: "/program", Exec: true},
			{Lo: jitDescriptor, Hi: jitDescriptor + 0x1000, Off: 0x2000, Path: "/program"},
			{Lo: jitHeap, Hi: jitHeap + 0x100_0000},
			{Lo: jitText, Hi: jitText + jitTextSize/2, Exec: true},
			{Lo: jitText + jitTextSize/2, Hi: jitText + jitTextSize, Exec: true},
			{Lo: jitStack, Hi: jitStack + 0x1000},
		},
	}
	if p.root == "" {
		p.root = t.TempDir()
	}
	set := Find(img, Options{Sysroot: p.root})
	s := set.siteOf(jitProgram + 0x1000)
	s.once.Do(func() {
		l := loader{site: s, m: &Module{Path: s.path, Lo: s.lo, Hi: s.hi}}
		l.use(f, report.MatchPath)
		s.module = l.m
	})
	return set
}

// funcAt returns the name of the code at an address, and its module.
func funcAt(s *Set, addr uint64) string {
	locs := s.Locate(addr, nil)
	if len(locs) == 0 {
		return ""
	}
	return fmt.Sprint(s.At(addr).Path, " ", locs[0].Func, "+", locs[0].Offset)
}

// Frames in registered code have names and are walked by its tables, which are
// not believed in full, in images of every kind.
func TestJIT(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X} {
		for _, typ := range []uint16{elfx.TypeRel, elfx.TypeExec, elfx.TypeDyn} {
			for _, live := range []bool{false, true} {
				p := newJITProcess(a)
				p.register(p.image(typ, "leaf", jitText+0x100, 0x40, true))
				// Across the end of a mapping.
				p.register(p.image(typ, "caller", jitText+jitTextSize/2-0x10, 0x80, true))
				p.register(p.image(typ, "nameless tables", jitText+0x800, 0x40, false))
				ra1, ra2 := p.call(jitText+jitTextSize/2+0x20), p.call(jitText+0x810)
				for i, ra := range []uint64{ra1, ra2} {
					at := (i+1)*jitFrame - 8
					copy(p.stack[at:], p.order.AppendUint64(nil, ra))
				}
				set := p.set(t)
				if n := set.Len(); n != 1 {
					t.Errorf("%s, type %d: got %d modules before the walk", a.Name, typ, n)
				}
				if live { // of which the heap is not copied
					set.img.Process = set.img.Mem
					set.img.Mem = withoutHeap{set.img.Mem}
					set.mem.Top = set.img.Mem
				}
				th := &set.img.Threads[0]
				th.Regs.Set(a.PC, jitText+0x108)
				th.Regs.Set(a.SP, jitStack)
				frames, stop := walk(set)
				for i, want := range []struct {
					name   string
					method unwind.Method
					trust  unwind.Trust
					tables bool
				}{{"leaf", unwind.Registers, unwind.Full, true}, {"caller", unwind.CFI, unwind.Checked, true}, {"nameless tables", unwind.CFI, unwind.Checked, false}} {
					if i >= len(frames) {
						t.Fatalf("%s, type %d: got %d frames, %v", a.Name, typ, len(frames), stop)
					}
					f := &frames[i]
					name, m := set.Locate(f.LookupPC(), nil)[0].Func, set.At(f.LookupPC())
					if name != want.name || f.Method != want.method || f.Trust != want.trust || m.Path != jitName || (f.Module != nil) != want.tables {
						t.Errorf("%s, type %d, frame %d: got %s by %v, %v, in %q, want %+v", a.Name, typ, i, name, f.Method, f.Trust, m.Path, want)
					}
				}
				if p := set.Problems(); len(p) > 0 {
					t.Errorf("%s, type %d: got problems %v", a.Name, typ, p)
				}
				if mods := slices.Collect(set.All()); len(mods) != 4 || mods[1].Path != jitName || mods[1].Match != report.MatchMemory || len(mods[1].Tables.CFI) == 0 || mods[1].Lo != jitText+0x100 {
					t.Errorf("%s, type %d: got modules %+v", a.Name, typ, mods)
				}
			}
		}
	}
}

// An image may have .sframe, which is believed no more than other tables.
func TestJITSFrame(t *testing.T) {
	const at = jitHeap + 0x800
	p := newJITProcess(arch.AMD64)
	row := arch.Row{CFA: arch.RegOffset(p.arch.SP, jitFrame), RA: arch.AtCFA(-8), FP: arch.SameValue(p.arch.FP)}
	b := sframe.Builder{Version: sframe.V3, ABI: sframe.AMD64LE, FixedRA: -8, Funcs: []sframe.FuncRows{
		{Start: jitText, Size: 64, Rows: []sframe.RowAt{{At: 0, Row: row}}},
	}}
	data, err := b.Append(nil, at)
	if err != nil {
		t.Fatal(err)
	}
	e := p.image(elfx.TypeRel, "leaf", jitText, 64, false)
	e.Sections = append(e.Sections, testkit.ELFSection{Name: ".sframe", Type: elfx.SectGNUSFrame, Flags: elfx.SectAlloc, Addr: at, Data: data, Align: 8})
	p.register(e)
	copy(p.stack[jitFrame-8:], p.order.AppendUint64(nil, p.call(jitText+32)))
	set := p.set(t)
	th := &set.img.Threads[0]
	th.Regs.Set(p.arch.PC, jitText+8)
	th.Regs.Set(p.arch.SP, jitStack)
	frames, stop := walk(set)
	if len(frames) < 2 || frames[1].Method != unwind.SFrame || frames[1].Trust != unwind.Checked || frames[1].PC != jitText+34 {
		t.Errorf("got %+v, %v", frames, stop)
	}
}

// An image may have .debug_frame, and the work on its debug information is bounded by its
// size.
func TestJITDebugFrame(t *testing.T) {
	p := newJITProcess(arch.AMD64)
	e := p.image(elfx.TypeExec, "f", jitText+0x100, 0x40, false)
	b := testkit.New(binary.LittleEndian).Diff(4, "cie end", "cie", 0).Mark("cie").D32(^uint32(0)).D8(1, 0).ULEB(1).SLEB(-8).D8(16).D8(0x0c, 7, 8).Align(8).Mark("cie end")
	b.Diff(4, "fde end", "fde", 0).Mark("fde").D32(0).D64(jitText+0x100, 0x40).Align(8).Mark("fde end")
	e.Sections = append(e.Sections, testkit.ELFSection{Name: ".debug_frame", Type: elfx.SectProgbits, Data: b.Done(), Align: 8})
	p.register(e)
	s := p.set(t)
	m := s.At(jitText + 0x100)
	if m == nil || len(m.Tables.CFI) != 1 || len(s.Problems()) != 0 {
		t.Fatalf("got %+v, %v", m, s.Problems())
	}
	if want := 64 * len(p.images[0]); m.names.work != want {
		t.Errorf("got work of %d, want %d", m.names.work, want)
	}
}

// The list of a program whose symbols are in a debug file is found there, unless that file
// might have to be fetched.
func TestJITInDebugFile(t *testing.T) {
	for _, fetch := range []bool{false, true} {
		p := newJITProcess(arch.AMD64)
		p.register(p.image(elfx.TypeRel, "good", jitText+0x100, 0x40, true))
		s := p.set(t)
		m := s.sites[0].open()
		debug := *m.names.image
		m.names.image = parsed(t, withID("").File())
		m.names.debug = func() *debugFile { return &debugFile{&debug, "debug"} }
		if fetch {
			s.opts.Debuginfod = &debuginfod.Client{}
		}
		want := "[jit] good+0"
		if fetch {
			want = ""
		}
		if got := funcAt(s, jitText+0x100); got != want {
			t.Errorf("may be fetched: %v: got %q, want %q", fetch, got, want)
		}
	}
}

// withoutHeap is memory that lacks what only a live process has.
type withoutHeap struct{ memreader.Reader }

func (m withoutHeap) ReadMem(p []byte, addr uint64) (int, error) {
	if addr-jitHeap < 0x100_0000 {
		return 0, &memreader.FaultError{Addr: addr, Why: memreader.NotCopied}
	}
	return m.Reader.ReadMem(p, addr)
}

// What images say is used where it can be true, and otherwise told.
func TestJITHostile(t *testing.T) {
	const good = jitText + 0x100
	tests := []struct {
		name    string
		change  func(*jitProcess)
		at      uint64
		want    string
		problem string
	}{
		{"none", func(*jitProcess) {}, good + 4, "[jit] good+4", ""},
		{"beside it", func(*jitProcess) {}, good + 0x40, "", ""},
		{"cycle", func(p *jitProcess) { p.last = jitHeap }, good, "[jit] good+0", "/program: __jit_debug_descriptor: the list leads back"},
		{"nowhere", func(p *jitProcess) { p.last = 0x1000 }, good, "[jit] good+0", "memory at 0x1010: not mapped"},
		{"no image", func(p *jitProcess) { p.images = append(p.images, []byte("not an image at all")) }, good, "[jit] good+0", "registered 1 images that cannot be used, or only in part; the first is at 0x10000013"},
		{"empty image", func(p *jitProcess) { p.images = append(p.images, nil) }, good, "[jit] good+0", "the file is empty"},
		{"another machine", func(p *jitProcess) {
			e := p.image(elfx.TypeRel, "other", jitText+0x200, 16, true)
			e.Machine++
			p.register(e)
		}, jitText + 0x200, "", "another machine"},
		{
			"in a module", func(p *jitProcess) { p.register(p.image(elfx.TypeExec, "forged", jitProgram+0x1000, 0x100, true)) },
			jitProgram + 0x1000, "/program main+0", "runs of code that are not used because they are not in executable memory outside all modules; the first is 0x401000 to 0x401100",
		},
		{"in data", func(p *jitProcess) { p.register(p.image(elfx.TypeExec, "forged", jitStack, 0x100, true)) }, jitStack, "", "0x3000000000 to 0x3000000100"},
		{"beyond", func(p *jitProcess) { p.register(p.image(elfx.TypeExec, "forged", jitText+0x200, jitTextSize, true)) }, jitText + 0x200, "", "not in executable memory outside all modules"},
		{"to the end of the address space", func(p *jitProcess) {
			p.register(p.image(elfx.TypeExec, "forged", jitText+0x200, ^uint64(0), true))
		}, good, "[jit] good+0", "not in executable memory outside all modules"},
		{"older, overlapping", func(p *jitProcess) { p.register(p.image(elfx.TypeRel, "old", good-0x10, 0x40, true)) }, good, "[jit] good+0", "not used because newer code replaced them; the first is 0x20000000f0 to 0x2000000130"},
		{"newer, overlapping", func(p *jitProcess) {
			p.images = slices.Insert(p.images, 0, p.image(elfx.TypeRel, "new", good-0x10, 0x40, true).File())
		}, good, "[jit] new+16", "0x2000000100 to 0x2000000140"},
		{"same image twice", func(p *jitProcess) { p.images = append(p.images, p.images[0]) }, good, "[jit] good+0", "newer code"},
		{"not loaded", func(p *jitProcess) { p.register(p.image(elfx.TypeRel, "unplaced", 0, 0x40, true)) }, good, "[jit] good+0", ""},
		{"damaged tables", func(p *jitProcess) {
			image := p.image(elfx.TypeRel, "damaged", jitText+0x200, 0x40, true).File()
			f, err := elfx.Parse(image)
			if err != nil {
				panic(err)
			}
			const ehFrame, shSize = 2, 32
			f.ByteOrder().PutUint64(image[f.ByteOrder().Uint64(image[40:])+ehFrame*64+shSize:], 1<<40)
			p.images = append(p.images, image)
		}, jitText + 0x200, "[jit] damaged+0", "[jit]: ELF: sh_size at offset"},
		{"compressed", func(p *jitProcess) {
			e := p.image(elfx.TypeRel, "packed", jitText+0x200, 0x40, true)
			e.Sections[1].Flags |= elfx.SectCompressed
			p.register(e)
		}, jitText + 0x200, "", "[jit]: section .eh_frame of a registered image is compressed"},
		{"compressed file", func(p *jitProcess) {
			e := p.image(elfx.TypeRel, "packed", jitText+0x200, 0x40, true)
			e.Sections[1].Name = ".gnu_debugdata"
			p.register(e)
		}, jitText + 0x200, "", "[jit]: section .gnu_debugdata of"},
	}
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		for _, tt := range tests {
			t.Run(a.Name+"/"+tt.name, func(t *testing.T) {
				p := newJITProcess(a)
				p.register(p.image(elfx.TypeRel, "good", good, 0x40, true))
				tt.change(p)
				set := p.set(t)
				if got := funcAt(set, tt.at); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				set.Locate(good, nil) // nothing is looked for before code is met that is in no module
				var problems string
				for _, err := range set.Problems() {
					problems += err.Error() + "\n"
				}
				if !strings.Contains(problems, tt.problem) || (problems == "") != (tt.problem == "") {
					t.Errorf("got problems %q, want %q", problems, tt.problem)
				}
			})
		}
	}
}

// Images that are too large for all of them to be read are told.
func TestJITTooLarge(t *testing.T) {
	p := newJITProcess(arch.AMD64)
	p.register(p.image(elfx.TypeRel, "good", jitText, 0x40, true))
	f := jitFinder{set: p.set(t)}
	f.mem, f.allowed = f.set.mem, f.set.generatedCode()
	for i, e := range []jit.Entry{
		{Addr: jitImages, Size: uint64(len(p.images[0]))}, {Addr: jitImages, Size: 256 << 20}, {Addr: jitImages, Size: ^uint64(0)},
	} {
		if err := f.add(e); (err == nil) != (i == 0) || i > 0 && !strings.Contains(err.Error(), "limit") {
			t.Errorf("image %d: got %v", i, err)
		}
	}
	f.code = make([]jit.Run[*site], 1<<20)
	if err := f.add(jit.Entry{Addr: jitImages, Size: uint64(len(p.images[0]))}); err == nil || len(f.code) != 1<<20 || err.Error() != "there are more runs of code than the limit of 1048576" {
		t.Errorf("got %v, and %d runs of code", err, len(f.code))
	}
}

// Places do not overlap, and say of each address what the place around it does.
func TestJITPlaces(t *testing.T) {
	p := newJITProcess(arch.AMD64)
	for i := range uint64(3) {
		p.register(p.image(elfx.TypeRel, fmt.Sprint("f", i), jitText+0x100+i*0x80, 0x40, i != 1))
	}
	set := p.set(t)
	end := uint64(jitText)
	for at := uint64(jitText); at < jitText+jitTextSize; at = end {
		place := set.Place(at)
		if place.Lo != end || place.Hi <= at || !place.Executable {
			t.Fatalf("at %#x: got %+v after %#x", at, place, end)
		}
		if last := set.Place(place.Hi - 1); last != place {
			t.Errorf("got %+v at the end of %+v", last, place)
		}
		end = place.Hi
	}
	for addr, want := range map[uint64]bool{jitText: false, jitText + 0x100: true, jitText + 0x13f: true, jitText + 0x140: false, jitText + 0x180: false, jitText + 0x200: true} {
		if got := set.Place(addr).Module != nil; got != want {
			t.Errorf("at %#x: got tables %v, want %v", addr, got, want)
		}
	}
}

// A stack that does not leave the modules costs nothing.
func TestJITNotLookedFor(t *testing.T) {
	p := newJITProcess(arch.AMD64)
	p.register(p.image(elfx.TypeRel, "good", jitText, 0x40, true))
	set := p.set(t)
	th := &set.img.Threads[0]
	th.Regs.Set(set.img.Arch.PC, jitProgram+0x1010)
	th.Regs.Set(set.img.Arch.SP, jitStack)
	frames, _ := walk(set)
	for i := range frames {
		set.Locate(frames[i].LookupPC(), nil)
	}
	if set.Locate(jitHeap, nil); set.jit.code != nil {
		t.Error("the list was read")
	}
	if set.Locate(jitText, nil); set.jit.code == nil {
		t.Error("the list was not read")
	}
}

// TestGeneratedCode has the executable memory outside all modules, in one piece where
// mappings follow on each other.
func TestGeneratedCode(t *testing.T) {
	foreign, module := &site{}, &site{}
	foreign.once.Do(func() { foreign.module = &Module{Files: Files{Foreign: true}} })
	module.once.Do(func() { module.module = &Module{} })
	s := &Set{spans: []span{
		{0x1000, 0x2000, true, nil},
		{0x2000, 0x3000, true, foreign},
		{0x3000, 0x4000, true, module},
		{0x4000, 0x5000, false, nil},
		{0x5000, 0x6000, true, nil},
		{0x7000, 0x8000, true, nil},
	}}
	want := []unwind.Range{{Lo: 0x1000, Hi: 0x3000}, {Lo: 0x5000, Hi: 0x6000}, {Lo: 0x7000, Hi: 0x8000}}
	if got := s.generatedCode(); !slices.Equal(got, want) {
		t.Errorf("got %#x, want %#x", got, want)
	}
	for addr, want := range map[uint64]uint64{0xfff: 0, 0x1000: 0x1000, 0x1fff: 0x1000, 0x2000: 0x2000, 0x5fff: 0x5000, 0x6000: 0, 0x7fff: 0x7000, 0x8000: 0} {
		got := uint64(0)
		if p := s.spanOf(addr); p != nil {
			got = p.lo
		}
		if got != want {
			t.Errorf("%#x: got the part at %#x, want %#x", addr, got, want)
		}
	}
}

// Of problems of a kind, the first is kept.
func TestTally(t *testing.T) {
	var c tally
	for i := range 3 {
		c.add("problem %d", i)
	}
	if c.n != 3 || c.first.Error() != "problem 0" {
		t.Errorf("got %+v", c)
	}
}

// TestJITSpan has where an image is that has several runs of code.
func TestJITSpan(t *testing.T) {
	p := newJITProcess(arch.AMD64)
	e := p.image(elfx.TypeExec, "f", jitText+0x100, 0x40, false)
	for i, at := range []uint64{0x300, 0x200} {
		e.Sections = append(e.Sections, testkit.ELFSection{
			Name: fmt.Sprint(".text.", i), Type: elfx.SectNobits, Flags: elfx.SectAlloc | elfx.SectExec, Addr: jitText + at, NobitsSize: 0x40,
		})
	}
	p.register(e)
	s := p.set(t)
	for _, at := range []uint64{0x100, 0x13f, 0x200, 0x33f} {
		if m := s.At(jitText + at); m == nil || m.Lo != jitText+0x100 || m.Hi != jitText+0x340 {
			t.Errorf("%#x: got %+v", at, m)
		}
	}
	for _, at := range []uint64{0xff, 0x140, 0x1ff, 0x340} {
		if m := s.At(jitText + at); m != nil {
			t.Errorf("%#x: got %+v", at, m)
		}
	}
}
