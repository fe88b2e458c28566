package sframe

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

const numPCs = 1 << 12

// library returns a section like that of a shared library: functions of 16
// bytes to 4 KiB with 1 to 12 rows, and pcs spread over them.
func library(t testing.TB, v Version, functions int) (s *Section, pcs []uint64) {
	t.Helper()
	const addr, text = 0x7f00_0000_0000, 0x7eff_f000_0000
	b := Builder{Version: v, ABI: AMD64LE, FixedRA: -8}
	rng := rand.New(rand.NewPCG(1, 2))
	pc := uint64(text)
	for range functions {
		f := FuncRows{Start: pc, Size: 16 << rng.IntN(9)}
		rows := 1 + rng.Uint32N(12)
		for i := range rows {
			row := arch.Row{CFA: arch.RegOffset(arch.AMD64.SP, int64(8+8*i)), RA: arch.AtCFA(-8), FP: arch.SameValue(arch.AMD64.FP)}
			if i > 1 {
				row.FP = arch.AtCFA(-16)
			}
			f.Rows = append(f.Rows, RowAt{i * f.Size / rows, row})
		}
		b.Funcs = append(b.Funcs, f)
		pc += uint64(f.Size+15) &^ 15
	}
	for range numPCs {
		f := &b.Funcs[rng.IntN(functions)]
		pcs = append(pcs, f.Start+uint64(rng.Uint32N(f.Size)))
	}
	data, err := b.Append(nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	s, err = Parse(data, addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, pcs
}

// BenchmarkFind looks up pcs all over a library that was looked up before:
// as many as the stacks of a process have, and so many that neither caches nor
// branch predictors hold them. 3,700 functions are those of a C library.
func BenchmarkFind(b *testing.B) {
	for _, v := range []Version{V1, V2, V3} {
		for _, functions := range []int{3700, 75000} {
			for _, places := range []int{128, numPCs} {
				b.Run(fmt.Sprintf("v%s/%d/%d", v, functions, places), func(b *testing.B) {
					s, pcs := library(b, v, functions)
					var row arch.Row
					n := 0
					b.ReportAllocs()
					for b.Loop() {
						if found, err := s.Find(pcs[n%places], &row); !found {
							b.Fatal(err)
						}
						n++
					}
				})
			}
		}
	}
}

// BenchmarkFirstFind is the lookup that checks the order of functions.
func BenchmarkFirstFind(b *testing.B) {
	for _, functions := range []int{3700, 75000} {
		b.Run(fmt.Sprint(functions), func(b *testing.B) {
			s, pcs := library(b, V3, functions)
			var row arch.Row
			for b.Loop() {
				fresh, _ := Parse(s.data, s.addr, Options{})
				if found, err := fresh.Find(pcs[0], &row); !found {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParse shows that it does not depend on the number of functions.
func BenchmarkParse(b *testing.B) {
	for _, functions := range []int{3700, 75000} {
		b.Run(fmt.Sprint(functions), func(b *testing.B) {
			s, _ := library(b, V3, functions)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(s.data, s.addr, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
