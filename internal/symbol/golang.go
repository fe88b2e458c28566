package symbol

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// GoTable returns Go's table of functions in an image, with link-time
// addresses plus bias; nil if it has none.
func GoTable(f *elfx.File, bias uint64) (*pclntab.Table, error) {
	return openGoTable(f, &relocations{file: f}, bias)
}

func openGoTable(f *elfx.File, relas *relocations, bias uint64) (*pclntab.Table, error) {
	s := goSection(f)
	if s == nil {
		return nil, nil
	}
	data, damage := f.SectionData(s)
	t, err := pclntab.Parse(data, f.ByteOrder())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, errors.Join(damage, err))
	}
	if t.Relative() {
		bias += goText(f, relas, s, data)
	}
	return t.At(bias), damage
}

// goSection returns the section of Go's table of functions; nil if there is none.
func goSection(f *elfx.File) *elfx.Section {
	if s := f.Section(".gopclntab"); s != nil {
		return s
	}
	return f.Section(".data.rel.ro.gopclntab")
}

// addGo adds what Go's table knows about addr: the name if there is none, and
// the line and the inlined calls if the table means the same function. It returns
// the locations, the innermost first.
func (o *Object) addGo(addr uint64, loc Location) []Location {
	if g := o.golang(); g != nil {
		f, ok := g.Find(addr)
		if ok && loc.Func == "" {
			loc = Location{Func: string(f.Name()), Offset: addr - f.Entry, From: FromGopclntab}
		}
		if ok && loc.Offset == addr-f.Entry {
			loc.File, loc.Line = f.Line(addr)
			calls := f.Inlined(addr, nil)
			o.problem(g.Problem())
			return withInlined(loc, calls)
		}
	}
	if loc.Func == "" {
		return nil
	}
	return []Location{loc}
}

// withInlined returns the location of a function after those of the calls that are
// inlined there. The last of calls is the function itself.
func withInlined(loc Location, calls []pclntab.Call) []Location {
	var locs []Location
	for i := range calls {
		c := &calls[i]
		if i == len(calls)-1 {
			loc.File, loc.Line = c.File, c.Line
			break
		}
		locs = append(locs, Location{Func: string(c.Func), File: c.File, Line: c.Line, From: FromGopclntab, Inlined: true})
	}
	return append(locs, loc)
}

// Offsets in the runtime's module data, in bytes, from Go 1.20 to 1.26
// [src/runtime/symtab.go: moduledata].
const (
	moduleNames    = 8 // the first word is the address of the table of functions
	moduleFuncData = 320
)

// maxModuleData bounds the variables that are searched for the module data, in bytes.
const maxModuleData = 64 << 20

// goFuncData returns what Go's table refers to for inlined calls; nil if that was not
// found. The module data says where it is. In turn, that begins with the addresses of
// the table, at table, and of the names in it.
func goFuncData(f *elfx.File, relas *relocations, table uint64, t *pclntab.Table) []byte {
	word := func(addr uint64) uint64 {
		if data := f.At(addr); len(data) >= 8 {
			return pointer(f, relas, addr, data)
		}
		return 0
	}
	var found []byte
	try := func(module uint64) bool {
		if word(module+moduleNames) == table+t.Names() {
			if at := word(module + moduleFuncData); at != 0 { // 0 where memory ends before it
				found = f.At(at)
			}
		}
		return found != nil
	}
	order, left := f.ByteOrder(), maxModuleData
	for _, name := range []string{".go.module", ".noptrdata", ".data"} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		data, _ := f.SectionData(s)
		data = data[:min(len(data), left)]
		left -= len(data)
		for i := 0; i+8 <= len(data); i += 8 {
			if order.Uint64(data[i:]) == table && try(s.Addr+uint64(i)) {
				return found
			}
		}
	}
	tries := 0
	relas.each(func(at uint64, x rela) bool {
		if x.addend == table {
			tries++
			return !try(at) && tries < maxReads
		}
		return true
	})
	return found
}

// goText returns the link-time address of runtime.text. Go 1.18 to 1.25 keep
// it in the header; later ones only in the module data, which begins .go.module.
// In a position-independent image, both are filled in by relocations.
func goText(f *elfx.File, relas *relocations, s *elfx.Section, header []byte) uint64 {
	const textStart = 8 + 2*8
	if text := pointer(f, relas, s.Addr+textStart, header[textStart:]); text != 0 {
		return text
	}
	if m := f.Section(".go.module"); m != nil {
		const text = 22 * 8
		if data, _ := f.SectionData(m); len(data) >= text+8 {
			if p := pointer(f, relas, m.Addr+text, data[text:]); p != 0 {
				return p
			}
		}
	}
	if t := f.Section(".text"); t != nil {
		return t.Addr
	}
	return 0
}

// pointer returns the pointer at a link-time address, where the file holds b.
func pointer(f *elfx.File, relas *relocations, addr uint64, b []byte) uint64 {
	if p := f.ByteOrder().Uint64(b); p != 0 {
		return p
	}
	r, _ := relas.at(addr)
	return r.addend
}

// GoVersion returns the version of Go that built an image, as "go1.26.1"; "" if the
// image does not have it, or if it is older than Go 1.18
// [src/debug/buildinfo/buildinfo.go].
func GoVersion(f *elfx.File) string {
	const (
		magic  = "\xff Go buildinf:"
		flags  = 15
		inline = 2 // the version follows
		header = 32
	)
	s := f.Section(".go.buildinfo")
	if s == nil {
		return ""
	}
	data, _ := f.SectionData(s)
	if len(data) < header || string(data[:len(magic)]) != magic || data[flags]&inline == 0 {
		return ""
	}
	size, n := binary.Uvarint(data[header:])
	if n <= 0 || size > uint64(len(data)-header-n) || size > maxGoVersion {
		return ""
	}
	return string(data[header+n:][:size])
}

// maxGoVersion bounds the version of Go, in bytes. It may name experiments.
const maxGoVersion = 256
