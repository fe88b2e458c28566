package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
)

// pluginProgram is the program that serves hosts; see docs/RATIONALE.md.
const pluginProgram = "sfcore-plugin"

func newPluginCommand() *cobra.Command {
	var linger time.Duration
	cmd := &cobra.Command{
		Use:   "plugin [flags]",
		Short: "Serve another program as its plugin",
		Long: `plugin serves the program that started it, by HashiCorp's go-plugin protocol over
gRPC. It opens core files and running processes, or unwinds a process that the
program itself holds. docs/plugin.md says how to write such a program.

plugin runs ` + pluginProgram + `, which must be next to sfcore or in PATH.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			name, err := findProgram(pluginProgram)
			if err != nil {
				return err
			}
			return become(name, "-linger="+linger.String())
		},
	}
	cmd.Flags().DurationVar(&linger, "linger", time.Minute, "end after this long without a connection, for example when the host was killed")
	return cmd
}

// findProgram returns the path of a program that belongs to sfcore: next to
// it, or in PATH.
func findProgram(name string) (string, error) {
	file := name
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(self); err == nil {
			self = resolved
		}
		if beside := filepath.Join(filepath.Dir(self), file); isProgram(beside) {
			return beside, nil
		}
	}
	if path, err := exec.LookPath(file); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%s is neither next to sfcore nor in PATH; to build it: go install github.com/sfcore/sfcore/cmd/%s", file, name)
}

func isProgram(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}
