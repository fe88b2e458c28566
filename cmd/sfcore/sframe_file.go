package main

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
)

// fileMeanings are the findings about how a file holds its section, which are
// all notes.
var fileMeanings = map[string]string{
	"section-type-old": "the section has type SHT_PROGBITS, as from binutils up to 2.44, not SHT_GNU_SFRAME",
	"segment-missing":  "a linked file has no PT_GNU_SFRAME segment; lld makes none, and without one nothing is found at run time",
	"segment-size":     "PT_GNU_SFRAME and the section differ in size; GNU ld leaves the size from before merging",
	"segment-address":  "PT_GNU_SFRAME and the section differ in address",
}

// fileFindings returns what is odd in how a module's file holds its own
// section. Offsets are those of the section's first byte.
func fileFindings(m *module.Module) []sframe.Finding {
	f := m.Image()
	s := f.Section(".sframe")
	if s == nil || m.Files.Sidecar != "" {
		return nil
	}
	var list []sframe.Finding
	add := func(id, field, format string, args ...any) {
		list = append(list, sframe.Finding{Severity: sframe.Note, FormatError: sframe.FormatError{
			ID: id, Field: field, Msg: fmt.Sprintf(format, args...),
		}})
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
		add("segment-address", "p_vaddr", "%#x, where the section is at %#x", p.Vaddr, s.Addr)
	case p.Filesz != s.Size:
		add("segment-size", "p_filesz", "%d, where the section has %d bytes", p.Filesz, s.Size)
	}
	return list
}
