package value

import (
	"strings"
	"testing"
)

// A value may have 64 names: each is cut off.
func TestCut(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"short", "short"},
		{strings.Repeat("x", maxEnumerator), strings.Repeat("x", maxEnumerator)},
		{strings.Repeat("x", 64<<10), strings.Repeat("x", maxEnumerator) + "..."},
		{strings.Repeat("x", maxEnumerator-1) + "é", strings.Repeat("x", maxEnumerator-1) + "..."},
	} {
		if got := cut(tt.name); got != tt.want {
			t.Errorf("%d bytes: got %q", len(tt.name), got)
		}
	}
}
