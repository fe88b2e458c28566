package module

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/report"
)

const (
	idA = "aaaaaaaa00000001"
	idB = "bbbbbbbb00000002"
)

// note is a section with a build-id, which a segment leads to in withID.
func note(id string) testkit.ELFSection {
	desc, err := hex.DecodeString(id)
	if err != nil {
		panic(err)
	}
	data := testkit.New(binary.LittleEndian).D32(4, uint32(len(desc)), 3).Str("GNU").Raw(desc).Align(4).Done()
	return testkit.ELFSection{Name: ".note.gnu.build-id", Type: elfx.SectNote, Flags: elfx.SectAlloc, Addr: 0x400, Data: data}
}

func text(typ uint32) testkit.ELFSection {
	s := testkit.ELFSection{Name: ".text", Type: typ, Flags: elfx.SectAlloc | elfx.SectExec, Addr: 0x1000, Data: make([]byte, 0x100)}
	if typ == elfx.SectNobits {
		s.Data, s.NobitsSize = nil, 0x100
	}
	return s
}

// withID is a library with a build-id, none if id is "", and further sections.
func withID(id string, sections ...testkit.ELFSection) *testkit.ELF {
	e := elfOf(elfx.TypeDyn, 0, append([]testkit.ELFSection{text(elfx.SectProgbits)}, sections...)...)
	if id != "" {
		e.Sections = append(e.Sections, note(id))
		e.Progs = []testkit.ELFProg{{Type: elfx.ProgNote, Flags: 4, Section: ".note.gnu.build-id"}}
	}
	return e
}

func named(e *testkit.ELF, names ...string) *testkit.ELF {
	for _, name := range names {
		e.Symbols = append(e.Symbols, testkit.ELFSymbol{Name: name, Info: 1<<4 | elfx.SymFunc, Section: ".text", Value: 0x1000, Size: 0x10})
	}
	return e
}

func section(name string, data string) testkit.ELFSection {
	return testkit.ELFSection{Name: name, Type: elfx.SectProgbits, Data: []byte(data)}
}

// write writes a file below dir.
func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const libraryAt = 0x70000

// oneLibrary is a set of a process with /lib/x at libraryAt, of which memory has mem.
func oneLibrary(t *testing.T, mem []byte, opts Options) *Set {
	t.Helper()
	if opts.Sysroot == "" {
		opts.Sysroot = t.TempDir()
	}
	img := &core.Image{
		Arch: arch.AMD64, Mem: &testkit.Memory{Segs: map[uint64][]byte{libraryAt: mem}},
		Mappings: []core.Mapping{{Lo: libraryAt, Hi: libraryAt + 0x1000, Path: "/lib/x"}, {Lo: libraryAt + 0x1000, Hi: libraryAt + 0x2000, Off: 0x1000, Path: "/lib/x", Exec: true}},
	}
	set := Find(img, opts)
	t.Cleanup(func() { set.Close() })
	return set
}

// texts returns the texts of errors.
func texts(errs []error) string {
	var s []string
	for _, err := range errs {
		s = append(s, err.Error())
	}
	return strings.Join(s, "; ")
}

// claim is what memory tells of an image: nothing but whether a file fits.
type claim struct{ err error }

func (c claim) fits(*site, *elfx.File) error { return c.err }

func (claim) place(*site, *elfx.File) {}

// TestCompare has files that may be the one that a module was loaded from.
func TestCompare(t *testing.T) {
	other := withID(idA)
	other.Machine++
	bigEndian := withID("")
	bigEndian.Order = binary.BigEndian
	for name, tt := range map[string]struct {
		id    string // in memory
		fits  error
		file  *testkit.ELF
		match report.Match
		want  string
	}{
		"another machine":     {idA, nil, other, "", "it is for another machine"},
		"another byte order":  {"", nil, bigEndian, "", "it is for another machine"},
		"the build-id":        {idA, errors.New("no"), withID(idA), report.MatchBuildID, ""},
		"another build-id":    {idA, nil, withID(idB), "", "its build-id is " + idB + ", in memory it is " + idA},
		"no build-id":         {idA, nil, withID(""), "", "its build-id is missing, in memory it is " + idA},
		"fits":                {"", nil, withID(idA), report.MatchPath, ""},
		"fits, no build-id":   {"", nil, withID(""), report.MatchPath, ""},
		"does not fit":        {"", errors.New("no"), withID(idA), "", "no"},
		"does not fit at all": {"", errors.New("no"), withID(""), "", "no"},
	} {
		l := loader{site: &site{set: &Set{img: &core.Image{Arch: arch.AMD64}}, trace: claim{tt.fits}}, m: &Module{BuildID: tt.id}}
		match, err := l.compare(parsed(t, tt.file.File()))
		if match != tt.match || (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s: got %q, %v, want %q, %q", name, match, err, tt.match, tt.want)
		}
	}
}

