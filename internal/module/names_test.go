package module

import (
	"encoding/binary"
	"hash/crc32"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// TestDebugFile has which file is taken for the debug file of a library.
func TestDebugFile(t *testing.T) {
	symbols := named(withID(idA), "f").File()
	lines := withID(idA, section(".debug_info", "x")).File()
	noID := named(withID(""), "f").File()
	other := named(withID(idA), "f")
	other.Machine++
	link := func(crc uint32) testkit.ELFSection {
		return section(".gnu_debuglink", string(testkit.New(binary.LittleEndian).Str("x.debug").D32(crc).Done()))
	}
	const byID = "debug/.build-id/aa/aaaaaa00000001.debug"
	for name, tt := range map[string]struct {
		library *testkit.ELF
		file    string
		data    []byte
		want    bool
	}{
		"none":                     {withID(idA), "", nil, false},
		"by build-id":              {withID(idA), byID, symbols, true},
		"only lines":               {withID(idA), byID, lines, true},
		"without symbols":          {withID(idA), byID, withID(idA).File(), false},
		"of another build":         {withID(idA), byID, named(withID(idB), "f").File(), false},
		"of another machine":       {withID(idA), byID, other.File(), false},
		"without a build-id":       {withID(idA), byID, noID, false},
		"empty debug information":  {withID(idA), byID, withID(idA, section(".debug_info", "")).File(), false},
		"not needed":               {named(withID(idA, section(".debug_info", "x")), "f"), byID, symbols, false},
		"for its symbols":          {withID(idA, section(".debug_info", "x")), byID, symbols, true},
		"for its lines":            {named(withID(idA), "f"), byID, lines, true},
		"by link":                  {withID("", link(crc32.ChecksumIEEE(noID))), "root/lib/x.debug", noID, true},
		"by link, another sum":     {withID("", link(crc32.ChecksumIEEE(noID)+1)), "root/lib/x.debug", noID, false},
		"by link, with a build-id": {withID(idA, link(crc32.ChecksumIEEE(noID))), "root/lib/x.debug", noID, false},
		"by link and by build-id":  {withID(idA, link(0)), "root/lib/x.debug", symbols, true},
	} {
		dir := t.TempDir()
		write(t, dir, "root/lib/x", tt.library.File())
		want := ""
		if tt.file != "" {
			if file := write(t, dir, tt.file, tt.data); tt.want {
				want = file
			}
		}
		set := oneLibrary(t, tt.library.File(), Options{Sysroot: filepath.Join(dir, "root"), DebugDirs: []string{filepath.Join(dir, "debug")}})
		m := set.sites[0].open()
		if m.Image() == nil {
			t.Fatalf("%s: the library is not used: %v", name, m.Problems())
		}
		if got := m.DebugFile(); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		n := 1
		if want != "" {
			n = 2
		}
		if files := m.names.withDebug(m.names.debug()); len(files) != n || files[n-1] != m.Image() || n > 1 && files[0].Name != want {
			t.Errorf("%s: got %d files", name, len(files))
		}
	}
	if m := (&Module{}); m.DebugFile() != "" || m.Symbols() != nil || m.Source() != nil || m.Image() != nil || m.Problems() != nil {
		t.Error("a module without an image has names")
	}
}

// A file that is not the debug file of a library is closed at once.
func TestWrongDebugFileClosed(t *testing.T) {
	dir := t.TempDir()
	e := withID(idA)
	write(t, dir, "root/lib/x", e.File())
	write(t, dir, "debug/.build-id/aa/aaaaaa00000001.debug", named(withID(idB), "f").File())
	img := oneLibrary(t, e.Memory(), Options{}).Image()
	testkit.Leaks(t, 100, func(int) {
		set := Find(img, Options{Sysroot: filepath.Join(dir, "root"), DebugDirs: []string{filepath.Join(dir, "debug")}})
		if m := set.sites[0].open(); m.Image() == nil || m.DebugFile() != "" {
			t.Errorf("got debug file %q, %v", m.DebugFile(), set.Problems())
		}
		set.Close()
	})
}

// Of a module without an image no names are looked up.
func TestPrepareNothing(t *testing.T) {
	set := oneLibrary(t, nil, Options{})
	m := set.sites[0].open()
	if set.Prepare(m, []uint64{libraryAt}); m.Symbols() != nil || len(set.Problems()) != 0 {
		t.Errorf("got %v", set.Problems())
	}
}

// TestFetchDebug has what servers give for a library that lacks debug information.
func TestFetchDebug(t *testing.T) {
	symbols := named(withID(idA), "f").File()
	for name, tt := range map[string]struct {
		library *testkit.ELF
		local   []byte
		files   map[string][]byte
		want    string // the last element of the name
		problem string
	}{
		"found":                {withID(idA), nil, map[string][]byte{idA + "/debuginfo": symbols}, "debuginfo", ""},
		"not found":            {withID(idA), nil, nil, "", ""},
		"another build":        {withID(idA), nil, map[string][]byte{idA + "/debuginfo": withID(idB).File()}, "", `build-id "bbbbbbbb00000002"`},
		"here already":         {withID(idA), symbols, map[string][]byte{idA + "/debuginfo": symbols}, "aaaaaa00000001.debug", ""},
		"no build-id":          {withID(""), nil, map[string][]byte{"/debuginfo": symbols}, "", ""},
		"in the library":       {withID(idA, section(".debug_info", "x")), nil, map[string][]byte{idA + "/debuginfo": symbols}, "", ""},
		"empty in the library": {withID(idA, section(".debug_info", "")), nil, map[string][]byte{idA + "/debuginfo": symbols}, "debuginfo", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "root/lib/x", tt.library.File())
			if tt.local != nil {
				write(t, dir, "debug/.build-id/aa/aaaaaa00000001.debug", tt.local)
			}
			set := oneLibrary(t, tt.library.File(), Options{
				Sysroot: filepath.Join(dir, "root"), DebugDirs: []string{filepath.Join(dir, "debug")}, Debuginfod: server(t, tt.files),
			})
			m := set.sites[0].open()
			got := m.DebugFile()
			if got == "" && tt.want != "" || got != "" && filepath.Base(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			addr, ok := m.Address("f")
			if hasF := tt.want != ""; ok != hasF || ok && addr != libraryAt+0x1000 {
				t.Errorf("got f at %#x, %v", addr, ok)
			}
			if problems := texts(m.Problems()); !strings.Contains(problems, tt.problem) || (problems == "") != (tt.problem == "") {
				t.Errorf("got problems %q, want %q", problems, tt.problem)
			}
			if _, ok := m.jitDescriptor(); ok {
				t.Error("got a list of generated code")
			}
		})
	}
}
