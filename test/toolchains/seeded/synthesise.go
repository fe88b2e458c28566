package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/synth"
)

// write writes a kernel or module with .sframe to a directory.
func write(file, dir string) error {
	data, err := os.ReadFile(file) //nolint:gosec // the file that was named
	if err != nil {
		return err
	}
	e, err := elfx.Parse(data)
	if err != nil {
		return err
	}
	data, made, err := synthesise(file, e)
	if err != nil {
		return err
	}
	fmt.Printf("%s:%s\n", filepath.Base(file), made)
	return os.WriteFile(filepath.Join(dir, filepath.Base(file)), data, 0o600)
}

// orc are the ORC tables of a kernel: where they are, and the headers of their sections.
// .sframe takes the first one's section, and in a kernel the space of both.
type orc struct {
	first, second *elfx.Section
	headers       map[string][]byte // of all sections, by name
	indices       map[string]int
}

func findORC(e *elfx.File) (*orc, error) {
	t := &orc{e.Section(".orc_unwind_ip"), e.Section(".orc_unwind"), map[string][]byte{}, map[string]int{}}
	if t.first == nil || t.second == nil {
		return nil, errors.New("the file has no .sframe, and is no kernel with ORC tables")
	}
	if t.second.Off < t.first.Off {
		t.first, t.second = t.second, t.first
	}
	sects, err := e.Sections()
	for i := range sects {
		t.indices[sects[i].Name] = i
		t.headers[sects[i].Name] = e.Data[e.ByteOrder().Uint64(e.Data[40:])+uint64(i)*64:]
	}
	return t, err
}

// synthesise returns a kernel or module with .sframe in place of its ORC tables, and how
// that was made.
func synthesise(file string, e *elfx.File) (data []byte, made string, err error) {
	place, err := findORC(e)
	if err != nil {
		return nil, "", err
	}
	t, err := module.OpenFile(file, nil)
	if err != nil {
		return nil, "", err
	}
	defer t.Close()
	image, tables := t.Only().Image(), t.Only().Tables.CFI
	if len(tables) == 0 {
		return nil, "", errors.New("the file has no call frame information")
	}
	at := image.Section(place.first.Name).Addr
	section, result, err := synth.Section(t.Image().Arch, tables[0], sframe.V3, at)
	if err != nil {
		return nil, "", err
	}
	order := e.ByteOrder()
	header := place.headers[place.first.Name]
	order.PutUint32(header[4:], elfx.SectGNUSFrame)
	order.PutUint64(header[32:], uint64(len(section)))
	order.PutUint32(place.headers[place.second.Name][4:], elfx.SectNull)
	made = fmt.Sprintf(" .sframe made by synth of %d of %d FDEs:", result.Written, result.FDEs)
	if e.Type == elfx.TypeRel { // there are no segments: everything can be at the end
		relocations, err := relocate(e, image, place, section, at)
		if err != nil {
			return nil, "", err
		}
		order.PutUint64(header[24:], uint64(len(e.Data)))
		order.PutUint64(place.headers[relocationsOfORC][24:], uint64(len(e.Data)+len(section)))
		return append(append(e.Data, section...), relocations...), made, nil
	}
	if room := place.second.Off + place.second.Size - place.first.Off; uint64(len(section)) > room {
		return nil, "", fmt.Errorf("the ORC tables have %d bytes, .sframe takes %d", room, len(section))
	}
	copy(e.Data[place.first.Off:], section)
	return e.Data, made, nil
}

// relocationsOfORC is the section whose place the relocations of .sframe take.
const relocationsOfORC = ".rela.orc_unwind_ip"

// relocate returns a relocation for the start of each function of a module's .sframe, as
// assemblers write them. The image has the addresses that sfcore gives to sections.
func relocate(e, image *elfx.File, place *orc, section []byte, at uint64) ([]byte, error) {
	const pc64 = 24 // R_X86_64_PC64
	header := place.headers[relocationsOfORC]
	if header == nil {
		return nil, errors.New("the module has no relocations of ORC tables")
	}
	s, err := sframe.Parse(section, at, sframe.Options{})
	if err != nil {
		return nil, err
	}
	var table []byte
	sects, _ := image.Sections()
	symbols := sectionSymbols(e)
	for f, err := range s.Funcs() {
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(sects, func(c elfx.Section) bool {
			return c.Flags&elfx.SectExec != 0 && c.Addr <= f.Start && f.Start < c.Addr+c.Size
		})
		if i < 0 || symbols[i] == 0 {
			return nil, fmt.Errorf("the function at %#x is in no section with a symbol", f.Start)
		}
		for _, field := range []uint64{uint64(f.Off), symbols[i]<<32 | pc64, f.Start - sects[i].Addr} {
			table = binary.LittleEndian.AppendUint64(table, field)
		}
		clear(section[f.Off:][:8]) // the linker writes it
	}
	e.ByteOrder().PutUint64(header[32:], uint64(len(table)))
	e.ByteOrder().PutUint32(header[44:], uint32(place.indices[place.first.Name]))
	return table, nil
}

// sectionSymbols returns the indices of the symbols that stand for sections, by the
// indices of these.
func sectionSymbols(e *elfx.File) map[int]uint64 {
	const typeSection = 3
	found := map[int]uint64{}
	symtab := e.Section(".symtab")
	if symtab == nil {
		return found
	}
	table := e.Bytes(symtab.Off, symtab.Size)
	for i := uint64(0); (i+1)*elfx.SymSize <= uint64(len(table)); i++ {
		if sym := table[i*elfx.SymSize:]; sym[4]&15 == typeSection {
			found[int(e.ByteOrder().Uint16(sym[6:]))] = i
		}
	}
	return found
}
