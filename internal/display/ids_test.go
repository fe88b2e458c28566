package display

import (
	"slices"
	"testing"
)

func TestIDs(t *testing.T) {
	for _, tt := range []struct {
		ids  []int
		want string
	}{
		{nil, ""},
		{[]int{5}, "5"},
		{[]int{6, 5}, "5 6"},
		{[]int{7, 5, 6, 9}, "5-7 9"},
		{[]int{1, 3, 4, 5, 6, 8, 9}, "1 3-6 8 9"},
	} {
		before := slices.Clone(tt.ids)
		if got := IDs(tt.ids); got != tt.want || !slices.Equal(tt.ids, before) {
			t.Errorf("%v: got %q, want %q", tt.ids, got, tt.want)
		}
	}
}
