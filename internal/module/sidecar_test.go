package module

import (
	"bytes"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
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
