package main

import (
	"os/exec"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/companion"
)

// crashProgram is the program that handles crashes; see docs/RATIONALE.md.
const crashProgram = "sfcore-crash"

func newCrashCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "crash COMMAND",
		Short: "Handle crashes without cores, and show those that were kept",
		Long: `crash handles processes that crash: it reads their stacks while they stand still, and
no core is written. It also lists and shows the crashes that were kept.

crash runs ` + crashProgram + `, which must be next to sfcore or in PATH. "sfcore crash
help" lists its commands; docs/crash.md describes them.`,
		DisableFlagParsing: true,
		ValidArgsFunction:  completeCrash,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := companion.Find(crashProgram)
			switch {
			case err != nil && len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
				return cmd.Help() // which says what is missing
			case err != nil:
				return err
			}
			return become(name, args...)
		},
	}
}

// completeCrash asks the program that "crash" becomes how a command line can go on.
func completeCrash(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	name, err := companion.Find(crashProgram)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	ask := exec.CommandContext(cmd.Context(), name, append(append([]string{cobra.ShellCompRequestCmd}, args...), begun)...)
	ask.Env = companion.Environ()
	out, err := ask.Output()
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	last := len(lines) - 1
	directive, failed := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
	if err != nil || failed != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return lines[:last], cobra.ShellCompDirective(directive)
}
