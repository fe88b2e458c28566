package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/elfx"
)

// pathFlag is the flag that accepts files as well as directories.
const pathFlag = "--path"

// unlimited disables the upper bound on file arguments.
const unlimited = math.MaxInt

// files checks the number of file arguments.
func files(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return fmt.Errorf("wrong number of files: %d; usage: %s", n, cmd.UseLine())
		}
		return nil
	}
}

// parsing is what strconv says of the value of a flag.
var parsing = regexp.MustCompile(`strconv\.\w+: parsing "[^"]*": (invalid syntax|value out of range)$`)

// badFlag says in words why the value of a flag is none.
func badFlag(_ *cobra.Command, err error) error {
	at := parsing.FindStringSubmatchIndex(err.Error())
	if at == nil {
		return err
	}
	why := "this is not a number"
	if err.Error()[at[2]:at[3]] == "value out of range" {
		why = "this number is too large"
	}
	return errors.New(err.Error()[:at[0]] + why)
}

// group makes a command that only has subcommands refuse unknown ones.
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

// helpTopic checks that the argument of help is a command.
func helpTopic(help *cobra.Command, args []string) error {
	cmd, rest, err := help.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = unknownCommand(cmd, rest[0])
	}
	return err
}

// unknownCommand reports an unknown subcommand and suggests similar ones.
func unknownCommand(cmd *cobra.Command, name string) error {
	hint := ""
	if _, err := os.Stat(name); err == nil && !cmd.HasParent() {
		hint = "; to print the stacks of a core file: sfcore bt " + name
	} else if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		hint = "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %s%s", name, cmd.CommandPath(), hint)
}

// checkDirs checks that the directories that a flag names exist, and those of
// [pathFlag] that they can be read. An empty name stands for a flag that was not given.
func checkDirs(flag string, names ...string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		st, err := os.Stat(name)
		if err == nil && !st.IsDir() && flag != pathFlag {
			err = errors.New(name + " is not a directory")
		}
		if err == nil && st.IsDir() && flag == pathFlag { // which is searched
			var f *os.File
			if f, err = os.Open(name); err == nil {
				f.Close()
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	return nil
}

// checkProgram checks that a file can be a program.
func checkProgram(name string) error {
	f, release, err := elfx.Open(name, nil)
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
