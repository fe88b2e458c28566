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

// The head of a truncated core says what it lacks, and does not say that gcore made it
// because the signal is lacking, too.
func TestTruncatedHead(t *testing.T) {
	for _, tt := range []struct {
		missing uint64
		lost    report.Truncation
		want    string
	}{
		{1, report.Truncation{MappingCount: 1}, "it lacks 1 byte, with memory of 1 mapping\n"},
		{2, report.Truncation{MappingCount: 3, Threads: []int{7}}, "it lacks 2 bytes, with memory of 3 mappings and of the stacks of 1 thread\n"},
	} {
		doc := report.Document{Source: report.Source{Kind: "core", Missing: tt.missing, Truncated: &tt.lost}}
		got := string((&textFormat{}).head(&doc))
		if !strings.HasSuffix(got, "the core file is truncated: "+tt.want) || strings.Contains(got, "gcore") {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
