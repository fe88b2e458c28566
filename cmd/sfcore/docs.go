//go:build docs

package main

import (
	"fmt"
	"os"

	"github.com/sfcore/sfcore/internal/manual"
	"github.com/sfcore/sfcore/internal/version"
)

// With the tag docs, the program writes its manual pages to the directory that is its
// argument, and does nothing else. What writes them is not for users to carry.
func init() {
	if err := manual.Write(newRootCommand(), version.Get().Version, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sfcore:", err)
		os.Exit(exitFailed)
	}
	os.Exit(exitComplete)
}
