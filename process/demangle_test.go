package process

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
)

// TestDemangle has long names, which may take only so much time together.
func TestDemangle(t *testing.T) {
	p := newProcess(t, &core.Image{})
	short, long := "_Z1fv", "_Z300"+strings.Repeat("x", 300)+"v"
	edge := "_Z251" + strings.Repeat("y", 251) // of 256 bytes
	const used = int64(2e9)
	for _, tt := range []struct {
		used       int64
		name, want string
	}{
		{0, short, "f()"},
		{0, long, strings.Repeat("x", 300) + "()"},
		{used, long, strings.Repeat("x", 300) + "()"},
		{used + 1, short, "f()"},
		{used + 1, edge, strings.Repeat("y", 251)},
		{used + 1, edge + "v", edge + "v"},
	} {
		p.demangling.Store(tt.used)
		if got := p.demangle(tt.name); got != tt.want {
			t.Errorf("%d ns used: got %q, want %q", tt.used, got, tt.want)
		}
		if taken := p.demangling.Load(); (taken > tt.used) != (tt.name == long) {
			t.Errorf("%d ns used: got %d then, of a name of %d bytes", tt.used, taken, len(tt.name))
		}
	}
	const want = "demangling long names took more than 2s; the others are shown as they are in symbol tables"
	if got := p.Problems(); len(got) != 1 || got[0] != want {
		t.Errorf("got problems %q, want %q", got, want)
	}
}
