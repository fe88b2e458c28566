//go:build !linux

// Command sfcore-fleet brings the crashes of many machines to one place. It runs on Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "sfcore-fleet: crashes are handled on Linux only")
	os.Exit(2)
}
