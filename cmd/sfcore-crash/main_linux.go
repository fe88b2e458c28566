// Command sfcore-crash handles crashes: the kernel starts it when a process crashes. It
// is what "sfcore crash" runs, and a program of its own because its libraries would
// cost other commands their start.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/command"
	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/version"
)

func main() {
	err := companion.Check("sfcore-crash")
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
		err = newRootCommand().ExecuteContext(ctx)
		stop()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sfcore: %s\n", display.Text(err.Error()))
		os.Exit(2)
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "crash",
		Short: "Handle crashes without cores: read their stacks, group them, show them",
		Long: `crash reads the stacks of a process when it crashes, while it still stands there. No
core is written. The kernel starts "sfcore-crash pipe" if kernel.core_pattern says
so:

  sysctl kernel.core_pipe_limit=8
  sysctl kernel.core_pattern='|/usr/bin/sfcore-crash pipe %P %u %g %s %d %F'

The stacks are kept below ` + store.Dir + `, and belong to the user of the
process. docs/crash.md describes what is kept, and ` + crash.ConfigFile + `, which
decides that.`,
		Example: `  sfcore crash list
  sfcore crash show last
  sfcore crash top`,
		Version:           version.Get().String(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "sfcore crash"},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetVersionTemplate("sfcore-crash version {{.Version}}\n")
	c := &settings{}
	root.PersistentFlags().StringVar(&c.file, "config", crash.ConfigFile, "read the configuration in `FILE`")
	root.PersistentFlags().StringVar(&c.dir, "store", "", "use the store in `DIR` instead of that of the configuration")
	root.AddCommand(newPipeCommand(c), newDaemonCommand(c), newWatchCommand(c), newImportCommand(c), newResymbolizeCommand(c), newRenameCommand(), newReadCommand(), newReadCoreCommand(), newTestCrashCommand(), newListCommand(c), newShowCommand(c), newInfoCommand(c), newStacksCommand(c), newDumpCommand(c), newTopCommand(c), newStatsCommand(c), newServeCommand(c), newRemoveCommand(c), newStatusCommand(c), newInstallCommand(c), newUninstallCommand())
	command.Prepare(root)
	command.FitHelp(root, command.TerminalWidth)
	return root
}

// settings is where the configuration is.
type settings struct{ file, dir string }

func (s *settings) read() (*crash.Config, error) {
	c, err := crash.ReadConfig(s.file)
	if err == nil && s.dir != "" {
		c.Store, err = filepath.Abs(s.dir)
	}
	return c, err
}

// store opens the store for reading.
func (s *settings) store() (*store.Store, error) {
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(c.Store); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no crash was kept yet: the store %s does not exist; --store names another", c.Store)
	} else if err != nil {
		return nil, err
	}
	return c.OpenStore()
}
