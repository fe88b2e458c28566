package elfx

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/testkit"
)

// packedZeros is a file with sections, all of the same bytes, which inflate to size
// zeros.
func packedZeros(t *testing.T, size int, sections ...Section) *File {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := testkit.New(binary.LittleEndian).D32(compressZstd, 0).D64(uint64(size), 1).Raw(enc.EncodeAll(make([]byte, size), nil))
	body := b.Zero(max(0, size/maxRatio+1-b.Len())).Done()
	im := image{sections: []Section{{}}, body: body}
	for _, s := range sections {
		s.Type, s.Off, s.Size = SectProgbits, bodyOff, uint64(len(body))
		s.Flags |= SectCompressed
		im.sections = append(im.sections, s)
	}
	im.sections = append(im.sections, Section{})
	f, err := Parse(im.build(binary.LittleEndian))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What was inflated is kept, and shared by sections with the same bytes. Sections
// that are loaded are never inflated.
func TestInflatedOnce(t *testing.T) {
	f := packedZeros(t, 1<<20, Section{Name: ".a"}, Section{Name: ".b"}, Section{Name: ".eh_frame", Flags: SectAlloc})
	a, err := f.SectionData(f.Section(".a"))
	if err != nil || len(a) != 1<<20 {
		t.Fatalf("got %d bytes, %v", len(a), err)
	}
	for _, name := range []string{".a", ".b"} {
		if again, err := f.SectionData(f.Section(name)); err != nil || &again[0] != &a[0] {
			t.Errorf("%s: inflated again, or %v", name, err)
		}
	}
	if got, err := f.SectionData(f.Section(".eh_frame")); got != nil || err == nil || !strings.Contains(err.Error(), "sh_flags") {
		t.Errorf("a loaded section: got %d bytes, %v, want an error", len(got), err)
	}
}

// Files with one budget inflate no more together than it has. What grows no more
// than usual takes nothing of it.
func TestBudget(t *testing.T) {
	const size = maxExcess/2 + 64<<20
	var budget Budget
	first, second := packedZeros(t, size, Section{Name: ".a"}), packedZeros(t, size, Section{Name: ".b"})
	first.Budget, second.Budget = &budget, &budget
	if data, err := first.SectionData(first.Section(".a")); err != nil || len(data) != size {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
	data, err := second.SectionData(second.Section(".b"))
	if data != nil || err == nil || !strings.Contains(err.Error(), "section .b: after ") || !strings.Contains(err.Error(), "grows more than 8-fold") {
		t.Errorf("got %d bytes, %v, want an error", len(data), err)
	}
	if used := budget.used; used < maxExcess-2*step || used > maxExcess {
		t.Errorf("got %d bytes of the budget used", used)
	}
	usual := packedZeros(t, 1<<10, Section{Name: ".c"})
	usual.Budget = &budget
	if data, err := usual.SectionData(usual.Section(".c")); err != nil || len(data) != 1<<10 {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
}
