package module

import (
	"sync"

	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/unwind"
)

// findTables opens the unwind tables of the module's image. It finds them by
// section, or by program header if there are no section headers.
func (l *loader) findTables(image *elfx.File) {
	t, bias := &l.m.Tables, l.site.bias
	if l.m.Main || l.site.linker() {
		t.Entry = image.Entry + bias
	}
	code := sync.OnceValue(image.Code)
	t.Section = func(addr uint64) string { return elfx.CodeName(code(), addr-bias) }
	if l.findSFrame(image); t.SFrame == nil {
		l.findSidecar()
	}
	l.findEHFrame(image)
	l.findDebugFrame()
	for _, name := range []string{".got", ".got.plt"} {
		if s := image.Section(name); s != nil {
			t.Slots = append(t.Slots, unwind.Range{Lo: s.Addr + bias, Hi: s.Addr + bias + s.Size})
		}
	}
	table, err := symbol.GoTable(image, bias)
	if err != nil {
		l.problem("%s: %w", l.m.Path, err)
	}
	t.Go = table
}

// linker reports whether the site is the dynamic linker. The process begins in its
// first function, from which it also initialises libraries.
func (s *site) linker() bool {
	base, ok := s.set.img.Auxv.Get(core.ATBase)
	return ok && base != 0 && base == s.lo
}

// table returns the contents of a section and its address in the process. If s is
// nil, the segment of type prog replaces it.
func (l *loader) table(f *elfx.File, s *elfx.Section, prog uint32) ([]byte, uint64) {
	bias := l.site.bias
	if s != nil {
		data, err := f.SectionData(s)
		if err != nil {
			l.problem("%s: %w", l.m.Path, err)
		}
		return data, s.Addr + bias
	}
	p := f.Prog(prog)
	switch {
	case prog == 0 || p == nil:
		return nil, 0
	case f == l.site.memory():
		return l.site.inMemory(p), p.Vaddr + bias
	}
	return f.SegmentData(p), p.Vaddr + bias
}

func (l *loader) findSFrame(image *elfx.File) {
	section := image.SFrameSection()
	data, addr := l.table(image, section, elfx.ProgGNUSFrame)
	if len(data) == 0 {
		return
	}
	if n := len(image.SFrameSections()); n > 1 {
		l.problem("%s: %d sections hold SFrame data; only the first, %s at %#x, is used", l.m.Path, n, section.Name, section.Addr)
	}
	s, err := l.parseSFrame(data, addr, section)
	if err != nil {
		l.problem("%s: %w", l.m.Path, err)
		return
	}
	l.m.Tables.SFrame = s
}

// parseSFrame decodes the contents of a section, which may be nil if only a segment
// says where they are.
func (l *loader) parseSFrame(data []byte, addr uint64, s *elfx.Section) (*sframe.Section, error) {
	opts := sframe.Options{Arch: l.site.set.img.Arch, CTFFrame: s != nil && s.Name == elfx.CTFFrameName}
	return sframe.Parse(data, addr, opts)
}

func (l *loader) findEHFrame(image *elfx.File) {
	a := l.site.set.img.Arch
	hdr, hdrAddr := l.table(image, image.Section(".eh_frame_hdr"), elfx.ProgGNUEHFrame)
	data, addr := l.table(image, image.Section(".eh_frame"), 0)
	if data == nil && len(hdr) > 0 {
		at, err := cfi.FrameAddr(a, hdr, hdrAddr)
		if err != nil {
			l.problem("%s: %w", l.m.Path, err)
			return
		}
		addr = at
		data = image.At(at - l.site.bias)
	}
	if len(data) == 0 {
		return
	}
	s, err := cfi.ParseEHFrame(a, data, addr, hdr, hdrAddr, bases(image, l.site.bias))
	if err != nil {
		l.problem("%s: %w", l.m.Path, err)
		return
	}
	l.m.Tables.CFI = append(l.m.Tables.CFI, s)
}

// bases returns the addresses of the code and of the global offset table. Text- and
// data-relative pointers in .eh_frame are relative to them.
func bases(image *elfx.File, bias uint64) cfi.Bases {
	var b cfi.Bases
	if s := image.Section(".text"); s != nil {
		b.Text = s.Addr + bias
	}
	if s := image.Section(".got"); s != nil {
		b.Data = s.Addr + bias
	}
	return b
}

func (l *loader) findDebugFrame() {
	n := l.m.names
	files := []*elfx.File{n.image}
	if d := n.local(); d != nil {
		files = append(files, d.File)
	}
	for _, f := range files {
		s := f.Section(".debug_frame")
		if s == nil {
			continue
		}
		data, err := f.SectionData(s)
		if err != nil {
			l.problem("%s: %w", l.m.Path, f.Named(err))
		}
		if len(data) == 0 {
			continue
		}
		section, err := cfi.ParseDebugFrame(l.site.set.img.Arch, data, l.site.bias)
		if err != nil {
			l.problem("%s: %w", l.m.Path, f.Named(err))
			continue
		}
		l.m.Tables.CFI = append(l.m.Tables.CFI, section)
		return
	}
}
