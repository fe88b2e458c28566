//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// become runs another program and exits with its exit code.
func become(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
