package dap

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/unwind"
)

// The view of a frame has every bit of its evidence, also those that say why it
// is marked.
func TestEvidence(t *testing.T) {
	if got := evidence(&unwind.Frame{Method: unwind.Registers}); got != "the thread's own registers" {
		t.Errorf("got %q", got)
	}
	if got := evidence(&unwind.Frame{Method: unwind.CFI}); got != "none" {
		t.Errorf("got %q, want none", got)
	}
	for bit := unwind.AfterCall; bit <= unwind.Uncertain; bit <<= 1 {
		f := unwind.Frame{Method: unwind.SFrame, Evidence: unwind.Executable | bit}
		if got := evidence(&f); !strings.Contains(got, bit.String()) || !strings.Contains(got, "in executable memory") {
			t.Errorf("%v: got %q", bit, got)
		}
	}
}
