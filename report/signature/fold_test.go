package signature

import (
	"strings"
	"testing"
)

// Recursion of any depth leaves the same.
func TestFolded(t *testing.T) {
	for stack, want := range map[string]string{ // functions of one letter, the innermost first
		"":              "",
		"a":             "a",
		"cba":           "cba",
		"xaaaam":        "xam",
		"xababam":       "xabam",
		"xabababababam": "xabam",
		"xbababam":      "xbam",
		"xbababababam":  "xbam",
		"xaabaabm":      "xabm",
		"abcdabcdabcdm": "abcdm",
		"ababxabab":     "abxab",
	} {
		if got := letters(stack, folded(keysOf(stack))); got != want {
			t.Errorf("%s: got %s, want %s", stack, got, want)
		}
	}
}

// Where the stack overflowed, the leaf is chance, as are the function that it was called
// by, the order, and how much of the stack is there.
func TestRecursion(t *testing.T) {
	for stack, want := range map[string]string{
		"":                  "",
		"cbam":              "",
		"xyababababm":       "ab",
		"xybabababm":        "ab",
		"ppabbabaabbm":      "abp",
		"xyabababababababa": "ab",
		"pp" + strings.Repeat("abcbccab", 20) + "m": "abc",
	} {
		if got := letters(stack, recursion(keysOf(stack), func(at int) string { return stack[at : at+1] })); got != want {
			t.Errorf("%s: got %s, want %s", stack, got, want)
		}
	}
}

func keysOf(stack string) (keys []int) {
	seen := map[rune]int{}
	for _, c := range stack {
		if _, ok := seen[c]; !ok {
			seen[c] = len(seen)
		}
		keys = append(keys, seen[c])
	}
	return keys
}

func letters(stack string, at []int) string {
	var b strings.Builder
	for _, i := range at {
		b.WriteByte(stack[i])
	}
	return b.String()
}

// A deep stack is folded in a time that grows with its size.
func BenchmarkFolded(b *testing.B) {
	keys := make([]int, 1<<18)
	for i := range keys {
		keys[i] = i % 17 * (i % 3)
	}
	for b.Loop() {
		folded(keys)
	}
}
