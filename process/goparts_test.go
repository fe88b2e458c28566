package process

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// A Go program that was moved begins where it is now. Its goroutines are not known if the
// version of Go is not.
func TestGoProgramMoved(t *testing.T) {
	const bias = 0x7000_0000_0000
	for _, debug := range []bool{true, false} {
		exe := testkit.ELF{Order: binary.LittleEndian, Type: 3, Machine: arch.EMX86_64, Base: 0x10000, Sections: []testkit.ELFSection{
			{Name: ".text", Type: 1, Flags: 6, Addr: 0x11000, Data: make([]byte, 0x1000), Align: 0x1000},
			{Name: ".gopclntab", Type: 1, Flags: 2, Addr: 0x12000, Data: make([]byte, 0x100), Align: 0x1000},
		}}
		if debug {
			dwarf := testkit.DWARF{Order: binary.LittleEndian, Text: partsUnit}
			exe.Sections = append(exe.Sections, dwarf.Sections()...)
		}
		data := exe.File()
		binary.LittleEndian.PutUint64(data[24:], 0x11010) // e_entry
		name := filepath.Join(t.TempDir(), "exe")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		const lo = bias + 0x10000
		p := New(&core.Image{
			Arch: arch.AMD64, Mem: memreader.NewSpace([]memreader.Segment{{Addr: lo, Size: 0x1000, Data: data[:0x1000]}}),
			Mappings: []core.Mapping{{Lo: lo, Hi: lo + 0x4000, Path: name, Exec: true}},
		}, Options{})
		t.Cleanup(func() { p.Close() })
		if got, ok := p.GoProgram(); !ok || got != (GoProgram{File: name, HasDebug: debug, Entry: bias + 0x11010}) {
			t.Errorf("got %+v, %v", got, ok)
		}
		if all, err := p.Goroutines(); all != nil || err == nil || err.Error() != "the version of Go that built the program is unknown" {
			t.Errorf("got %v", err)
		}
		if fn, ok := p.GoFunction(bias + 0x11010); ok {
			t.Errorf("got the function from %#x of a table that is damaged", fn.Entry)
		}
	}
}

// TestWritable has the segments of a program that hold variables.
func TestWritable(t *testing.T) {
	const read, write, exec = 4, elfx.ProgWrite, 1
	got := writable([]elfx.Prog{
		{Type: elfx.ProgLoad, Flags: read | exec, Vaddr: 0x1000, Memsz: 1},
		{Type: elfx.ProgLoad, Flags: read | write, Vaddr: 0x2000, Memsz: 2, Filesz: 1},
		{Type: elfx.ProgDynamic, Flags: read | write, Vaddr: 0x2000, Memsz: 3},
		{Type: elfx.ProgNote, Flags: read},
		{Type: elfx.ProgLoad, Flags: read | write | exec, Vaddr: 0x4000, Memsz: 4},
	}, 0x50000)
	want := []memreader.Segment{{Addr: 0x52000, Size: 2}, {Addr: 0x54000, Size: 4}}
	if !slices.EqualFunc(got, want, func(a, b memreader.Segment) bool { return a.Addr == b.Addr && a.Size == b.Size }) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
