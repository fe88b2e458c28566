package process

import (
	"slices"
	"testing"
)

// A way of tail calls is proven only if it is the only one.
func TestTailSearch(t *testing.T) {
	const from, to = 1, 9
	for name, tt := range map[string]struct {
		jumps map[uint64][]uint64 // of a function; none is known of others
		want  []uint64            // the functions that jump, the last one first
	}{
		"direct":                        {map[uint64][]uint64{1: {9}}, []uint64{1}},
		"two jumps":                     {map[uint64][]uint64{1: {2, 3}, 2: {}, 3: {9}}, []uint64{3, 1}},
		"a dead end on the way":         {map[uint64][]uint64{1: {2}, 2: {3, 9}, 3: {}}, []uint64{2, 1}},
		"two ways":                      {map[uint64][]uint64{1: {2, 3}, 2: {9}, 3: {9}}, nil},
		"twice from one function":       {map[uint64][]uint64{1: {9, 9}}, nil},
		"two ways to the one before":    {map[uint64][]uint64{1: {2, 3}, 2: {4}, 3: {4}, 4: {9}}, nil},
		"two ways to a dead end":        {map[uint64][]uint64{1: {2, 3, 9}, 2: {4}, 3: {4}, 4: {}}, []uint64{1}},
		"no way":                        {map[uint64][]uint64{1: {2}, 2: {}}, nil},
		"a function of which no more":   {map[uint64][]uint64{1: {9, 2}}, nil},
		"a circle that leads there":     {map[uint64][]uint64{1: {2}, 2: {1, 9}}, nil},
		"a circle that leads elsewhere": {map[uint64][]uint64{1: {2, 9}, 2: {3}, 3: {2}}, []uint64{1}},
		"itself":                        {map[uint64][]uint64{1: {1, 9}}, nil},
	} {
		s := tailSearch{to: to, seen: map[uint64]tailState{}, jumps: func(at uint64) (jumps []jump, all bool) {
			list, ok := tt.jumps[at]
			for _, next := range list {
				jumps = append(jumps, jump{tailCall{pc: at}, next})
			}
			return jumps, ok
		}}
		var got []uint64
		if s.visit(from) {
			for _, c := range s.found {
				got = append(got, c.pc)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// The search for tail calls is bounded, in depth and in all.
func TestTailSearchBounded(t *testing.T) {
	for name, next := range map[string]func(at uint64) []jump{
		"deep": func(at uint64) []jump { return []jump{{to: at + 1}} },
		"wide": func(at uint64) (jumps []jump) {
			for i := range uint64(2) {
				jumps = append(jumps, jump{to: 2*at + i})
			}
			return jumps
		},
	} {
		asked := 0
		s := tailSearch{seen: map[uint64]tailState{}, jumps: func(at uint64) ([]jump, bool) {
			asked++
			return next(at), true
		}}
		if s.visit(1) || asked > maxTailWays {
			t.Errorf("%s: %d functions were looked at", name, asked)
		}
	}
}

// The longest way that is followed has 32 jumps, and 256 functions are looked at.
func TestTailSearchBounds(t *testing.T) {
	for _, tt := range []struct {
		name         string
		jumps, aside uint64 // jumps one after the other, and dead ends from the first function
		want         bool
	}{
		{"the longest way", 32, 0, true}, {"a longer way", 33, 0, false}, {"many functions", 1, 255, true}, {"too many functions", 1, 256, false},
	} {
		s := tailSearch{to: tt.jumps, seen: map[uint64]tailState{}, jumps: func(at uint64) (jumps []jump, all bool) {
			if at == 0 {
				for i := range tt.aside {
					jumps = append(jumps, jump{to: 1000 + i})
				}
			}
			if at < tt.jumps {
				jumps = append(jumps, jump{to: at + 1})
			}
			return jumps, true
		}}
		if got := s.visit(0); got != tt.want || got && len(s.found) != int(tt.jumps) {
			t.Errorf("%s: got %v, %d jumps", tt.name, got, len(s.found))
		}
	}
}
