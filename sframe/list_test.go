package sframe

import "testing"

// A row that cannot be decoded is told of, as the last thing yielded.
func TestFREsDamaged(t *testing.T) {
	everyABI(t, func(t *testing.T, v Version, abi ABI) {
		raw := plain(v, abi)
		raw.funcs[0].rows[1].info |= 3 << 5 // size of the words
		s := parseRaw(t, raw.bytes().Done())
		rows, errs := 0, 0
		for _, err := range s.FREs(firstFunc(t, s)) {
			switch {
			case err != nil:
				errs++
			case errs > 0:
				t.Error("a row comes behind the error")
			default:
				rows++
			}
		}
		if rows != 1 || errs != 1 {
			t.Errorf("got %d rows and %d errors, want 1 and 1", rows, errs)
		}
	})
}

// A function that Funcs returns with an error has that error and no rows.
func TestFREsOfDamaged(t *testing.T) {
	raw := plain(V2, AMD64LE)
	raw.funcs[0].info |= infoFREType
	s := parseRaw(t, raw.bytes().Done())
	for f, want := range s.Funcs() {
		if want == nil {
			continue
		}
		n := 0
		for e, err := range s.FREs(f) {
			if n++; err == nil || err.Error() != want.Error() {
				t.Errorf("got %+v, %v, want %v", e, err, want)
			}
		}
		if n != 1 {
			t.Errorf("got %d rows and errors, want 1", n)
		}
		return
	}
	t.Error("no function is damaged")
}
