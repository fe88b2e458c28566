package elfx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

func TestNotes(t *testing.T) {
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			b := testkit.New(order)
			b.D32(5, 3, 1).Str("CORE").Align(4).Raw([]byte("abc")).Align(4)
			b.D32(0, 0, 9)
			b.D32(4, 1000, 3).Str("GNU").Mark("cut").Raw([]byte("part"))
			data := b.Done()
			var got []string
			for n, err := range notes(data, order, 1) {
				got = append(got, fmt.Sprintf("%s %d %q %#x %v", n.Name, n.Type, n.Desc, n.Off, err != nil))
			}
			want := []string{`CORE 1 "abc" 0x14 false`, ` 9 "" 0x24 false`, fmt.Sprintf(`GNU 3 "part" %#x true`, b.Pos("cut"))}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestNotesAlign8(t *testing.T) {
	b := testkit.New(binary.LittleEndian)
	b.D32(4, 1, 5).Str("GNU").Align(8).D8('x').Align(8).D32(4, 1, 6).Str("GNU").Align(8).D8('y').Align(8)
	var got []string
	for n, err := range notes(b.Done(), binary.LittleEndian, 8) {
		got = append(got, fmt.Sprintf("%d%s %v", n.Type, n.Desc, err))
	}
	if want := "5x <nil> 6y <nil>"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoteOwnerBounded(t *testing.T) {
	for length, want := range map[int]int{1: 1, 31: 31, 32: 32, 33: 32, 1000: 32} {
		b := testkit.New(binary.LittleEndian).D32(uint32(length), 0, 1).Raw([]byte(strings.Repeat("x", length)))
		for n, err := range notes(b.Done(), binary.LittleEndian, 4) {
			if len(n.Name) != want || err != nil {
				t.Errorf("got %d bytes of an owner of %d, %v, want %d", len(n.Name), length, err, want)
			}
		}
	}
}

// Many segments may name the same notes; reading them must not take longer
// than the file is long.
func TestFileNotesOverlap(t *testing.T) {
	b := testkit.New(binary.LittleEndian).D32(5, 0, 1).Str("CORE").Align(4)
	note := Prog{Type: ProgNote, Off: bodyOff, Filesz: uint64(b.Len())}
	im := image{progs: []Prog{note, note, note, note, note, note}, body: b.Done()}
	f, err := Parse(im.build(binary.LittleEndian))
	if err != nil {
		t.Fatal(err)
	}
	f.Data = f.Data[:bodyOff+b.Len()]
	f.Progs = append(f.Progs, make([]Prog, 100)...)
	for i := range f.Progs {
		f.Progs[i] = note
	}
	notes, errs := 0, 0
	for _, err := range f.Notes() {
		if err != nil {
			errs++
			continue
		}
		notes++
	}
	if most := len(f.Data) / b.Len(); notes > most || errs != 1 {
		t.Errorf("got %d notes and %d errors, want at most %d and 1", notes, errs, most)
	}
}

// Notes beyond the bound are not read, and that is told. Those before it are.
func TestFileNotesMany(t *testing.T) {
	const most = 1 << 24
	if maxNotes != most {
		t.Errorf("got a bound of %d notes, want %d", maxNotes, most)
	}
	b := testkit.New(binary.LittleEndian)
	for i := range uint32(10) {
		b.D32(5, 0, i+1).Str("CORE").Align(4)
	}
	// Two segments share the bound.
	body := b.Done()
	half := uint64(len(body) / 2)
	im := image{progs: []Prog{{Type: ProgNote, Off: bodyOff, Filesz: half}, {Type: ProgNote, Off: bodyOff + half, Filesz: half}}, body: body}
	f, err := Parse(im.build(binary.LittleEndian))
	if err != nil {
		t.Fatal(err)
	}
	for bound, want := range map[int]string{
		10: "1 2 3 4 5 6 7 8 9 10",
		7:  "1 2 3 4 5 6 7 more than 7 notes; the rest is not read",
	} {
		var got []string
		for n, err := range f.notes(bound) {
			if format, ok := errors.AsType[*FormatError](err); ok {
				got = append(got, format.Msg)
				continue
			}
			got = append(got, fmt.Sprint(n.Type))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at most %d: got %q, want %q", bound, strings.Join(got, " "), want)
		}
	}
}

func TestFileNotesCutOff(t *testing.T) {
	b := testkit.New(binary.LittleEndian).D32(5, 0, 1).Str("CORE").Align(4).D32(5, 4, 2)
	im := image{progs: []Prog{{Type: ProgNote, Off: bodyOff, Filesz: 0x1000}}, body: b.Done()}
	data := im.build(binary.LittleEndian)[:bodyOff+b.Len()]
	f, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for n, err := range f.Notes() {
		got = append(got, fmt.Sprintf("%s %d %v", n.Name, n.Type, err))
	}
	want := []string{
		"CORE 1 <nil>",
		` 2 ELF: n_descsz at offset 0x214: note "" type 0x2: 0 of 4 bytes`,
		" 0 ELF: p_filesz at offset 0x200: the file holds 32 of 4096 bytes of notes",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestBuildID(t *testing.T) {
	id := testkit.New(binary.LittleEndian).D32(4, 1, 5).Str("GNU").D8('x').Align(4) // another note of the same owner
	id.D32(4, 20, noteGNUBuildID).Str("GNU").Raw([]byte("\x01\x02\xff4567890123456789\xab"))
	long := testkit.New(binary.LittleEndian).D32(4, 65, noteGNUBuildID).Str("GNU").Zero(68)
	const want = "0102ff3435363738393031323334353637" + "3839ab"
	tests := []struct {
		name string
		im   image
		want string
	}{
		{"none", image{}, ""},
		{"segment", image{progs: []Prog{{Type: ProgNote, Off: bodyOff, Filesz: uint64(id.Len())}}, body: id.Done()}, want},
		{"section", image{sections: []Section{{}, {Type: SectNote, Off: bodyOff, Size: uint64(id.Len())}, {}}, body: id.Done()}, want},
		{"too long", image{progs: []Prog{{Type: ProgNote, Off: bodyOff, Filesz: uint64(long.Len())}}, body: long.Done()}, ""},
		{"cut off", image{progs: []Prog{{Type: ProgNote, Off: bodyOff, Filesz: uint64(id.Len()) - 1}}, body: id.Done()}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse(tt.im.build(binary.LittleEndian))
			if err != nil {
				t.Fatal(err)
			}
			if got := f.BuildID(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Notes end at one that is all zeros, as where a file has a hole: the rest is told.
func TestZeroNotes(t *testing.T) {
	b := testkit.New(binary.LittleEndian).D32(5, 0, 1).Str("CORE").Align(4).Zero(12*1000).D32(5, 0, 2).Str("CORE").Align(4)
	read, errs := 0, 0
	for n, err := range notes(b.Done(), binary.LittleEndian, 4) {
		if err != nil {
			errs++
			if want := "n_namesz at offset 0x14"; !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			continue
		}
		if read++; n.Type != 1 {
			t.Errorf("got type %d", n.Type)
		}
	}
	if read != 1 || errs != 1 {
		t.Errorf("got %d notes and %d errors, want 1 and 1", read, errs)
	}
}

// Of an image's notes, only the first are read for the build-id. The section that
// linkers write it to comes before other sections.
func TestBuildIDBounded(t *testing.T) {
	other := testkit.New(binary.LittleEndian)
	for other.Len() <= maxIDNotes {
		other.D32(4, 1000, 5).Str("GNU").Zero(1000)
	}
	before := uint64(other.Len())
	other.D32(4, 4, noteGNUBuildID).Str("GNU").D32(0x04030201)
	body, size := other.Done(), uint64(other.Len())
	segment := Prog{Type: ProgNote, Off: bodyOff, Filesz: size}
	section := func(name string, off, size uint64) Section {
		return Section{Name: name, Type: SectNote, Off: bodyOff + off, Size: size}
	}
	tests := []struct {
		name string
		im   image
		want string
	}{
		{"behind the bound", image{progs: []Prog{segment}, body: body}, ""},
		{"in front of it", image{progs: []Prog{{Type: ProgNote, Off: bodyOff + before, Filesz: size - before}}, body: body}, "01020304"},
		{"other section first", image{sections: []Section{{}, section(".note.other", 0, before), section(buildIDSection, before, size-before), {}}, body: body}, "01020304"},
		{"segment and section", image{progs: []Prog{segment}, sections: []Section{{}, section(".note", before, size-before), {}}, body: body}, "01020304"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse(tt.im.build(binary.LittleEndian))
			if err != nil {
				t.Fatal(err)
			}
			if got := f.BuildID(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			clear(f.Data[bodyOff:])
			if got := f.BuildID(); got != tt.want {
				t.Errorf("got %q when asked again", got)
			}
		})
	}
}

// TestFileNotes has the notes of all segments, each with its place in the file.
func TestFileNotes(t *testing.T) {
	for name, order := range orders {
		b := testkit.New(order)
		b.D32(5, 3, 1).Str("CORE").Align(4).Raw([]byte("abc")).Align(4)
		b.D32(6, 1, 2).Str("LINUX").Align(4).Raw([]byte("d")).Align(4)
		wide := uint64(b.Len())
		b.D32(4, 1, 3).Str("GNU").Raw([]byte("e")).Align(8).D32(4, 1, 4).Str("GNU").Raw([]byte("f")).Align(8)
		odd := uint64(b.Len())
		b.D32(10, 0, 5).Str("other").Zero(4).Align(4)
		im := image{progs: []Prog{
			{Type: ProgNote, Off: bodyOff, Filesz: wide, Align: 4},
			{Type: ProgLoad, Off: bodyOff, Filesz: wide},
			{Type: ProgNote, Off: bodyOff + wide, Filesz: odd - wide, Align: 8},
			{Type: ProgNote, Off: bodyOff + odd, Filesz: uint64(b.Len()) - odd, Align: 16},
		}, body: b.Done()}
		f, err := Parse(im.build(order))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for n, err := range f.Notes() {
			at := string(f.Data[n.Off : n.Off+uint64(len(n.Desc))])
			got = append(got, fmt.Sprintf("%s %d %s %s %v", n.Name, n.Type, n.Desc, at, err))
			if len(got) == 1 {
				if err := n.Errorf(2, "pr_x", "is %d", 7); err.Error() != fmt.Sprintf("ELF: pr_x at offset %#x: is 7", n.Off+2) {
					t.Errorf("got %v", err)
				}
			}
		}
		want := "CORE 1 abc abc <nil>, LINUX 2 d d <nil>, GNU 3 e e <nil>, GNU 4 f f <nil>, other 5   <nil>"
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: got  %s\nwant %s", name, strings.Join(got, ", "), want)
		}
		n := 0
		for _, err := range f.Notes() {
			if n++; n == 2 || err != nil {
				break
			}
		}
		if n != 2 {
			t.Errorf("%s: got %d notes after the break", name, n)
		}
	}
}

// A note that is damaged is told with its place in the file.
func TestFileNotesDamage(t *testing.T) {
	b := testkit.New(binary.LittleEndian).Zero(8).D32(4, 100, 7).Str("GNU").D32(1)
	im := image{progs: []Prog{{Type: ProgNote, Off: bodyOff + 8, Filesz: uint64(b.Len()) - 8}}, body: b.Done()}
	f, err := Parse(im.build(binary.LittleEndian))
	if err != nil {
		t.Fatal(err)
	}
	for n, err := range f.Notes() {
		if want := `ELF: n_descsz at offset 0x208: note "GNU" type 0x7: 4 of 100 bytes`; err == nil || err.Error() != want || n.Off != bodyOff+8+16 {
			t.Errorf("got %+v, %v, want %s", n, err, want)
		}
	}
	// Only a note that is all zeros ends the notes, and one whose owner is cut off.
	b = testkit.New(binary.LittleEndian).D32(4, 0, 0).Str("GNU").D32(0, 4, 0, 1).D32(0, 0, 1).D32(100, 0, 2).Str("GNU")
	var got []string
	for n, err := range notes(b.Done(), binary.LittleEndian, 4) {
		got = append(got, fmt.Sprintf("%q %d %d %v", n.Name, n.Type, len(n.Desc), err))
	}
	want := []string{
		`"GNU" 0 0 <nil>`, `"" 0 4 <nil>`, `"" 1 0 <nil>`,
		`"GNU" 2 0 ELF: n_descsz at offset 0x2c: note "GNU" type 0x2: 0 of 0 bytes`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// A header that is cut off is no note.
	for n := range 12 {
		for note, err := range notes(make([]byte, n), binary.LittleEndian, 4) {
			t.Errorf("%d bytes: got %+v, %v", n, note, err)
		}
	}
}

// TestBuildIDWhere has notes that are no build-id, and where a build-id is looked for.
func TestBuildIDWhere(t *testing.T) {
	order := binary.LittleEndian
	note := func(owner string, typ uint32, desc int) []byte {
		return testkit.New(order).D32(4, uint32(desc), typ).Str(owner).Raw([]byte(strings.Repeat("\xab", desc))).Align(4).Done()
	}
	id := note("GNU", 3, 2)
	filler := func(size int) []byte { // one note of so many bytes
		return testkit.New(order).D32(4, uint32(size-16), 9).Str("GNU").Zero(size - 16).Done()
	}
	const bound = 64 << 10
	segments := func(parts ...[]byte) image {
		im := image{}
		for _, p := range parts {
			im.progs = append(im.progs, Prog{Type: ProgNote, Off: bodyOff + uint64(len(im.body)), Filesz: uint64(len(p))})
			im.body = append(im.body, p...)
		}
		return im
	}
	type part struct {
		name string
		typ  uint32
		data []byte
	}
	sections := func(parts ...part) image {
		im := image{sections: []Section{{}}}
		for _, p := range parts {
			im.sections = append(im.sections, Section{Name: p.name, Type: p.typ, Off: bodyOff + uint64(len(im.body)), Size: uint64(len(p.data))})
			im.body = append(im.body, p.data...)
		}
		im.sections = append(im.sections, Section{})
		return im
	}
	for name, tt := range map[string]struct {
		im   image
		want string
	}{
		"another owner":             {segments(note("XNU", 3, 2)), ""},
		"another type":              {segments(note("GNU", 4, 2)), ""},
		"64 bytes":                  {segments(note("GNU", 3, 64)), strings.Repeat("ab", 64)},
		"65 bytes":                  {segments(note("GNU", 3, 65)), ""},
		"second segment":            {segments(note("GNU", 9, 2), id), "abab"},
		"up to the bound":           {segments(append(filler(bound-len(id)), id...)), "abab"},
		"a note beyond it":          {segments(append(filler(bound-len(id)+4), id...)), ""},
		"two up to the bound":       {segments(filler(40000), append(filler(bound-40000-len(id)), id...)), "abab"},
		"two beyond it":             {segments(filler(40000), append(filler(bound-40000-len(id)+4), id...)), ""},
		"a section that is none":    {sections(part{buildIDSection, SectProgbits, id}), ""},
		"second section":            {sections(part{".note.a", SectNote, note("GNU", 9, 2)}, part{".note.b", SectNote, id}), "abab"},
		"section of the name":       {sections(part{".note.a", SectNote, filler(bound)}, part{buildIDSection, SectNote, id}), "abab"},
		"sections beyond the bound": {sections(part{".note.a", SectNote, filler(bound)}, part{".note.b", SectNote, id}), ""},
	} {
		f, err := Parse(tt.im.build(order))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.BuildID(); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
