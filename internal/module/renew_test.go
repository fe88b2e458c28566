package module

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
)

// TestRenew has which snapshots take over the modules of the one before: those of the same
// process with the same files. Other memory may come and go.
func TestRenew(t *testing.T) {
	snapshot := func() *core.Image {
		return &core.Image{
			Arch: arch.AMD64, PID: 7, Mem: &testkit.Memory{Segs: map[uint64][]byte{0x1000: {1}}},
			Mappings: []core.Mapping{
				{Lo: 0x1000, Hi: 0x2000, Path: "/lib/x", Exec: true}, {Lo: 0x5000, Hi: 0x6000}, {Lo: 0x6000, Hi: 0x7000, Path: "[stack]"}, {Lo: 0x8000, Hi: 0x9000, Path: vdsoName},
			},
		}
	}
	for name, tt := range map[string]struct {
		change func(*core.Image)
		want   bool
	}{
		"the same":             {func(*core.Image) {}, true},
		"more memory":          {func(i *core.Image) { i.Mappings = append(i.Mappings, core.Mapping{Lo: 0xa000, Hi: 0xb000}) }, true},
		"more stack":           {func(i *core.Image) { i.Mappings[2].Lo -= 0x100 }, true},
		"another process":      {func(i *core.Image) { i.PID++ }, false},
		"another architecture": {func(i *core.Image) { i.Arch = arch.S390X }, false},
		"another file":         {func(i *core.Image) { i.Mappings[0].Path = "/lib/y" }, false},
		"a file elsewhere":     {func(i *core.Image) { i.Mappings[0].Hi += 0x1000 }, false},
		"another vDSO":         {func(i *core.Image) { i.Mappings[3].Lo -= 0x1000 }, false},
		"one file more":        {func(i *core.Image) { i.Mappings = append(i.Mappings, core.Mapping{Lo: 0xa000, Hi: 0xb000, Path: "/"}) }, false},
	} {
		first, closed := snapshot(), 0
		first.OnClose = func() { closed++ }
		s := Find(first, Options{Sysroot: t.TempDir()})
		before := s.At(0x1000)
		next := snapshot()
		tt.change(next)
		if got := s.Renew(next); got != tt.want || (s.Image() == next) != tt.want || closed > 0 != tt.want {
			t.Errorf("%s: got %v, the image is the next: %v, closed %d", name, got, s.Image() == next, closed)
		}
		if s.At(0x1000) != before {
			t.Errorf("%s: the module is another one", name)
		}
	}
}

// A set that was renewed tells of the memory that there is now.
func TestRenewedMemory(t *testing.T) {
	p := newJITProcess(arch.AMD64)
	p.register(p.image(1, "before", jitText+0x100, 0x40, true))
	s := p.set(t)
	if got := funcAt(s, jitText+0x100); got != "[jit] before+0" {
		t.Errorf("got %q", got)
	}
	next := *s.Image()
	q := newJITProcess(arch.AMD64)
	q.register(q.image(1, "now", jitText+0x200, 0x40, true))
	next.Mem = q.set(t).Image().Mem
	next.Mappings = append(slices.Clone(next.Mappings), core.Mapping{Lo: jitText + jitTextSize, Hi: jitText + 2*jitTextSize, Exec: true})
	if p := s.Place(jitText + jitTextSize); p.Executable {
		t.Errorf("got %+v before it was mapped", p)
	}
	if !s.Renew(&next) {
		t.Fatal("the set was not renewed")
	}
	for addr, want := range map[uint64]string{jitText + 0x100: "", jitText + 0x200: "[jit] now+0"} {
		if got := funcAt(s, addr); got != want {
			t.Errorf("%#x: got %q, want %q", addr, got, want)
		}
	}
	if p := s.Place(jitText + jitTextSize); !p.Executable || p.Lo != jitText+jitTextSize {
		t.Errorf("got %+v after it was mapped", p)
	}
	var b [1]byte
	if n, err := s.Memory().ReadMem(b[:], jitStack); n != 1 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
}

// TestMappedFiles has the mappings of files, and of the vDSO, which is like one.
func TestMappedFiles(t *testing.T) {
	all := []core.Mapping{{Path: "/a"}, {}, {Path: "[heap]"}, {Path: vdsoName}, {Path: "a[b]"}, {Path: "x"}, {Path: "["}}
	got := mappedFiles(&core.Image{Mappings: all})
	if want := []core.Mapping{{Path: "/a"}, {Path: vdsoName}, {Path: "a[b]"}, {Path: "x"}}; !slices.Equal(got, want) || all[1].Path != "" {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
