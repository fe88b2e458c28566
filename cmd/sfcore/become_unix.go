//go:build unix

package main

import (
	"fmt"
	"syscall"

	"github.com/sfcore/sfcore/internal/companion"
)

// become replaces this process with another program, so that the program that
// started it can still end it. It returns only if that fails.
func become(name string, args ...string) error {
	return fmt.Errorf("%s: %w", name, syscall.Exec(name, append([]string{name}, args...), companion.Environ()))
}
