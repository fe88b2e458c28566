//go:build !linux

package main

import (
	"fmt"
	"os"

	"github.com/sfcore/sfcore/internal/version"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("sfcore-crash version", version.Get())
		return
	}
	fmt.Fprintln(os.Stderr, "sfcore: crashes are handled on Linux only; read cores and reports with sfcore bt")
	os.Exit(2)
}
