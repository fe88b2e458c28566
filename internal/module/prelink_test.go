package module

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
)

// A file whose addresses are others than those of the image in memory, as
// prelink changes them, is read with another bias.
func TestPrelinked(t *testing.T) {
	libs, _ := filepath.Glob("../../testdata/cores/amd64-v3-plt-1/exe/*.so*")
	if len(libs) != 1 {
		t.Fatalf("got %q, want one library", libs)
	}
	data, err := os.ReadFile(libs[0])
	if err != nil {
		t.Fatal(err)
	}
	const loaded, prelinked = 0x7f00_1000_0000, 0x41_0000_0000
	for _, typ := range []uint16{elfx.TypeDyn, elfx.TypeExec} {
		file, err := elfx.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		file.Type = typ
		memory := *file
		memory.Progs = slices.Clone(file.Progs)
		for i := range memory.Progs {
			memory.Progs[i].Vaddr += prelinked
		}
		s := &site{bias: loaded - prelinked}
		headers{&memory}.place(s, file)
		want := uint64(loaded)
		if typ == elfx.TypeExec { // which nobody moves
			want -= prelinked
		}
		if s.bias != want {
			t.Errorf("type %d: got bias %#x, want %#x", typ, s.bias, want)
		}
	}
}
