//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// become makes another program of this process, so that who started it can
// still end it. It returns only if that fails.
func become(name string, args ...string) error {
	return fmt.Errorf("%s: %w", name, syscall.Exec(name, append([]string{name}, args...), os.Environ()))
}
