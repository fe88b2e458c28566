package compare_test

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
	"github.com/sfcore/sfcore/sframe/synth"
)

// BenchmarkCompare is about libc, 3919 FDEs, with an .sframe section made of
// them.
func BenchmarkCompare(b *testing.B) {
	tg, err := module.OpenFile("../../testdata/cores/amd64-v3-libcdyn-1/sysroot/usr/lib/x86_64-linux-gnu/libc.so.6", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer tg.Close()
	c := tg.Only().Tables.CFI[0]
	const addr = 0x400000
	data, _, err := synth.Section(arch.AMD64, c, sframe.V3, addr)
	if err != nil {
		b.Fatal(err)
	}
	s, err := sframe.Parse(data, addr, sframe.Options{})
	if err != nil {
		b.Fatal(err)
	}
	rows := 0
	b.ReportAllocs()
	for b.Loop() {
		rows = compare.Compare(compare.Module{Arch: arch.AMD64, SFrame: s, CFI: c}).CFIRows
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
}
