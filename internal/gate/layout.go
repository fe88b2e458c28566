package gate

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
)

// FileMeanings describes the findings about how a file holds its section, which are
// notes unless the file is linked and its readers do not find the section.
var FileMeanings = map[string]string{
	"sections-several": "several sections hold SFrame data; sfcore reads only the first",
	"section-name":     "the section is not called .sframe; its type says that it holds SFrame data, or its name is that of CTF Frame",
	"section-type-old": "the type of the section is SHT_PROGBITS, as binutils up to 2.44 writes it, not SHT_GNU_SFRAME",
	"segment-missing":  "a linked file has no PT_GNU_SFRAME segment, without which the section is not found at run time; lld writes none",
	"segment-size":     "PT_GNU_SFRAME and the section differ in size; GNU ld keeps the size from before merging",
	"segment-address":  "PT_GNU_SFRAME and the section have different addresses",
}

// FileFindings returns oddities in the way a module's file holds its section. Their
// offset is that of the section's first byte.
func FileFindings(m *module.Module) []sframe.Finding {
	f := m.Image()
	s := f.SFrameSection()
	if s == nil || m.Files.Sidecar != "" {
		return nil
	}
	var list []sframe.Finding
	add := func(id, field, format string, args ...any) {
		list = append(list, sframe.Finding{Severity: sframe.Note, FormatError: sframe.FormatError{
			ID: id, Field: field, Msg: fmt.Sprintf(format, args...),
		}})
	}
	if n := len(f.SFrameSections()); n > 1 {
		add("sections-several", "sh_type", "%d sections; the first is %s at %#x", n, s.Name, s.Addr)
	}
	if s.Name != ".sframe" {
		add("section-name", "sh_name", "%s", s.Name)
	}
	if s.Type == elfx.SectProgbits {
		add("section-type-old", "sh_type", "SHT_PROGBITS")
	}
	p := f.Prog(elfx.ProgGNUSFrame)
	switch {
	case f.Type != elfx.TypeExec && f.Type != elfx.TypeDyn:
	case p == nil:
		add("segment-missing", "p_type", "no PT_GNU_SFRAME")
	case p.Vaddr != s.Addr:
		add("segment-address", "p_vaddr", "%#x, but the section is at %#x", p.Vaddr, s.Addr)
	case p.Filesz != s.Size:
		add("segment-size", "p_filesz", "%d, but the section has %d bytes", p.Filesz, s.Size)
	}
	return list
}

// SectionFindings returns what is wrong with a module's section by the format. ok is
// false if the module has no section.
func SectionFindings(m *module.Module) (list []sframe.Finding, ok bool) {
	if s := m.Tables.SFrame; s != nil {
		return s.Validate(), true
	}
	for _, p := range m.Problems() {
		if format := (*sframe.FormatError)(nil); errors.As(p, &format) {
			return []sframe.Finding{format.Finding()}, true
		}
	}
	return nil, false
}

// format adds what is wrong by the format, and how the file holds the section.
func (e *examination) format() {
	list, _ := SectionFindings(e.module)
	for _, f := range append(FileFindings(e.module), list...) {
		severity := f.Severity
		if hides(f.ID, e.Kind) {
			severity = sframe.Error
		}
		e.add(Finding{ID: f.ID, Severity: severity, Field: f.Field, Off: f.Off, Msg: f.Msg})
	}
}

// hides reports whether a finding is an error in a file of this kind, since most readers
// do not find all functions: the kernel patches, glibc and libsframe read one sorted
// table, which PT_GNU_SFRAME leads to. The kernel finds its own table by a symbol, and
// sorts that of a module when it loads it.
func hides(id string, k Kind) bool {
	switch id {
	case "sections-several", "tables-unmerged", "versions-mixed":
		return k != Object
	case "unsorted":
		return k.Final()
	case "segment-missing", "segment-address":
		return k.Linked()
	}
	return false
}

// layout adds findings that the bytes of the section do not show.
func (e *examination) layout() {
	sects := e.image.SFrameSections()
	for _, s := range sects {
		switch {
		case s.Size == 0 && e.Kind.Final():
			e.found("section-empty", "sh_size", "section %s has no bytes, although the file is linked", s.Name)
		case s.Size == 0:
			e.found("section-empty-object", "sh_size", "section %s has no bytes", s.Name)
		case e.Kind == Object:
		case s.Flags&elfx.SectAlloc == 0:
			e.found("section-not-loaded", "sh_flags", "section %s has no SHF_ALLOC", s.Name)
		case e.Kind.Final() && !loaded(e.image, s):
			e.found("section-not-loaded", "sh_addr", "section %s is at %#x, which no PT_LOAD covers", s.Name, s.Addr)
		}
	}
	if p := e.image.Prog(elfx.ProgGNUSFrame); p != nil && len(sects) > 0 && p.Vaddr == sects[0].Addr && p.Filesz < sects[0].Size {
		e.found("segment-short", "p_filesz", "PT_GNU_SFRAME has %d bytes, the section %d", p.Filesz, sects[0].Size)
	}
	// Without its section headers, a file does not tell whether it has .sframe.
	_, unlisted := e.image.Sections()
	for _, p := range e.module.Problems() {
		switch format, ok := errors.AsType[*elfx.FormatError](p); {
		case !ok || !e.HasSFrame && unlisted == nil:
		case format.Field == "r_info":
			e.found("relocation-unusable", format.Field, "%s", format.Msg)
		default:
			e.found("file-damaged", format.Field, "%s: %s", format.Field, format.Msg)
		}
	}
}

// loaded reports whether a segment loads all of a section.
func loaded(f *elfx.File, s *elfx.Section) bool {
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type == elfx.ProgLoad && s.Addr >= p.Vaddr && s.Addr-p.Vaddr <= p.Filesz && s.Size <= p.Filesz-(s.Addr-p.Vaddr) {
			return true
		}
	}
	return false
}
