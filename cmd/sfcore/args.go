package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

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
