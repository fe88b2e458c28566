package main

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
)

// Numbers of frames are aligned, and keep apart from names in deep stacks too.
func TestFrameNumbers(t *testing.T) {
	for index, want := range map[int]string{7: "  #7   ? ??", 123: "  #123 ? ??", 1234: "  #1234 ? ??", 262143: "  #262143 ? ??"} {
		w := textFormat{}
		if line := string(w.frame(nil, &report.Frame{Index: index})); !strings.HasPrefix(line, want) {
			t.Errorf("frame %d: got %q, want %q first", index, line, want)
		}
	}
}
