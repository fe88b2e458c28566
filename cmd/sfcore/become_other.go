//go:build !unix

package main

import (
	"os"
	"os/exec"

	"github.com/sfcore/sfcore/internal/companion"
)

// become runs another program and exits with its exit code.
func become(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = companion.Environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
