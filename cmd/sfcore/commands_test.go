package main

import (
	"bytes"
	"context"
	"testing"
)

// TestOnlyCommand has each command print its help where it is the only one, and where
// all are there.
func TestOnlyCommand(t *testing.T) {
	all := len(newRootCommand().Commands())
	for _, c := range commands {
		if root := newRootCommand(c.name, "--help"); len(root.Commands()) != all-len(commands)+1 {
			t.Errorf("%s: got %d commands, want one of %d", c.name, len(root.Commands()), len(commands))
		}
		var help [2]bytes.Buffer
		for i, args := range [][]string{{c.name}, nil} {
			root := newRootCommand(args...)
			root.SetOut(&help[i])
			root.SetArgs([]string{c.name, "--help"})
			if code := run(context.Background(), root); code != exitComplete {
				t.Errorf("%s: got status %d", c.name, code)
			}
		}
		if got, want := help[0].String(), help[1].String(); got != want || got == "" {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
	}
	for _, args := range [][]string{{}, {"--help"}, {"help", "bt"}, {"__complete", "bt"}, {"core.1234"}, {"--version"}} {
		if got := len(newRootCommand(args...).Commands()); got != all {
			t.Errorf("%q: got %d commands, want %d", args, got, all)
		}
	}
}
