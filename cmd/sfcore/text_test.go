package main

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
)

// Numbers of frames are aligned, and keep apart from addresses in deep stacks too.
func TestFrameNumbers(t *testing.T) {
	for index, want := range map[int]string{7: "  #7   0x", 123: "  #123 0x", 1234: "  #1234 0x", 262143: "  #262143 0x"} {
		w := textFormat{}
		if line := string(w.frame(nil, &report.Frame{Index: index})); !strings.HasPrefix(line, want) {
			t.Errorf("frame %d: got %q, want %q first", index, line, want)
		}
	}
}
