// Command field compares what sfcore says of snapshots of real programs with what
// gdb and eu-stack say, frame by frame, and prints tables in Markdown. The script
// test/field/run takes the snapshots; each argument is the directory of a program
// that it left:
//
//	go run ./test/field /var/cache/sfcore/field/*/*
//	go run ./test/field -doubts /var/cache/sfcore/field/trixie/node
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
)

func main() {
	doubts := flag.Bool("doubts", false, "print why frames do not have full trust, instead of the tables")
	flag.Parse()
	if err := run(flag.Args(), *doubts); err != nil {
		fmt.Fprintln(os.Stderr, "field:", err)
		os.Exit(1)
	}
}

func run(dirs []string, doubts bool) error {
	var all []*tally
	for _, dir := range dirs {
		t, err := read(dir)
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	out := bufio.NewWriter(os.Stdout)
	if doubts {
		printDoubts(out, all)
	} else {
		printTables(out, all)
	}
	return out.Flush()
}