// TestFindFile has files at the place where a library was, and what is made of them.
func TestFindFile(t *testing.T) {
	good, inMem := withID(idA).File(), withID(idA).Memory()
	plain := withID("").File()
	byteCode := withID("")
	byteCode.Machine = elfx.MachineNone
	debugOnly := elfOf(elfx.TypeDyn, 0, text(elfx.SectNobits), note(idA))
	debugOnly.Progs = []testkit.ELFProg{{Type: elfx.ProgNote, Flags: 4, Section: ".note.gnu.build-id"}}
	tables := withID(idA)
	tables.Progs = append(tables.Progs, testkit.ELFProg{Type: elfx.ProgGNUEHFrame, Flags: 4, Section: ".text"})
	for name, tt := range map[string]struct {
		mem, file []byte
		match     report.Match
		foreign   bool
		image     bool // the file is used
		inMemory  bool // what is in memory is
		problem   string
	}{
		"none":                       {nil, nil, report.MatchMissing, false, false, false, ""},
		"build-id":                   {inMem, good, report.MatchBuildID, false, true, false, ""},
		"no headers in memory":       {nil, plain, report.MatchPath, false, true, false, ""},
		"memory is no image":         {[]byte("text"), nil, report.MatchMissing, true, false, false, ""},
		"a part of the magic":        {[]byte("\x7fEL"), nil, report.MatchMissing, false, false, false, ""},
		"the magic alone":            {[]byte("\x7fELF"), nil, report.MatchMissing, false, false, false, ""},
		"memory has changed":         {[]byte("text"), plain, report.MatchPath, false, true, false, ""},
		"the file is no image":       {nil, []byte("text"), report.MatchMissing, true, false, false, ""},
		"the file was replaced":      {inMem, []byte("text"), report.MatchMissing, false, false, false, ""},
		"byte code":                  {nil, byteCode.File(), report.MatchMissing, true, false, false, ""},
		"another build":              {inMem, withID(idB).File(), report.MatchMismatch, false, false, false, "/lib/x: not used: SYSROOT/lib/x (its build-id is " + idB + ", in memory it is " + idA + ")"},
		"only debug information":     {inMem, debugOnly.File(), report.MatchMissing, false, false, false, ""},
		"memory has tables":          {tables.Memory(), nil, report.MatchMemory, false, false, true, ""},
		"memory has tables, another": {tables.Memory(), withID(idB).File(), report.MatchMismatch, false, false, true, "/lib/x: not used: SYSROOT/lib/x (its build-id is " + idB + ", in memory it is " + idA + ")"},
		// No module is to blame for such a file.
		"a damaged file":          {inMem, good[:63], report.MatchMissing, false, false, false, "/lib/x: not used: SYSROOT/lib/x: ELF: Elf64_Ehdr at offset 0x3f: the file ends after 63 of 64 bytes"},
		"section headers cut off": {inMem, good[:len(good)-1], report.MatchBuildID, false, true, false, "/lib/x: ELF: e_shstrndx at offset 0x3e: section 3 of 3"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "lib/x")
		if tt.file != nil {
			write(t, dir, "lib/x", tt.file)
		}
		set := oneLibrary(t, tt.mem, Options{Sysroot: dir})
		m := set.sites[0].open()
		if m.Match != tt.match || m.Files.Foreign != tt.foreign || (m.Image() != nil) != (tt.image || tt.inMemory) {
			t.Errorf("%s: got %s, %+v, image %v", name, m.Match, m.Files, m.Image() != nil)
		}
		if tt.image && m.Image().Budget != &set.budget {
			t.Errorf("%s: its compressed sections do not count", name)
		}
		if tt.image != (m.Files.Image == file) || m.Files.Image != m.Files.Open || tt.inMemory && m.Image() != set.sites[0].memory() {
			t.Errorf("%s: got files %+v", name, m.Files)
		}
		got := strings.ReplaceAll(texts(m.Problems()), dir, "SYSROOT")
		if want := tt.problem; name != "a damaged file" && (!strings.HasPrefix(got, want) || got != want && !tt.inMemory) {
			t.Errorf("%s: got problems %q, want %q", name, got, tt.problem)
		}
		if all := strings.ReplaceAll(texts(set.Problems()), dir, "SYSROOT"); !strings.Contains(all, tt.problem) {
			t.Errorf("%s: got problems of the set %q, want %q", name, all, tt.problem)
		}
		if at := set.At(libraryAt); at != m && !tt.foreign {
			t.Errorf("%s: got %v at its first address", name, at)
		}
		if p := set.Place(libraryAt); (p.Module == nil) != tt.foreign {
			t.Errorf("%s: got place %+v", name, p)
		}
		if tt.image && m.ID() != m.BuildID && m.ID() != m.Path || m.BuildID == "" && m.ID() != "/lib/x" || m.Name() != "x" {
			t.Errorf("%s: got %q, %q", name, m.ID(), m.Name())
		}
	}
}

