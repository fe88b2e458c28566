package main

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
)

// fileMeanings describes the findings about how a file holds its section. All
// of them are notes.
var fileMeanings = map[string]string{
	"sections-several": "several sections hold SFrame data; sfcore reads only the first",
	"section-name":     "the section is not called .sframe; its type says that it holds SFrame data, or its name is that of CTF Frame",
	"section-type-old": "the type of the section is SHT_PROGBITS, as binutils up to 2.44 writes it, not SHT_GNU_SFRAME",
	"segment-missing":  "a linked file has no PT_GNU_SFRAME segment, without which the section is not found at run time; lld writes none",
	"segment-size":     "PT_GNU_SFRAME and the section differ in size; GNU ld keeps the size from before merging",
	"segment-address":  "PT_GNU_SFRAME and the section have different addresses",
}

// fileFindings returns oddities in the way a module's file holds its section. Their
// offset is that of the section's first byte.
func fileFindings(m *module.Module) []sframe.Finding {
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
