package module

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// TestRemembered asks for lines and tail calls in two sets with one cache: the second one
// does not read debug information. Nothing is kept by a set that missed a file.
func TestRemembered(t *testing.T) {
	const units = 4000 // so many that it takes work to find the right one
	order := binary.LittleEndian
	var text strings.Builder
	for i := range units {
		fmt.Fprintf(&text, "unit 5\ncompile_unit language=12 low_pc=%#x high_pc=0x10\n  subprogram name=f%d low_pc=%#x high_pc=0x10\n", 0x1000+16*i, i, 0x1000+16*i)
	}
	text.WriteString("unit 5\ncompile_unit language=12 low_pc=0x100000 high_pc=0x10\n  subprogram abstract_origin:GNU_ref_alt=16 low_pc=0x100000 high_pc=0x10\n")
	dwarf := testkit.DWARF{Order: order, Text: text.String()}
	id := testkit.New(order).D32(4, 4, 3).Raw([]byte("GNU\x00\x01\x02\x03\x04")).Done()
	name := filepath.Join(t.TempDir(), "program")
	data := dwarf.File(62,
		testkit.ELFSection{Name: ".note.gnu.build-id", Type: elfx.SectNote, Data: id, Align: 4},
		testkit.ELFSection{Name: ".gnu_debugaltlink", Type: elfx.SectProgbits, Data: []byte("sup\x00\x01\x02"), Align: 1})
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, tt := range []struct {
		cache  string
		failed bool
		reads  bool
	}{{"", false, true}, {dir, true, true}, {dir, false, true}, {dir, false, false}, {"", false, true}} {
		f, release, err := elfx.Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		set := &Set{opts: Options{CacheDir: tt.cache}}
		n := &names{set: set, image: f, debug: func() *debugFile { return nil }}
		src := n.openSource()
		m := &Module{names: &names{source: func() *source { return src }}}
		if tt.failed { // which is told once
			_ = set.addSource(m, src, 0x100004, nil, 0)
			_ = set.addSource(m, src, 0x100004, nil, 0)
		}
		locs := set.addSource(m, src, 0x1004, nil, 0)
		tails, err := m.TailCalls(0x1014)
		if len(locs) != 1 || locs[0].Func != "f0" || err != nil || tails == nil || tails.Func != "f1" {
			t.Errorf("got %v, %v, %v", locs, tails, err)
		}
		if work := src.Work(); (work > 0) != tt.reads {
			t.Errorf("cache %q: debug information was read: %d steps, want some: %v", tt.cache, work, tt.reads)
		}
		for _, done := range set.release {
			done()
		}
		release()
	}
}
