package synth_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
	"github.com/sfcore/sfcore/sframe/synth"
)

const (
	codeAt   = 0x1000
	codeSize = 0x40
	sframeAt = 0x8000
)

// ehFrame makes .eh_frame of amd64 with one FDE for codeSize bytes at codeAt.
func ehFrame(augmentation string, program []byte) []byte {
	b := testkit.New(binary.LittleEndian)
	entry := func(name string, body func()) {
		b.Diff(4, name+" end", name, 0).Mark(name)
		body()
		b.Align(4).Mark(name + " end")
	}
	entry("CIE", func() {
		b.D32(0).D8(1).Raw([]byte(augmentation)).D8(0, 1, 0x78, 16)
		if augmentation != "" {
			b.D8(0) // no augmentation data
		}
		b.D8(0x0c, 7, 8, 0x90, 1) // def_cfa rsp+8; RA at c-8
	})
	entry("FDE", func() {
		b.Diff(4, "FDE", "", 0).D64(codeAt, codeSize)
		if augmentation != "" {
			b.D8(0)
		}
		b.Raw(program)
	})
	return b.D32(0).Done()
}

func section(t testing.TB, a *arch.Arch, eh []byte) *cfi.Section {
	t.Helper()
	s, err := cfi.ParseEHFrame(a, eh, 0x5000, nil, 0, cfi.Bases{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plt is the expression for the CFA in a PLT whose entries push at byte 11.
var plt = []byte{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}

func TestSection(t *testing.T) {
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	tests := []struct {
		name         string
		version      sframe.Version
		augmentation string
		program      []byte
		why          synth.Cause
		functions    int
		rows         int
	}{
		{"plain", sframe.V3, "", nil, "", 1, 1},
		{"plain", sframe.V2, "", nil, "", 1, 1},
		{"rows", sframe.V2, "", []byte{0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x50, 0x0c, 7, 8}, "", 1, 4},
		{"rows that SFrame does not tell apart", sframe.V2, "", []byte{0x41, 0x0e, 16, 0x41, 0x83, 2}, "", 1, 2},
		{"CFA in memory", sframe.V3, "", []byte{0x0f, 3, 0x76, 0x78, 0x06}, "", 1, 1},
		{"CFA in memory", sframe.V2, "", []byte{0x0f, 3, 0x76, 0x78, 0x06}, synth.Elsewhere, 0, 0},
		{"CFA from r10", sframe.V3, "", []byte{0x0c, 10, 0}, "", 1, 1},
		{"CFA from r10", sframe.V2, "", []byte{0x0c, 10, 0}, synth.Elsewhere, 0, 0},
		{"CFA is computed", sframe.V3, "", []byte{0x0f, 4, 0x77, 8, 0x31, 0x22}, synth.Expression, 0, 0},
		{"RA is computed", sframe.V3, "", []byte{0x10, 16, 3, 0x77, 8, 0x1f}, synth.Expression, 0, 0},
		{"another register is computed", sframe.V3, "", []byte{0x10, 3, 3, 0x77, 8, 0x1f}, "", 1, 1},
		{"outermost", sframe.V3, "", []byte{0x07, 16}, "", 1, 1},
		{"outermost", sframe.V2, "", []byte{0x07, 16}, synth.Outermost, 0, 0},
		{"FP undefined", sframe.V3, "", []byte{0x07, 6}, synth.UndefinedFP, 0, 0},
		{"SP elsewhere", sframe.V3, "", []byte{0x87, 3}, synth.OtherSP, 0, 0},
		{"SP at the CFA", sframe.V3, "", []byte{0x14, 7, 0}, "", 1, 1},
		{"signal trampoline", sframe.V3, "zS", nil, synth.Signal, 0, 0},
		{"no CFA", sframe.V3, "", []byte{0x0c, 99, 8}, synth.Unusable, 0, 0},
		{"damaged", sframe.V3, "", []byte{0x3f}, synth.Unusable, 0, 0},
		{"PLT", sframe.V3, "", join([]byte{0x0e, 16, 0x46, 0x0e, 24, 0x4a}, plt), "", 2, 4},
		{"PLT", sframe.V2, "", join([]byte{0x0e, 16, 0x46, 0x0e, 24, 0x4a}, plt), "", 2, 4},
		{"PLT at an odd place", sframe.V3, "", join([]byte{0x41}, plt), synth.Expression, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name+" in "+tt.version.String(), func(t *testing.T) {
			s := section(t, arch.AMD64, ehFrame(tt.augmentation, tt.program))
			data, r, err := synth.Section(arch.AMD64, s, tt.version, sframeAt)
			if err != nil {
				t.Fatal(err)
			}
			want := map[synth.Cause]int{}
			if tt.why != "" {
				want[tt.why] = 1
			}
			if !maps.Equal(r.LeftOut, want) || r.Functions != tt.functions || r.Rows != tt.rows {
				t.Errorf("got %v, %d functions, %d rows, want %v, %d, %d", r.LeftOut, r.Functions, r.Rows, want, tt.functions, tt.rows)
			}
			checkSame(t, arch.AMD64, s, data, r)
		})
	}
}

// checkSame checks that a section is valid, and says the same as the call frame
// information that it was made of, but for the functions left out.
func checkSame(t testing.TB, a *arch.Arch, c *cfi.Section, data []byte, r *synth.Result) {
	t.Helper()
	s, err := sframe.Parse(data, sframeAt, sframe.Options{Arch: a})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Validate() {
		if f.Severity == sframe.Error {
			t.Errorf("got %v", f)
		}
	}
	missing := 0
	res := compare.Compare(compare.Module{Arch: a, SFrame: s, CFI: c})
	for _, d := range res.Differences {
		if d.Cause != compare.FunctionMissing {
			t.Fatalf("%s %s at %#x: sframe %v, cfi %v", d.Cause, d.Field, d.Lo, d.SFrame, d.CFI)
		}
		missing++
	}
	left := 0
	for _, n := range r.LeftOut {
		left += n
	}
	keys := map[uint64]bool{}
	for f, err := range c.FDEs() {
		if _, twice := keys[f.Start]; err == nil && !twice {
			keys[f.Start] = f.KeyB && a.PAC
		}
	}
	for f, err := range s.Funcs() {
		if key, known := keys[f.Start]; err != nil || known && f.KeyB() != key {
			t.Errorf("function at %#x: got key B %v, %v", f.Start, f.KeyB(), err)
		}
	}
	if missing > left {
		t.Errorf("got %d functions missing, %d left out", missing, left)
	}
	if r.Written+left != r.FDEs {
		t.Errorf("got %d written and %d left out of %d", r.Written, left, r.FDEs)
	}
}

// Every module of the corpus, in both versions.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("../../testdata/cores/*/exe/*")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../testdata/cores/*libcdyn*/sysroot/usr/lib/*/*")
	if err != nil || len(more) < 4 {
		t.Fatalf("got %d libraries, %v", len(more), err)
	}
	fdes, written := 0, 0
	for _, path := range append(files, more...) {
		if st, err := os.Stat(path); err != nil || st.IsDir() {
			continue
		}
		tg, err := module.OpenFile(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a := tg.Image().Arch
		for _, c := range tg.Only().Tables.CFI {
			for _, version := range []sframe.Version{sframe.V2, sframe.V3} {
				if _, hi := tg.Only().Image().Span(); hi > 1<<31 {
					continue // too far from sframeAt
				}
				data, r, err := synth.Section(a, c, version, sframeAt)
				if err != nil || len(r.Problems) > 0 {
					t.Fatalf("%s: %v, %v", path, err, r.Problems)
				}
				checkSame(t, a, c, data, r)
				fdes, written = fdes+r.FDEs, written+r.Written
			}
		}
		tg.Close()
	}
	if fdes < 38_184 || written*100 < fdes*95 {
		t.Errorf("got %d of %d FDEs written", written, fdes)
	}
}

func TestSidecar(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X} {
		var b bytes.Buffer
		side := synth.Sidecar{Arch: a, BuildID: "0123456789abcdef", Addr: 0x12340000, SFrame: []byte("not really")}
		if n, err := side.WriteTo(&b); err != nil || n != int64(b.Len()) {
			t.Fatalf("got %d, %v", n, err)
		}
		f, err := elfx.Parse(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		s := f.Section(".sframe")
		if s == nil || f.BuildID() != side.BuildID || f.Machine != a.Machine || f.BigEndian != a.BigEndian || s.Addr != side.Addr {
			t.Fatalf("got %+v, build-id %s", s, f.BuildID())
		}
		if data, err := f.SectionData(s); err != nil || !bytes.Equal(data, side.SFrame) {
			t.Errorf("got %q, %v", data, err)
		}
		if p := f.Prog(elfx.ProgGNUSFrame); p == nil || !bytes.Equal(f.SegmentData(p), side.SFrame) || len(f.Problems) > 0 {
			t.Errorf("got segment %+v, %v", p, f.Problems)
		}
	}
	if _, err := (&synth.Sidecar{Arch: arch.AMD64}).WriteTo(&bytes.Buffer{}); err == nil {
		t.Error("no build-id: got no error")
	}
}

// Whatever call frame information says, the section is valid and says nothing
// else.
func FuzzSection(f *testing.F) {
	f.Add(ehFrame("", nil), true)
	f.Add(ehFrame("zS", []byte{0x41, 0x0e, 16, 0x86, 2}), false)
	f.Add(ehFrame("", append([]byte{0x0e, 16, 0x46, 0x0e, 24, 0x4a}, plt...)), true)
	f.Fuzz(func(t *testing.T, eh []byte, v3 bool) {
		s, err := cfi.ParseEHFrame(arch.AMD64, eh, 0x5000, nil, 0, cfi.Bases{})
		if err != nil {
			return
		}
		version := sframe.V2
		if v3 {
			version = sframe.V3
		}
		data, r, err := synth.Section(arch.AMD64, s, version, sframeAt)
		if err != nil {
			t.Fatal(err)
		}
		checkSame(t, arch.AMD64, s, data, r)
	})
}

// BenchmarkSection is about libc: 3919 FDEs.
func BenchmarkSection(b *testing.B) {
	tg, err := module.OpenFile("../../testdata/cores/amd64-v3-libcdyn-1/sysroot/usr/lib/x86_64-linux-gnu/libc.so.6", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer tg.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := synth.Section(arch.AMD64, tg.Only().Tables.CFI[0], sframe.V3, sframeAt); err != nil {
			b.Fatal(err)
		}
	}
}
