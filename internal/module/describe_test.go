package module

import (
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/sframe"
)

// TestDescribeSFrame has what is told of sections with several tables, and of damage.
func TestDescribeSFrame(t *testing.T) {
	one := sframeAt(t, ".sframe", elfx.SectGNUSFrame, 0x4000, 0x1080).Data
	one = append(one, make([]byte, -len(one)&7)...)
	two := append(slices.Clone(one), sframeAt(t, ".sframe", elfx.SectGNUSFrame, 0x4000+uint64(len(one)), 0x2080).Data...)
	for name, tt := range map[string]struct {
		data              []byte
		tables, functions int
		problem           bool
	}{
		"one": {one, 0, 1, false}, "two": {two, 2, 2, false}, "two, cut off": {two[:len(two)-12], 0, 1, true},
	} {
		s, err := sframe.Parse(tt.data, 0x4000, sframe.Options{Arch: arch.AMD64})
		if err != nil {
			t.Fatal(err)
		}
		got := describeSFrame(s)
		if got.Tables != tt.tables || got.Functions != uint64(tt.functions) || got.Version != 3 || (got.Problem != "") != tt.problem {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	for flags, want := range map[sframe.Flags]string{
		0: "", sframe.FDESorted: "sorted", sframe.FramePointer: "frame-pointer", sframe.FuncStartPCRel: "pcrel",
		sframe.FDESorted | sframe.FramePointer | sframe.FuncStartPCRel: "sorted frame-pointer pcrel",
	} {
		if got := flagNames(flags); got == nil || strings.Join(got, " ") != want {
			t.Errorf("%v: got %q, want %q", flags, got, want)
		}
	}
}

// A file below the root directory of a live process is called as the process calls it.
func TestInRoot(t *testing.T) {
	for _, tt := range []struct{ root, name, want string }{
		{"/proc/self/fd/9", "/proc/self/fd/9/usr/lib/debug/a.debug", "/usr/lib/debug/a.debug"},
		{"/proc/self/fd/9", "/proc/self/fd/99/a", "/proc/self/fd/99/a"},
		{"/proc/self/fd/9", "/home/a.debug", "/home/a.debug"},
		{"", "/a", "/a"},
	} {
		s := &Set{img: &core.Image{Root: tt.root}}
		if got := s.inRoot(tt.name); got != tt.want {
			t.Errorf("%q of %q: got %q, want %q", tt.name, tt.root, got, tt.want)
		}
	}
}
