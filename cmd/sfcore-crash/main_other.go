//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "sfcore: crashes are handled on Linux only; read cores and reports with sfcore bt")
	os.Exit(2)
}
