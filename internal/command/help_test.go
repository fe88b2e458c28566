package command

import "testing"

func TestFit(t *testing.T) {
	for in, want := range map[string]string{
		"short\n": "short\n",
		"a line of thirty columns here.\nand a line that is longer than thirty columns\n": "a line of thirty columns here.\nand a line that is longer than\nthirty columns\n",
		"and a line that is longer than thirty columns\nand one more.\n\nUsage:\n":        "and a line that is longer than\nthirty columns and one more.\n\nUsage:\n",
		"and a line that is longer than thirty columns\n  an example\n":                   "and a line that is longer than\nthirty columns\n  an example\n",
		"  -p, --pid PID   print the stacks of a process\n":                               "  -p, --pid PID   print the\n  stacks of a process\n",
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
