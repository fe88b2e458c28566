//go:build docs

package main

import (
	"os"

	"github.com/sfcore/sfcore/internal/manual"
	"github.com/sfcore/sfcore/internal/version"
)

// With the tag docs, the program writes its manual pages to the directory that is its
// argument, and does nothing else.
func init() {
	if err := manual.Write(newRootCommand(), version.Get().Version, os.Args[1]); err != nil {
		say(err.Error())
		os.Exit(2)
	}
	os.Exit(0)
}