// A file with debug information alone, at the place of the library, names what is in
// memory. The files of a set are closed with it.
func TestDebugFileAtPath(t *testing.T) {
	debugOnly := named(elfOf(elfx.TypeDyn, 0, text(elfx.SectNobits), note(idA)), "f")
	debugOnly.Progs = []testkit.ELFProg{{Type: elfx.ProgNote, Flags: 4, Section: ".note.gnu.build-id"}}
	tables := withID(idA)
	tables.Progs = append(tables.Progs, testkit.ELFProg{Type: elfx.ProgGNUEHFrame, Flags: 4, Section: ".text"})
	dir := t.TempDir()
	write(t, dir, "lib/x", debugOnly.File())
	set := oneLibrary(t, tables.Memory(), Options{Sysroot: dir})
	locs := set.Locate(libraryAt+0x1008, nil)
	if len(locs) != 1 || locs[0].Func != "f" || locs[0].Offset != 8 {
		t.Errorf("got %+v, %v", locs, set.Problems())
	}
	if got := set.sites[0].open(); got.Match != report.MatchMemory || got.DebugFile() != filepath.Join(dir, "lib/x") {
		t.Errorf("got %s, debug file %q", got.Match, got.DebugFile())
	}
	library := t.TempDir()
	write(t, library, "lib/x", withID(idA).File())
	for _, root := range []string{dir, library} {
		testkit.Leaks(t, 100, func(int) {
			set := Find(set.Image(), Options{Sysroot: root})
			if set.sites[0].open().Image() == nil {
				t.Error("got no image")
			}
			set.Close()
		})
	}
}

// An image that is in memory ends where the module does, whatever follows it.
func TestImageInMemoryEnds(t *testing.T) {
	tables := withID(idA)
	tables.Progs = append(tables.Progs, testkit.ELFProg{Type: elfx.ProgGNUEHFrame, Flags: 4, Section: ".text"})
	m := oneLibrary(t, append(tables.Memory(), make([]byte, 0x8000)...), Options{}).sites[0].open()
	if m.Match != report.MatchMemory || uint64(len(m.Image().Data)) != m.Hi-m.Lo {
		t.Errorf("got %s, %#x bytes of %#x", m.Match, len(m.Image().Data), m.Hi-m.Lo)
	}
}

// server is a debuginfod server with files by the end of their path.
func server(t *testing.T, files map[string][]byte) *debuginfod.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch data, ok := files[strings.TrimPrefix(r.URL.Path, "/buildid/")]; {
		case !ok:
			http.NotFound(w, r)
		default:
			_, _ = w.Write(data)
		}
	}))
	t.Cleanup(s.Close)
	t.Setenv("DEBUGINFOD_URLS", s.URL)
	t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(t.TempDir(), "cache"))
	c, err := debuginfod.FromEnvironment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFetchImage has what servers give for a library whose file is not here.
func TestFetchImage(t *testing.T) {
	other := withID(idA)
	other.Machine++
	for name, tt := range map[string]struct {
		mem   []byte
		files map[string][]byte
		match report.Match
		want  string // of the one problem
	}{
		"found":            {withID(idA).Memory(), map[string][]byte{idA + "/executable": withID(idA).File()}, report.MatchBuildID, ""},
		"not found":        {withID(idA).Memory(), nil, report.MatchMissing, ""},
		"another build":    {withID(idA).Memory(), map[string][]byte{idA + "/executable": withID(idB).File()}, report.MatchMissing, `build-id "bbbbbbbb00000002"`},
		"another machine":  {withID(idA).Memory(), map[string][]byte{idA + "/executable": other.File()}, report.MatchMissing, "executable: it is for another machine"},
		"unknown build-id": {withID("").File(), map[string][]byte{"/executable": withID("").File()}, report.MatchMissing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := oneLibrary(t, tt.mem, Options{Debuginfod: server(t, tt.files)})
			m := set.sites[0].open()
			if m.Match != tt.match || (m.Image() != nil) != (tt.match == report.MatchBuildID) {
				t.Errorf("got %s, image %v", m.Match, m.Image() != nil)
			}
			if m.Image() != nil && (filepath.Base(m.Files.Image) != "executable" || m.Files.Open != m.Files.Image || m.Image().Budget != &set.budget) {
				t.Errorf("got files %+v", m.Files)
			}
			got := texts(m.Problems())
			if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") || got != "" && !strings.HasPrefix(got, "/lib/x: ") {
				t.Errorf("got problems %q, want %q", got, tt.want)
			}
		})
	}
}

// TestHeaderOfTwin has the header of an image of the same file, the first that is in
// memory.
func TestHeaderOfTwin(t *testing.T) {
	first, second := &elfx.File{}, &elfx.File{}
	without := func(held string) *site { return &site{path: "/a", held: held, trace: &mappings{}} }
	s := &Set{sites: []*site{without(""), {path: "/a", trace: headers{first}}, {path: "/a", trace: headers{second}}, without(""), without("x"), {path: "/b"}}}
	s.withHeader = s.indexHeaders
	for i, want := range []*elfx.File{first, first, second, first, nil, nil} {
		s.sites[i].set = s
		if got := s.sites[i].header(); got != want {
			t.Errorf("site %d: got %p, want %p", i, got, want)
		}
	}
}
