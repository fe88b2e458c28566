// Command sfcore says where every thread of a stopped Linux process is, and
// how it knows.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Exit codes of every command.
const (
	exitComplete   = 0
	exitIncomplete = 1 // something is missing or damaged, and said
	exitFailed     = 2 // nothing could be done
)

func main() {
	ctx, stop := interruptible()
	code := run(ctx, newRootCommand())
	stop()
	os.Exit(code)
}

// run executes a command line and returns its exit code.
func run(ctx context.Context, root *cobra.Command) int {
	err := root.ExecuteContext(ctx)
	var incomplete incompleteError
	switch {
	case err == nil:
		return exitComplete
	case errors.As(err, &incomplete):
		return exitIncomplete
	}
	fmt.Fprintf(root.ErrOrStderr(), "sfcore: %s\n", plain(err.Error()))
	return exitFailed
}

// version returns the version that the binary was built from, as the go command
// recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version + " (" + info.GoVersion + ")"
	}
	return "unknown"
}

// incompleteError makes a command exit with exitIncomplete. What is incomplete
// has been said.
type incompleteError struct{}

func (incompleteError) Error() string { return "the result is incomplete" }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "sfcore",
		Short: "Where is every thread of a stopped process, and how do we know?",
		Long: `sfcore reads ELF core files of Linux (amd64, aarch64, s390x, on any machine) and
prints the stack of every thread. It unwinds by SFrame where a module has it,
then by call frame information, then by frame pointers, and says for every frame
which method found it and how far it may be trusted.

  sfcore bt core.1234                 all stacks, the crashed thread's first
  sfcore bt --path ./build core.zst   find programs and libraries below ./build
  sfcore info core.1234               why it stopped, and what it was made of

Exit status: 0 if every stack is complete, 1 if something is incomplete (and
said), 2 if nothing could be done.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newBtCommand(), newInfoCommand(), newGoroutinesCommand(), newDapCommand(), newPluginCommand(), newSFrameCommand())
	root.InitDefaultCompletionCmd()
	group(root)
	for _, cmd := range root.Commands() {
		if !cmd.Runnable() {
			group(cmd)
		}
	}
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = helpTopic
	}
	return root
}
