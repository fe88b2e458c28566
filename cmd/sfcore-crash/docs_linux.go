//go:build docs

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/manual"
	"github.com/sfcore/sfcore/internal/version"
)

// With the tag docs, the program writes its manual pages to the directory that is its first
// argument, and to the second the files by which a package has it started.
func init() {
	if err := writeDocs(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sfcore:", err)
		os.Exit(2)
	}
	os.Exit(0)
}

func writeDocs(pages, units string) error {
	if err := manual.Write(newRootCommand(), version.Get().Version, pages); err != nil {
		return err
	}
	files, err := (&crash.Install{Program: "/usr/bin/sfcore-crash", Socket: true}).Files()
	if err != nil {
		return err
	}
	delete(files, crash.SysctlFile) // a package sets nothing by itself
	for name, text := range files {
		if err := write(filepath.Join(units, filepath.Base(name)), text); err != nil {
			return err
		}
	}
	return nil
}
