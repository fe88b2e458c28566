// Command sfcore-delve runs delve for "sfcore goroutines", which starts it. It is
// a program of its own for two reasons: delve would double the time that every
// other command takes to start, and delve may fail on a damaged process.
package main

import (
	"fmt"
	"os"

	"github.com/sfcore/sfcore/internal/delve/backend"
)

const byHand = `sfcore-delve: this is a part of sfcore. To list goroutines:

  sfcore goroutines core.1234
`

func main() {
	if len(os.Args) != 2 || os.Args[1] != "serve" {
		fmt.Fprint(os.Stderr, byHand)
		os.Exit(1)
	}
	if err := backend.Serve(os.Stdin, os.Stdout, backend.LimitMemory); err != nil {
		fmt.Fprintf(os.Stderr, "sfcore-delve: %v\n", err)
		os.Exit(2)
	}
}
