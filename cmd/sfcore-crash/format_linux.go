package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

var (
	either = []string{"text", "json"}
	lists  = []string{"text", "json", "jsonl"}
)

// formatFlag is the flag that chooses one of some formats.
type formatFlag struct {
	name string
	of   []string
}

func (f *formatFlag) add(cmd *cobra.Command, of []string) {
	f.name, f.of = of[0], of
	usage := "print text or json"
	if len(of) > len(either) {
		usage = "print text, json or jsonl (one per line)"
	}
	cmd.Flags().StringVar(&f.name, "format", f.name, usage)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
}

func (f *formatFlag) check() error {
	if last := len(f.of) - 1; !slices.Contains(f.of, f.name) {
		return fmt.Errorf("--format: unknown format %q; use %s or %s", f.name, strings.Join(f.of[:last], ", "), f.of[last])
	}
	return nil
}
