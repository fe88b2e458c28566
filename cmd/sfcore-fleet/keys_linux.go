package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

func newKeysCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keys DIR [HOST...]",
		Short: "Make the keys of a NATS server of your own, and what its configuration includes",
		Long: `keys makes the seeds of nkeys in a directory, one for each role and one for the agent of
each host, and a file that servers of NATS include in their configuration. That has an
account with the rights of each key: an agent can send as its host only, and reads no
crash. Seeds that are there stay; run it again, with all hosts, when there are more.

Each machine gets its own seed and no other. The directory is secret.`,
		Example: `  sfcore-fleet keys /etc/nats/sfcore web1.example.org web2.example.org
  echo 'include "sfcore/` + queue.AccountsFile + `"' >> /etc/nats/nats-server.conf`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o700); err != nil {
				return err
			}
			text, err := queue.Accounts(args[0], args[1:])
			if err != nil {
				return err
			}
			name := filepath.Join(args[0], queue.AccountsFile)
			if err := store.WriteFile(name, []byte(text)); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), name)
			return err
		},
	}
}
