package elfx

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// FuzzParse reads all there is in an image. What is handed out must be a part
// of it, and no list may be longer than the image has room for.
func FuzzParse(f *testing.F) {
	notes := testkit.New(binary.LittleEndian).D32(4, 4, noteGNUBuildID).Str("GNU").D32(0x12345678)
	im := image{
		typ: TypeDyn,
		progs: []Prog{
			{Type: ProgLoad, Vaddr: 0x1000, Filesz: bodyOff + 16, Memsz: 0x1000},
			{Type: ProgNote, Off: bodyOff, Vaddr: 0x1000 + bodyOff, Filesz: 20},
		},
		sections: []Section{{}, {Name: ".note", Type: SectNote, Off: bodyOff, Size: 20}, {Name: ".shstrtab"}},
		body:     notes.Done(),
	}
	f.Add(im.build(binary.LittleEndian), false)
	f.Add(im.build(binary.BigEndian), true)
	im.phnum = pnXNum
	im.sections[0].Info = 2
	f.Add(im.build(binary.LittleEndian), false)

	f.Fuzz(func(t *testing.T, data []byte, loaded bool) {
		elf, err := parse(data, loaded)
		if (elf == nil) == (err == nil) {
			t.Fatalf("got %v and error %v", elf, err)
		}
		if err != nil {
			return
		}
		if len(elf.Progs) > len(data)/phdrSize {
			t.Errorf("%d program headers of %d bytes", len(elf.Progs), len(data))
		}
		if lo, hi := elf.Span(); lo > hi {
			t.Errorf("span from %#x to %#x", lo, hi)
		}
		total := 0
		for n, err := range elf.Notes() {
			if err != nil && fieldOf(err) == "" {
				t.Errorf("got error %v, which names no field", err)
			}
			total += len(n.Desc)
		}
		if total > len(data) {
			t.Errorf("%d bytes of notes of %d", total, len(data))
		}
		if id := elf.BuildID(); len(id) > 2*maxBuildID {
			t.Errorf("build-id of %d digits", len(id))
		}
		for i := range elf.Progs {
			p := &elf.Progs[i]
			if got := elf.SegmentData(p); uint64(len(got)) > p.Filesz {
				t.Errorf("segment of %d bytes, of %d", len(got), p.Filesz)
			}
			elf.At(p.Vaddr)
		}
		sects, err := elf.Sections()
		if len(sects) > len(data)/shdrSize {
			t.Errorf("%d sections of %d bytes", len(sects), len(data))
		}
		for i := range sects {
			got, err := elf.SectionData(&sects[i])
			if err == nil && sects[i].Flags&SectCompressed == 0 && sects[i].Type != SectNobits && uint64(len(got)) != sects[i].Size {
				t.Errorf("section of %d bytes, want %d", len(got), sects[i].Size)
			}
			if len(got) > maxRatio*len(data) {
				t.Errorf("section of %d bytes from %d", len(got), len(data))
			}
		}
		if err == nil {
			for i := range sects {
				if s := elf.Section(sects[i].Name); s == nil {
					t.Errorf("section %q is not found", sects[i].Name)
				}
			}
		}
	})
}
