package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestFitHelp has help as wide as the terminal, up to 100 columns; and 80 without one.
func TestFitHelp(t *testing.T) {
	for width, want := range map[int]int{0: 80, 40: 40, 80: 80, 90: 90, 200: 100} {
		var out bytes.Buffer
		root := &cobra.Command{Use: "sfcore", Long: strings.Repeat("word ", 100), Run: func(*cobra.Command, []string) {}}
		root.SetOut(&out)
		root.SetArgs([]string{"--help"})
		FitHelp(root, func(*cobra.Command) int { return width })
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		got := 0
		for line := range strings.Lines(out.String()) {
			got = max(got, len(strings.TrimSuffix(line, "\n")))
		}
		if got > want || got < want-len("word ") {
			t.Errorf("%d columns: got a line of %d, want %d", width, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for in, want := range map[string]string{
		"short\n": "short\n",
		"a line of thirty columns here.\nand a line that is longer than thirty columns\n": "a line of thirty columns here.\nand a line that is longer than\nthirty columns\n",
		"and a line that is longer than thirty columns\nand one more.\n\nUsage:\n":        "and a line that is longer than\nthirty columns and one more.\n\nUsage:\n",
		"and a line that is longer than thirty columns\n  an example\n":                   "and a line that is longer than\nthirty columns\n  an example\n",
		"  -p, --pid PID   print the stacks of a process\n":                               "  -p, --pid PID   print the\n  stacks of a process\n",
		"  --r N/T  send all of the crashes of it\n":                                      "  --r N/T  send all of the\n           crashes of it\n",
		"  --all    print all of the stacks of it\n":                                      "  --all    print all of the\n           stacks of it\n",
		"  bt     print all of the stacks of it\n":                                        "  bt     print all of the\n         stacks of it\n",
		"  sfcore bt --group --format json core.1234\n":                                   "  sfcore bt --group --format\n  json core.1234\n",
		"a-word-that-is-longer-than-the-terminal and\n":                                   "a-word-that-is-longer-than-the-terminal and\n",
	} {
		if got := fit(in, 30); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
