package signature

import (
	"strings"
	"testing"
)

// Recursion of any depth, that ended in any of its functions, leaves the same.
func TestFolded(t *testing.T) {
	for _, tt := range []struct {
		stack              string // functions of one letter, the innermost first
		anchored, overflow bool
		want               string
	}{
		{"", true, false, ""},
		{"a", true, false, "a"},
		{"cba", true, false, "cba"},
		{"xaaaam", true, false, "xam"},
		{"xababam", true, false, "xabam"},
		{"xbabam", true, false, "xbam"},
		{"xbababam", true, false, "xbam"},
		{"xaabaabm", true, false, "xabm"},
		{"abcdabcdabcdm", true, false, "abcdm"},
		{"ababxabab", true, false, "abxab"},
		// Where the stack overflowed, the leaf is chance, as is the function.
		{"xyababababm", true, true, "abm"},
		{"xbabababm", true, true, "abm"},
		{"ppababababm", true, true, "abm"},
		{"cbam", true, true, "cbam"},
		// Without the outermost frame, the outer end is chance.
		{"xababab", false, false, "xab"},
		{"xabababa", false, false, "xab"},
		{"xabcde", false, false, "xabcde"},
		{"xybabababa", false, true, "ab"},
		{"xyababababab", false, true, "ab"},
	} {
		keys := []int{}
		for i := range tt.stack {
			keys = append(keys, int(tt.stack[i]))
		}
		var got strings.Builder
		for _, i := range folded(keys, tt.anchored, tt.overflow, func(a, b int) bool { return keys[a] < keys[b] }) {
			got.WriteByte(tt.stack[i])
		}
		if got.String() != tt.want {
			t.Errorf("%s, anchored %v, overflow %v: got %s, want %s", tt.stack, tt.anchored, tt.overflow, got.String(), tt.want)
		}
	}
}

// A deep stack is folded in a time that grows with its size.
func BenchmarkFolded(b *testing.B) {
	keys := make([]int, 1<<18)
	for i := range keys {
		keys[i] = i % 17 * (i % 3)
	}
	for b.Loop() {
		folded(keys, true, false, nil)
	}
}
