package signature

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// Crashes without names join those that have them, unless that is doubtful. Which came
// first does not matter.
func TestGroup(t *testing.T) {
	all := []*Signature{
		{Coarse: "c1", Alias: "a1", Address: "x1", Fine: "f1"},
		{Coarse: "c1", Alias: "a2", Address: "x2", Fine: "f2"}, // another build
		{Alias: "p a2", Address: "x2", Fine: "s2"},             // that build, stripped
		{Alias: "q a1 r", Address: "x9", Fine: "s9"},           // with other outer frames
		{Coarse: "c2", Alias: "a3", Address: "x3", Fine: "f3"}, // two bugs with one alias,
		{Coarse: "c3", Alias: "a3", Address: "x4", Fine: "f4"}, // since few frames have names
		{Alias: "a3", Address: "x4", Fine: "s4"},               // the address tells which
		{Alias: "a3 b", Address: "x5", Fine: "s5"},             // nothing tells
		{Alias: "a3 b", Address: "x6", Fine: "s5"},
		{Alias: "1 2 3 4 5 6", Address: "x7", Fine: "s6"}, // nobody has names
		{Alias: "1 2 3 4 5 7", Address: "x8", Fine: "s7"},
		{Fine: "s8", Address: "x10"}, // nothing but what many have
		{Fine: "s8"},
		{Fine: "s9"},
		{Alias: "1 2 3 4 5 8", Address: "x11", Fine: "s10", Fault: "abort"},
	}
	want := []int{1, 1, 1, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 8}
	rng := rand.New(rand.NewPCG(21, 2))
	for range 200 {
		order := rng.Perm(len(all))
		var shuffled []*Signature
		for _, n := range order {
			shuffled = append(shuffled, all[n])
		}
		_, of := Group(shuffled)
		groups := map[int]int{} // by those that are wanted
		got := make([]int, len(all))
		seen := map[int]bool{}
		for at, n := range order {
			if _, ok := groups[want[n]]; !ok {
				if seen[of[at]] {
					t.Fatalf("%v: crash %d is in another's group", order, n)
				}
				groups[want[n]], seen[of[at]] = of[at], true
			}
			for w, id := range groups {
				if id == of[at] {
					got[n] = w
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", order, got, want)
		}
	}

	g, of := Group(all)
	for _, tt := range []struct {
		s    Signature
		like int // the crash of the group, -1 if it is new
		by   Level
	}{
		{Signature{Coarse: "c1", Address: "x1", Fine: "f1"}, 0, ByAddress},
		{Signature{Coarse: "c1", Address: "y", Fine: "f2"}, 0, ByFine},
		{Signature{Coarse: "c1", Address: "y", Fine: "y"}, 0, ByCoarse},
		{Signature{Alias: "y a1", Address: "y", Fine: "y"}, 0, ByAlias},
		{Signature{Alias: "6", Coarse: "y", Fine: "y"}, 9, ByAlias}, // the first with names
		{Signature{Alias: "a1", Coarse: "y", Fine: "y"}, -1, ""},
		{Signature{Alias: "a3 b", Address: "y", Fine: "s5"}, 7, ByFine},
		{Signature{Alias: "a3 y", Address: "y", Fine: "y"}, -1, ""},
		{Signature{}, -1, ""},
	} {
		group, by, ok := g.Find(&tt.s)
		if ok != (tt.like >= 0) || by != tt.by || ok && group != of[tt.like] {
			t.Errorf("%+v: got group %d by %s, %v, want that of %d by %s", tt.s, group, by, ok, tt.like, tt.by)
		}
	}
}
