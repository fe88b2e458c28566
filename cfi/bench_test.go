package cfi

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// BenchmarkFind measures one lookup: at 30 places again and again, as stacks
// do, and at the middle of every function.
func BenchmarkFind(b *testing.B) {
	for _, bb := range []struct {
		name, file string
		n          int
	}{
		{"stack/amd64", "libc.amd64", 30},
		{"everywhere/amd64", "libc.amd64", 1 << 30},
		{"everywhere/aarch64", "pac.aarch64", 1 << 30},
		{"everywhere/s390x", "proepi.s390x", 1 << 30},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s := openSection(b, bb.file)
			pcs := middles(b, s)
			pcs = pcs[:min(bb.n, len(pcs))]
			benchmarkFind(b, s, pcs)
		})
	}
	for _, bb := range []struct{ name, file string }{{"plt", "libc.amd64"}, {"signal", "proepi.amd64"}} {
		b.Run(bb.name, func(b *testing.B) {
			s := openSection(b, bb.file)
			benchmarkFind(b, s, []uint64{computedCFA(b, s)})
		})
	}
}

func benchmarkFind(b *testing.B, s *Section, pcs []uint64) {
	var m Machine
	var row arch.Row
	regs, mem := numbered(), &memreader.Words{R: zeroes{}, BigEndian: s.arch.BigEndian}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if found, err := m.Find(s, pcs[i], regs, mem, &row); !found || err != nil {
			b.Fatal(found, err)
		}
		if i++; i == len(pcs) {
			i = 0
		}
	}
}

// BenchmarkScan measures the first lookup in a libc without a table.
func BenchmarkScan(b *testing.B) {
	f := openELF(b, "libc.amd64")
	frame, addr := sectionData(f, ".eh_frame")
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		s, err := ParseEHFrame(arch.AMD64, frame, addr, nil, 0, Bases{})
		if err != nil {
			b.Fatal(err)
		}
		s.lookup()
	}
}

// BenchmarkRows measures a listing of a whole libc.
func BenchmarkRows(b *testing.B) {
	s := openSection(b, "libc.amd64")
	var m Machine
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		for f, err := range s.FDEs() {
			if err != nil {
				b.Fatal(err)
			}
			for _, err := range m.Rows(s, f) {
				if err != nil {
					b.Fatal(err)
				}
				rows++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}

// middles returns the address in the middle of every FDE.
func middles(t testing.TB, s *Section) []uint64 {
	var pcs []uint64
	for _, f := range allFDEs(t, s) {
		pcs = append(pcs, f.Start+f.Size/2)
	}
	return pcs
}

// computedCFA returns the first address at which the CFA is an expression: in
// libc that of a PLT of 11 operations, in proepi that of a signal frame, whose
// registers are 17 expressions more.
func computedCFA(t testing.TB, s *Section) uint64 {
	var m Machine
	for _, f := range allFDEs(t, s) {
		for r, err := range m.Rows(s, f) {
			if err == nil && len(r.Exprs) > 0 && r.Exprs[0].Reg == arch.NoReg {
				return r.Lo
			}
		}
	}
	t.Fatal("the CFA is always a register and an offset")
	return 0
}

// zeroes is memory that holds 0 everywhere.
type zeroes struct{}

func (zeroes) ReadMem(p []byte, _ uint64) (int, error) {
	clear(p)
	return len(p), nil
}
