//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// become runs another program in place of this one, whose exit code is its.
func become(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
