package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/elfx"
)

// pathFlag takes files too.
const pathFlag = "--path"

// unlimited is for files, of how many may be given.
const unlimited = math.MaxInt

// files checks how many files are given.
func files(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return fmt.Errorf("%d files are given; usage: %s", n, cmd.UseLine())
		}
		return nil
	}
}

// group makes a command that has only commands below it refuse others.
func group(cmd *cobra.Command) {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.DisableFlagsInUseLine = true
}

// helpTopic checks that there is a command to help with.
func helpTopic(help *cobra.Command, args []string) error {
	cmd, rest, err := help.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = unknownCommand(cmd, rest[0])
	}
	return err
}

// unknownCommand is the error for what is no command, with what may have been
// meant.
func unknownCommand(cmd *cobra.Command, name string) error {
	hint := ""
	if _, err := os.Stat(name); err == nil && !cmd.HasParent() {
		hint = ", but a file; the stacks of a core: sfcore bt " + name
	} else if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		hint = "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return fmt.Errorf("%q is not a command of %s%s", name, cmd.CommandPath(), hint)
}

// checkDirs checks that the directories that a flag names are there; "" is a
// flag that was not given.
func checkDirs(flag string, names ...string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		st, err := os.Stat(name)
		if err == nil && !st.IsDir() && flag != pathFlag {
			err = errors.New(name + " is not a directory")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	return nil
}

// checkProgram checks that a file is one that can be a program.
func checkProgram(name string) error {
	f, release, err := elfx.Open(name)
	if err == nil {
		defer release()
	}
	format, damaged := errors.AsType[*elfx.FormatError](err)
	switch {
	case damaged && format.Field == "e_ident":
		return fmt.Errorf("%s: %s; a program is needed", name, format.Msg)
	case errors.As(err, new(*fs.PathError)):
		return err // it has the name
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case f.Type == elfx.TypeCore:
		return fmt.Errorf("%s: this is a core file; a program is needed", name)
	}
	return nil
}
