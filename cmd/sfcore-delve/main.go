// Command sfcore-delve runs delve for "sfcore goroutines", which starts it. It is
// a program of its own for two reasons: delve would double the time that every
// other command takes to start, and delve may fail on a damaged process.
package main

import (
	"fmt"
	"os"

	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/delve/backend"
	"github.com/sfcore/sfcore/internal/version"
)

const byHand = `sfcore-delve: this is a part of sfcore. To list goroutines:

  sfcore goroutines core.1234
`

func main() {
	if err := companion.Check("sfcore-delve"); err != nil {
		fmt.Fprintln(os.Stderr, "sfcore:", err)
		os.Exit(2)
	}
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("sfcore-delve version", version.Get())
		return
	}
	if len(os.Args) != 2 || os.Args[1] != "serve" {
		fmt.Fprint(os.Stderr, byHand)
		os.Exit(1)
	}
	if err := backend.Serve(os.Stdin, os.Stdout, backend.LimitMemory); err != nil {
		fmt.Fprintf(os.Stderr, "sfcore-delve: %v\n", err)
		os.Exit(2)
	}
}
