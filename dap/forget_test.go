package dap

import (
	"fmt"
	"testing"

	"github.com/sfcore/sfcore/report"
)

// The stacks that were walked first are forgotten, until there are neither too many nor
// too many frames.
func TestForget(t *testing.T) {
	for _, tt := range []struct {
		name           string
		lengths        []int
		stacks, frames int
		want           string
	}{
		{"none", nil, 2, 10, "[]"},
		{"few", []int{3, 3}, 2, 10, "[0 1]"},
		{"stacks", []int{1, 1, 1}, 2, 10, "[1 2]"},
		{"frames", []int{5, 5, 5}, 9, 10, "[1 2]"},
		{"one that is long", []int{5, 11}, 9, 10, "[]"},
	} {
		s := &snapshot{stacks: map[int]*stack{}}
		for i, n := range tt.lengths {
			s.stacks[i] = &stack{Thread: report.Thread{Frames: make([]report.Frame, n)}}
			s.recent = append(s.recent, i)
		}
		s.forget(tt.stacks, tt.frames)
		if got := fmt.Sprint(s.recent); got != tt.want || len(s.stacks) != len(s.recent) {
			t.Errorf("%s: got %s and %d stacks, want %s", tt.name, got, len(s.stacks), tt.want)
		}
	}
}
