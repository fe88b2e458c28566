package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/command"
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

// TestHelpFits has no line of help that is wider than 80 columns where it goes to a file.
func TestHelpFits(t *testing.T) {
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		var help bytes.Buffer
		cmd.SetOut(&help)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(help.String()) {
			if len(line)-1 > 80 {
				t.Errorf("%s: a line of %d columns: %s", cmd.CommandPath(), len(line)-1, line)
			}
		}
		for _, below := range cmd.Commands() {
			check(below)
		}
	}
	check(newRootCommand())
}

// Every command prints JSON, but for those whose output is something else.
func TestCommandsHaveJSON(t *testing.T) {
	for _, path := range command.Without(newRootCommand(), "format") {
		if !slices.Contains([]string{
			"sfcore crash",                                                                                                             // another program, with a test like this one
			"sfcore dap",                                                                                                               // speaks the debug adapter protocol
			"sfcore plugin",                                                                                                            // speaks the protocol of plugins
			"sfcore help", "sfcore completion bash", "sfcore completion fish", "sfcore completion powershell", "sfcore completion zsh", // texts of cobra
		}, path) {
			t.Errorf("%s has no --format", path)
		}
	}
}
