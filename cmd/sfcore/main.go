// Command sfcore prints the stack of every thread of a Linux process, from a
// core file or live, and says how each frame was found.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/command"
	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/version"
)

// Exit codes of every command.
const (
	exitComplete   = 0
	exitIncomplete = 1 // something is missing or damaged; a message says what
	exitFailed     = 2 // nothing could be done
	exitNew        = 3 // sig --against: a crash is of no known group
)

func main() {
	if err := companion.Check("sfcore"); err != nil {
		fmt.Fprintln(os.Stderr, "sfcore:", err)
		os.Exit(exitFailed)
	}
	ctx, stop := interruptible()
	code := run(ctx, newRootCommand(os.Args[1:]...))
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
	case errors.As(err, new(newError)):
		return exitNew
	}
	fmt.Fprintf(root.ErrOrStderr(), "sfcore: %s\n", plain(err.Error()))
	return exitFailed
}

// newError makes a command exit with exitNew.
type newError struct{}

func (newError) Error() string { return "a crash is new" }

// incompleteError makes a command exit with exitIncomplete. The command has
// already said what is incomplete.
type incompleteError struct{}

func (incompleteError) Error() string { return "the result is incomplete" }

// commands make the commands, by their names.
var commands = []struct {
	name string
	make func() *cobra.Command
}{
	{"bt", newBtCommand},
	{"info", newInfoCommand},
	{"print", newPrintCommand},
	{"diff", newDiffCommand},
	{"goroutines", newGoroutinesCommand},
	{"sig", newSigCommand},
	{"shrink", newShrinkCommand},
	{"report-bug", newReportBugCommand},
	{"cache", newCacheCommand},
	{"dap", newDapCommand},
	{"plugin", newPluginCommand},
	{"sframe", newSFrameCommand},
	{"crash", newCrashCommand},
	{"version", newVersionCommand},
}

// newRootCommand makes the command of the program, for a command line that begins with
// args. If that names a command, there is no other one: making all takes longer than a
// small stack.
func newRootCommand(args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   "sfcore",
		Short: "Print the stacks of a Linux process, and say how each frame was found",
		Long: `sfcore prints the stack of every thread of a Linux process: from a core file of
amd64, aarch64 or s390x, on any machine, or from a live process. It unwinds by
SFrame if a module has it, then by call frame information (.eh_frame), then by
other methods. It says for every frame which method found it and how far you may
trust it.

  sfcore bt core.1234                 all stacks, the crashed thread's first
  sfcore bt --path ./build core.zst   programs and libraries are below ./build
  sfcore info core.1234               why the process stopped, and its modules

To begin, read docs/guide/tour.md. It shows sfcore at work on cores that come with
it. A package has docs and these cores below /usr/share/doc/sfcore.

Exit status: 0 if every stack is complete, or ends where --max-frames says, 1 if the
output is incomplete (the reason is printed), 2 if nothing could be done.`,
		Version:       version.Get().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	for _, c := range commands {
		if len(args) > 0 && args[0] == c.name {
			root.AddCommand(c.make())
		}
	}
	if !root.HasSubCommands() {
		for _, c := range commands {
			root.AddCommand(c.make())
		}
	}
	command.Prepare(root)
	command.FitHelp(root, func(cmd *cobra.Command) int { return outputOf(cmd).width() })
	return root
}
