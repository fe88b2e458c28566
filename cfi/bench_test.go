package cfi

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// BenchmarkFind measures one lookup at many places of libc, as in a walk.
func BenchmarkFind(b *testing.B) {
	for _, name := range []string{"libc.amd64", "pac.aarch64", "proepi.s390x"} {
		b.Run(name, func(b *testing.B) {
			s := openSection(b, name)
			pcs := middles(b, s)[:30]
			var m Machine
			var row arch.Row
			regs, mem := fullRegs(), &memreader.Words{R: zeroes{}, BigEndian: s.arch.BigEndian}
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
		})
	}
}

// middles returns the address in the middle of every FDE.
func middles(t testing.TB, s *Section) []uint64 {
	var pcs []uint64
	for f, err := range s.FDEs() {
		if err != nil {
			t.Fatal(err)
		}
		pcs = append(pcs, f.Start+f.Size/2)
	}
	return pcs
}

// fullRegs returns registers that are all known.
func fullRegs() *arch.Regs {
	var regs arch.Regs
	for r := range arch.Reg(arch.NumRegs) {
		regs.Set(r, 0x7000_0000_0000+uint64(r)<<16)
	}
	return &regs
}

// zeroes is memory that holds 0 everywhere.
type zeroes struct{}

func (zeroes) ReadMem(p []byte, _ uint64) (int, error) {
	clear(p)
	return len(p), nil
}
