package target

import (
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/unwind"
)

// findTables opens the unwind tables of the module's image, by section or,
// where there are no section headers, by program header.
func (m *Module) findTables() {
	if m.Main || m.linker() {
		m.unwind.Entry = m.image.Entry + m.Bias
	}
	if m.findSFrame(); m.unwind.SFrame == nil {
		m.findSidecar()
	}
	m.findEHFrame()
	m.findDebugFrame()
	for _, name := range []string{".got", ".got.plt"} {
		if s := m.image.Section(name); s != nil {
			m.unwind.Slots = append(m.unwind.Slots, unwind.Range{Lo: s.Addr + m.Bias, Hi: s.Addr + m.Bias + s.Size})
		}
	}
	table, err := symbol.GoTable(m.image, m.Bias)
	if err != nil {
		m.problem("%s: %w", m.Path, err)
	}
	m.unwind.Go = table
}

func (m *Module) findSFrame() {
	data, addr := m.table(".sframe", elfx.ProgGNUSFrame)
	if len(data) == 0 {
		return
	}
	s, err := sframe.Parse(data, addr, sframe.Options{Machine: m.image.Machine})
	if err != nil {
		m.problem("%s: %w", m.Path, err)
		return
	}
	m.unwind.SFrame = s
}

// linker reports whether the module is the dynamic linker, in which the process
// begins, and which initialises libraries from there.
func (m *Module) linker() bool {
	base, ok := m.target.img.Auxv.Get(core.ATBase)
	return ok && base != 0 && base == m.Lo
}

// table returns the contents of a section, or of the segment of a type that
// stands for it, and its address in the process.
func (m *Module) table(section string, prog uint32) ([]byte, uint64) {
	f := m.image
	if s := f.Section(section); s != nil {
		data, err := f.SectionData(s)
		if err != nil {
			m.problem("%s: %w", m.Path, err)
		}
		return data, s.Addr + m.Bias
	}
	p := f.Prog(prog)
	switch {
	case prog == 0 || p == nil:
		return nil, 0
	case f == m.memory:
		return m.inMemory(p), p.Vaddr + m.Bias
	}
	return f.SegmentData(p), p.Vaddr + m.Bias
}

func (m *Module) findEHFrame() {
	hdr, hdrAddr := m.table(".eh_frame_hdr", elfx.ProgGNUEHFrame)
	data, addr := m.table(".eh_frame", 0)
	if data == nil && len(hdr) > 0 {
		at, err := cfi.FrameAddr(m.target.img.Arch, hdr, hdrAddr)
		if err != nil {
			m.problem("%s: %w", m.Path, err)
			return
		}
		addr = at
		data = m.image.At(at - m.Bias)
	}
	if len(data) == 0 {
		return
	}
	s, err := cfi.ParseEHFrame(m.target.img.Arch, data, addr, hdr, hdrAddr, m.bases())
	if err != nil {
		m.problem("%s: %w", m.Path, err)
		return
	}
	m.unwind.CFI = append(m.unwind.CFI, s)
}

// bases are what text- and data-relative pointers in .eh_frame are relative to:
// the code and the global offset table.
func (m *Module) bases() cfi.Bases {
	var b cfi.Bases
	if s := m.image.Section(".text"); s != nil {
		b.Text = s.Addr + m.Bias
	}
	if s := m.image.Section(".got"); s != nil {
		b.Data = s.Addr + m.Bias
	}
	return b
}

func (m *Module) findDebugFrame() {
	for _, f := range []*elfx.File{m.image, m.debug} {
		if f == nil {
			continue
		}
		s := f.Section(".debug_frame")
		if s == nil {
			continue
		}
		data, err := f.SectionData(s)
		if err != nil {
			m.problem("%s: %w", m.Path, f.Named(err))
		}
		if len(data) == 0 {
			continue
		}
		section, err := cfi.ParseDebugFrame(m.target.img.Arch, data, m.Bias)
		if err != nil {
			m.problem("%s: %w", m.Path, f.Named(err))
			continue
		}
		m.unwind.CFI = append(m.unwind.CFI, section)
		return
	}
}

func flagNames(f sframe.Flags) []string {
	names := []string{}
	for _, n := range []struct {
		flag sframe.Flags
		name string
	}{{sframe.FDESorted, "sorted"}, {sframe.FramePointer, "frame-pointer"}, {sframe.FuncStartPCRel, "pcrel"}} {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

func reportSFrame(s *sframe.Section) *report.SFrame {
	var r report.SFrame
	tables := 0
	for t, err := range s.Tables() {
		if err != nil {
			if r.Problem == "" {
				r.Problem = err.Error()
			}
			continue
		}
		if tables++; tables == 1 {
			r.Version, r.Flags = int(t.Version), flagNames(t.Flags)
		}
		r.Functions += uint64(t.NumFDEs)
	}
	if tables > 1 {
		r.Tables = tables
	}
	return &r
}
