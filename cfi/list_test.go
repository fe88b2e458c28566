package cfi

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// Lookup gives the FDE that FDEs gives, with all that its CIE says.
func TestLookup(t *testing.T) {
	for _, a := range bothOrders {
		for _, aug := range []string{"z", "zS", "zB", "zSB"} {
			t.Run(orderOf(a).String()+"/"+aug, func(t *testing.T) {
				s := oneFDE(t, a, cieText{augmentation: aug}, []byte{0}) // the length of augmentation data
				want := allFDEs(t, s)[0]
				got, found, err := new(Machine).Lookup(s, testText+4)
				if got != want || !found || err != nil {
					t.Errorf("got %+v, %v, %v, want %+v", got, found, err, want)
				}
				if got, found, err := new(Machine).Lookup(s, testText+testSize); found || err != nil {
					t.Errorf("behind the end: got %+v, %v", got, err)
				}
			})
		}
	}
}

// A loop over FDEs may end early.
func TestFDEsBreak(t *testing.T) {
	b := newBuilder(arch.AMD64)
	b.cie("cie", cieText{})
	for range 2 {
		b.entry("fde", "cie", func() { b.D64(testText, testSize) })
	}
	n := 0
	for _, err := range b.section(t, arch.AMD64).FDEs() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d FDEs, want 1", n)
	}
}
