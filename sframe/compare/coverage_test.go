package compare_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/sframe/compare"
)

// Ranges do what sets of addresses do.
func TestRanges(t *testing.T) {
	const top = 40
	random := rand.New(rand.NewPCG(1, 2))
	set := func() (compare.Ranges, [top]bool) {
		var rs []compare.Range
		var in [top]bool
		for range random.IntN(5) {
			lo := random.IntN(top - 5)
			hi := lo + random.IntN(5) + 1
			rs = append(rs, compare.Range{Lo: uint64(lo), Hi: uint64(hi)})
			for i := lo; i < hi; i++ {
				in[i] = true
			}
		}
		return compare.NewRanges(rs), in
	}
	for range 2000 {
		code, inCode := set()
		a, inA := set()
		b, inB := set()
		var want compare.Coverage
		for i := range top {
			if a.Has(uint64(i)) != inA[i] {
				t.Fatalf("%v: Has(%d): got %v", a, i, !inA[i])
			}
			if !inCode[i] {
				continue
			}
			want.Code++
			switch {
			case inA[i] && inB[i]:
				want.SFrame++
				want.CFI++
				want.Both++
			case inA[i]:
				want.SFrame++
			case inB[i]:
				want.CFI++
			default:
				want.Neither++
			}
		}
		if got := compare.Cover(code, a, b); got != want {
			t.Fatalf("Cover(%v, %v, %v): got %+v, want %+v", code, a, b, got, want)
		}
		if !slices.IsSortedFunc(a, func(x, y compare.Range) int { return int(x.Hi) - int(y.Lo) }) {
			t.Fatalf("got %v", a)
		}
	}
}

// What a module's tables cover, against a look at each function of the vector.
func TestTableRanges(t *testing.T) {
	m, ok := open(t, "../../testdata/objects/amd64-v3/linked-plt.elf")
	if !ok {
		t.Fatal("no tables")
	}
	sf, err := compare.SFrameRanges(m.Arch, m.SFrame)
	if err != nil {
		t.Error(err)
	}
	want := compare.Ranges{}
	for f, err := range m.SFrame.Funcs() {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, compare.Range{Lo: f.Start, Hi: f.Start + uint64(f.Size)})
	}
	if want = compare.NewRanges(want); !slices.Equal(sf, want) {
		t.Errorf("got %#x, want %#x", sf, want)
	}
	cf, errs := compare.CFIRanges(m.Arch, m.t.Only().Tables.CFI)
	if len(errs) > 0 || !slices.Equal(cf, sf) {
		t.Errorf("got %#x, %v, want %#x", cf, errs, sf)
	}
}
