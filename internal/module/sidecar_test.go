package module

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/synth"
)

// FuzzSidecar takes any bytes as a sidecar: it is used, for the build-id that
// it is for, or refused with an error, and what it says of an address is of the
// function around that.
func FuzzSidecar(f *testing.F) {
	const id = "00112233445566778899aabbccddeeff00112233"
	entry := arch.Row{CFA: arch.RegOffset(arch.AMD64.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(arch.AMD64.FP)}
	b := sframe.Builder{Version: sframe.V3, ABI: sframe.AMD64LE, FixedRA: -8}
	b.Funcs = append(b.Funcs, sframe.FuncRows{Start: 0x1000, Size: 64, Rows: []sframe.RowAt{{Row: entry}}})
	section, err := b.Append(nil, 0x4000)
	if err != nil {
		f.Fatal(err)
	}
	var good bytes.Buffer
	if _, err := (&synth.Sidecar{Arch: arch.AMD64, BuildID: id, Addr: 0x4000, SFrame: section}).WriteTo(&good); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes(), uint64(0x1010))
	f.Add(good.Bytes()[:good.Len()-100], uint64(0x1010))
	f.Add(bytes.ReplaceAll(good.Bytes(), []byte{0x11, 0x22}, []byte{0x11, 0x23}), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, pc uint64) {
		file, err := elfx.Parse(data)
		if err != nil {
			return
		}
		m := &Module{BuildID: id}
		l := loader{site: &site{set: &Set{img: &core.Image{Arch: arch.AMD64}}}, m: m}
		err = l.useSidecar("sidecar", file)
		if s := m.Tables.SFrame; (s == nil) == (err == nil) || (err == nil) != (m.Files.Sidecar != "") || s != nil && file.BuildID() != id {
			t.Fatalf("got %v, %q for build-id %s, error %v", s, m.Files.Sidecar, file.BuildID(), err)
		}
		if err != nil {
			return
		}
		if fn, found, err := m.Tables.SFrame.Lookup(pc); found && (err != nil || pc-fn.Start >= uint64(fn.Size)) {
			t.Errorf("at %#x: got %+v, %v", pc, fn, err)
		}
	})
}

// TestSidecarChoice has which file is taken for the sidecar of a module.
func TestSidecarChoice(t *testing.T) {
	good := withID(idA, sframeAt(t, ".sframe", elfx.SectGNUSFrame, 0x4000, 0x1080)).File()
	damaged := sframeAt(t, ".sframe", elfx.SectGNUSFrame, 0x4000, 0x1080)
	damaged.Data[0]++
	cut := withID(idA, sframeAt(t, ".sframe", elfx.SectGNUSFrame, 0x4000, 0x1080)).File()
	binary.LittleEndian.PutUint64(cut[binary.LittleEndian.Uint64(cut[40:])+2*64+32:], 1<<40)
	const name = idA + ".sframe"
	for how, tt := range map[string]struct {
		library       *testkit.ELF
		first, second []byte
		want          int // which directory's; 0 for none
		problem       string
	}{
		"none":                    {withID(idA), nil, nil, 0, ""},
		"the first":               {withID(idA), good, good, 1, ""},
		"the second":              {withID(idA), nil, good, 2, ""},
		"of another build":        {withID(idA), withID(idB).File(), good, 2, "1/NAME: not used: it is for build-id " + idB},
		"without a build-id":      {withID(idA), withID("").File(), nil, 0, "1/NAME: not used: it is for build-id missing"},
		"without a section":       {withID(idA), withID(idA).File(), nil, 0, "1/NAME: not used: it has no .sframe section"},
		"damaged":                 {withID(idA), withID(idA, damaged).File(), nil, 0, "1/NAME: not used: "},
		"cut off":                 {withID(idA), cut, nil, 0, "1/NAME: not used: ELF: sh_size at offset"},
		"no ELF file":             {withID(idA), []byte("text"), nil, 0, "1/NAME: not used: ELF: e_ident at offset 0x0"},
		"for no build-id":         {withID(""), good, nil, 0, ""},
		"the library has its own": {withID(idA, sframeAt(t, ".sframe", elfx.SectGNUSFrame, 0x4000, 0x1080)), good, nil, 0, ""},
	} {
		dir := t.TempDir()
		write(t, dir, "root/lib/x", tt.library.File())
		for sub, data := range map[string][]byte{"1": tt.first, "2": tt.second} {
			if data != nil {
				write(t, dir, sub+"/"+name, data)
			}
		}
		write(t, dir, "1/.sframe", withID("", sframeAt(t, ".sframe", elfx.SectGNUSFrame, 0x4000, 0x1080)).File()) // for none
		mem := tt.library.Memory()
		if how == "for no build-id" {
			mem = tt.library.File()
		}
		set := oneLibrary(t, mem, Options{Sysroot: dir + "/root", SFrameDirs: []string{dir + "/1", dir + "/2"}})
		m := set.sites[0].open()
		got := 0
		switch m.Files.Sidecar {
		case dir + "/1/" + name:
			got = 1
		case dir + "/2/" + name:
			got = 2
		}
		if got != tt.want || (got > 0) != (m.Files.Sidecar != "") || got > 0 && covered(m, 0x1080) != "sframe" {
			t.Errorf("%s: got %q, want directory %d", how, m.Files.Sidecar, tt.want)
		}
		problems := strings.ReplaceAll(strings.ReplaceAll(texts(m.Problems()), name, "NAME"), dir+"/", "")
		if !strings.HasPrefix(problems, tt.problem) || (problems == "") != (tt.problem == "") {
			t.Errorf("%s: got problems %q, want %q", how, problems, tt.problem)
		}
		if d := set.Describe(m); d.SFrame != nil && d.SFrame.File != m.Files.Sidecar || len(d.Problems) != len(m.Problems()) {
			t.Errorf("%s: described as %+v", how, d)
		}
	}
}

// A sidecar that is not used is closed at once, and one that is used with the set.
func TestSidecarClosed(t *testing.T) {
	dir := t.TempDir()
	e := withID(idA)
	write(t, dir, "root/lib/x", e.File())
	write(t, dir, "1/"+idA+".sframe", withID(idB).File())
	write(t, dir, "2/"+idA+".sframe", withID(idA, sframeAt(t, ".sframe", elfx.SectGNUSFrame, 0x4000, 0x1080)).File())
	img := oneLibrary(t, e.Memory(), Options{}).Image()
	testkit.Leaks(t, 100, func(int) {
		set := Find(img, Options{Sysroot: dir + "/root", SFrameDirs: []string{dir + "/1", dir + "/2"}})
		if set.sites[0].open().Tables.SFrame == nil {
			t.Errorf("got no sidecar: %v", set.Problems())
		}
		set.Close()
	})
}
