// Command gopanic ends as its argument says. Names that end in "-twin" look like the one
// before and have another cause.
package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

type trouble struct{ code int }

var none map[string]int

func main() {
	defer func() {
		switch os.Args[1] {
		case "recovered-twin": // a panic that is over
			_ = recover()
			kill()
		case "deferred-twin": // one that is not, and does not end the program
			kill()
		}
	}()
	var missing *trouble
	switch os.Args[1] {
	case "text":
		panic("no disk")
	case "error":
		panic(errors.New("no disk"))
	case "wrapped":
		panic(fmt.Errorf("reading: %w", errors.New("no disk")))
	case "number":
		panic(-7)
	case "value":
		panic(trouble{3})
	case "nil":
		fmt.Println(missing.code)
	case "index":
		fmt.Println(os.Args[len(os.Args)+3])
	case "map":
		none["x"] = 1
	default:
		panic("over")
	}
}

func kill() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGABRT); select {} }
