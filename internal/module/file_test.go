package module

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/report"
)

// TestOpenFile has files of each kind, and what is said of those that are not opened.
func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	machine := withID("")
	machine.Machine = 8
	core := withID("")
	core.Type = elfx.TypeCore
	object := withID("")
	object.Type = elfx.TypeRel
	unlinked := object.File()
	binary.LittleEndian.PutUint64(unlinked[40:], 1<<40) // e_shoff
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"text":    {[]byte("hello\n"), "FILE: ELF: e_ident at offset 0x0: this is a text file, not an ELF file"},
		"machine": {machine.File(), "FILE: e_machine 8 is not one of " + arch.Names()},
		"core":    {core.File(), "FILE: it is a core file"},
		"object":  {unlinked, "FILE: ELF: e_shoff at offset 0x28: 0x10000000000 is past the end of the file"},
		"missing": {nil, "open FILE: no such file or directory"},
	} {
		file := filepath.Join(dir, name)
		if tt.data != nil {
			write(t, dir, name, tt.data)
		}
		set, err := OpenFile(file, nil)
		if set != nil || err == nil || err.Error() != strings.ReplaceAll(tt.want, "FILE", file) {
			t.Errorf("%s: got %v, %v, want %s", name, set, err, tt.want)
		}
		if errors.Is(err, ErrCore) != (name == "core") || errors.Is(err, fs.ErrNotExist) != (name == "missing") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	testkit.Leaks(t, 100, func(int) {
		for _, name := range []string{"text", "machine", "core", "object"} {
			if _, err := OpenFile(filepath.Join(dir, name), nil); err == nil {
				t.Errorf("%s was opened", name)
			}
		}
	})
}

// TestOpenFileOnly has what is known of a file that no process has loaded.
func TestOpenFileOnly(t *testing.T) {
	dir := t.TempDir()
	e := named(withID(idA, section(".debug_frame", "bad")), "f")
	library := e.File()
	program := e.File()
	binary.LittleEndian.PutUint64(program[24:], 0x1008)
	for name, data := range map[string][]byte{"library": library, "program": program} {
		file := write(t, dir, name, data)
		set, err := OpenFile(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := set.Only()
		main, entry := name == "program", uint64(0)
		if main {
			entry = 0x1008
		}
		if m.Path != file || m.Lo != 0 || m.Hi != 0x1100 || m.Bias != 0 || m.Main != main || m.Tables.Entry != entry || m.BuildID != idA || m.Match != report.MatchPath ||
			m.Files != (Files{Image: file, Open: file}) || m.Tables.Section(0x1000) != ".text" || m.Tables.Section(0xfff) != "" {
			t.Errorf("%s: got %+v", name, m)
		}
		if addr, ok := m.Address("f"); !ok || addr != 0x1000 {
			t.Errorf("%s: got f at %#x, %v", name, addr, ok)
		}
		if set.Resolver() != nil || set.Image().Arch != arch.AMD64 || set.Image().Path != file || set.Len() != 1 {
			t.Errorf("%s: got %+v", name, set)
		}
		if got := texts(m.Problems()); got == "" || !strings.HasPrefix(got, file+": ") {
			t.Errorf("%s: got problems %q", name, got)
		}
		set.Close()
	}
	file := filepath.Join(dir, "library")
	testkit.Leaks(t, 100, func(int) {
		set, err := OpenFile(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		set.Close()
	})
}

// TestOpenFileObject has the sections of an object that are relocated.
func TestOpenFileObject(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".sframe", ".eh_frame", ".debug_frame", ".other"} {
		rela := testkit.New(binary.LittleEndian).D64(0, 99, 0).Done() // of a type that is not known
		e := testkit.ELF{Order: binary.LittleEndian, Type: elfx.TypeRel, Machine: arch.EMX86_64, Sections: []testkit.ELFSection{
			text(elfx.SectProgbits),
			{Name: name, Type: elfx.SectProgbits, Data: make([]byte, 32)},
			{Name: ".rela", Type: elfx.SectRela, Data: rela, Link: ".symtab", Info: 2, Entry: 24},
		}, Symbols: []testkit.ELFSymbol{{Name: "f", Section: ".text"}}}
		set, err := OpenFile(write(t, dir, "a.o", e.File()), nil)
		if err != nil {
			t.Fatal(err)
		}
		const want = "type 99 is not one of unwind tables (1 like this)"
		if got := texts(set.Only().Problems()); strings.Contains(got, want) != (name != ".other") {
			t.Errorf("%s: got problems %q", name, got)
		}
		set.Close()
	}
}
