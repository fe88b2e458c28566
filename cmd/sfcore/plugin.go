package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/companion"
)

// pluginProgram is the program that serves hosts; see docs/RATIONALE.md.
const pluginProgram = "sfcore-plugin"

func newPluginCommand() *cobra.Command {
	var linger time.Duration
	var bounds limits
	cmd := &cobra.Command{
		Use:   "plugin [flags]",
		Short: "Serve another program as its plugin",
		Long: `plugin serves the program that started it, by HashiCorp's go-plugin protocol over
gRPC. It opens core files and running processes, or unwinds a process that the
program itself holds. docs/plugin.md says how to write such a program.

plugin runs ` + pluginProgram + `, which must be next to sfcore or in PATH.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := bounds.Check(); err != nil {
				return err
			}
			name, err := companion.Find(pluginProgram)
			if err != nil {
				return err
			}
			return become(name, append(bounds.Args(), "-linger="+linger.String())...)
		},
	}
	bounds.registerServer(cmd, "the session of a process")
	cmd.Flags().DurationVar(&linger, "linger", time.Minute, "end after this long without a connection, for example when the host was killed")
	return cmd
}
