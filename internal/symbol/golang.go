package symbol

import (
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
	s := f.Section(".gopclntab")
	if s == nil {
		s = f.Section(".data.rel.ro.gopclntab")
	}
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

// addGo adds what Go's table knows about addr: the name if there is none, and
// the line if the table means the same function.
func (o *Object) addGo(addr uint64, loc *Location) {
	g := o.golang()
	if g == nil {
		return
	}
	f, ok := g.Find(addr)
	switch {
	case !ok:
		return
	case loc.Func == "":
		*loc = Location{Func: string(f.Name()), Offset: addr - f.Entry, From: FromGopclntab}
	case loc.Offset != addr-f.Entry:
		return
	}
	loc.File, loc.Line = f.Line(addr)
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
