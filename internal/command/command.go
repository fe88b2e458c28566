// Package command has the manners that the command lines of sfcore's programs share:
// what they say of unknown commands and of bad values of flags.
package command

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Prepare gives them to root and to all commands below it, which have been added to it.
func Prepare(root *cobra.Command) {
	root.SetFlagErrorFunc(badFlag)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	group(root)
	worded(root)
	for _, cmd := range root.Commands() {
		switch {
		case cmd.Name() == "help":
			cmd.Args = topic
		case !cmd.Runnable():
			group(cmd)
		}
	}
}

// worded has a command and all below it say in sentences which arguments and flags are
// missing or too many.
func worded(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		worded(below)
	}
	check := cmd.Args
	if !cmd.Runnable() || cmd.DisableFlagParsing {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd, args); err != nil {
				return wrongNumber(cmd, args, err)
			}
		}
		return missingFlag(cmd)
	}
}

// byCobra is what cobra says of the number of arguments: how many are wanted, or that none is.
var byCobra = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(requires at least|accepts|accepts at most|accepts between) (\d+)( and \d+)? arg\(s\),|^unknown command ".*" for ".*"$`)
})

func wrongNumber(cmd *cobra.Command, args []string, err error) error {
	m := byCobra().FindStringSubmatch(err.Error())
	switch {
	case m == nil:
		return err
	case m[2] == "" && len(args) > 0:
		return fmt.Errorf("%s takes no argument, and %q is one; usage: %s", cmd.CommandPath(), args[0], cmd.UseLine())
	}
	what := "an argument is missing"
	if least, _ := strconv.Atoi(m[2]); len(args) >= least {
		what = fmt.Sprintf("%q is an argument too many", args[len(args)-1])
	}
	return fmt.Errorf("%s; usage: %s", what, cmd.UseLine())
}

// missingFlag reports a flag that a command needs and does not have.
func missingFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, needed := f.Annotations[cobra.BashCompOneRequiredFlag]; needed && !f.Changed && err == nil {
			err = fmt.Errorf("%s is missing; usage: %s", valued(cmd, f.Name), cmd.UseLine())
		}
	})
	return err
}

// group makes a command that only has subcommands refuse unknown ones.
func group(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknown(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.DisableFlagsInUseLine = true
}

// topic checks that the argument of help is a command.
func topic(help *cobra.Command, args []string) error {
	cmd, rest, err := help.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = unknown(cmd, rest[0])
	}
	return err
}

// unknown reports an unknown subcommand and suggests similar ones.
func unknown(cmd *cobra.Command, name string) error {
	hint := ""
	if cmd.SuggestionsMinimumDistance = 2; len(name) <= 3 {
		cmd.SuggestionsMinimumDistance = 1
	}
	if _, err := os.Stat(name); err == nil && !cmd.HasParent() {
		hint = "; to print the stacks of a core file: sfcore bt " + name
	} else if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		hint = "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %s%s", name, cmd.CommandPath(), hint)
}

// parsing is what strconv says of the value of a flag.
var parsing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`strconv\.\w+: parsing "[^"]*": (invalid syntax|value out of range)$`)
})

// badFlag says in words what is wrong with a flag.
func badFlag(cmd *cobra.Command, err error) error {
	var no *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &no):
		return unknownFlag(cmd, no.GetSpecifiedName())
	case errors.As(err, &bare):
		return fmt.Errorf("%s: the value is missing; use %s", dashed(bare.GetSpecifiedName()), valued(cmd, bare.GetSpecifiedName()))
	}
	at := parsing().FindStringSubmatchIndex(err.Error())
	if at == nil {
		return err
	}
	why := "this is not a number"
	if err.Error()[at[2]:at[3]] == "value out of range" {
		why = "this number is too large"
	}
	return errors.New(err.Error()[:at[0]] + why)
}

// unknownFlag reports a flag that a command does not have, but maybe one below it.
func unknownFlag(cmd *cobra.Command, name string) error {
	for _, below := range cmd.Commands() {
		if flagOf(below, name) != nil {
			return fmt.Errorf("unknown flag %s for %s; it comes behind a command: %s %s", dashed(name), cmd.CommandPath(), below.CommandPath(), valued(below, name))
		}
	}
	return fmt.Errorf("unknown flag %s for %s; %s --help lists the flags", dashed(name), cmd.CommandPath(), cmd.CommandPath())
}

func flagOf(cmd *cobra.Command, name string) *pflag.Flag {
	if len(name) == 1 {
		return cmd.Flags().ShorthandLookup(name)
	}
	return cmd.Flags().Lookup(name)
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// valued is a flag with what its value is, as --help has it.
func valued(cmd *cobra.Command, name string) string {
	if f := flagOf(cmd, name); f != nil && strings.Contains(f.Usage, "`") {
		what, _ := pflag.UnquoteUsage(f)
		return dashed(name) + " " + what
	}
	return dashed(name)
}

// Without returns the paths of the commands that do something and have no flag of this
// name. It is for tests.
func Without(root *cobra.Command, flag string) (paths []string) {
	for _, cmd := range root.Commands() {
		paths = append(paths, Without(cmd, flag)...)
		if (!cmd.HasSubCommands() || !cmd.DisableFlagsInUseLine) && !cmd.Hidden && cmd.Flag(flag) == nil {
			paths = append(paths, cmd.CommandPath())
		}
	}
	return paths
}
