// Command signatures builds programs with bugs, two for each function that they crash
// in, crashes them, and measures how well signatures group the crashes: beside the rules
// of ClusterFuzz, Apport and Socorro on the same stacks. It also groups the cores of
// testdata. It prints tables in Markdown. It needs gcc, clang, rustc and go, and
// kernel.core_pattern must be "core":
//
//	go run ./test/signatures
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sfcore/sfcore/report/signature"
)

func main() {
	runs := flag.Int("runs", 3, "crash every build of a bug so many times")
	keep := flag.String("dir", "", "build and crash in `DIR`, and keep what is there")
	list := flag.Bool("list", false, "also list the groups that have several bugs, and the bugs that have several groups")
	flag.Parse()
	if err := run(context.Background(), *runs, *keep, *list); err != nil {
		fmt.Fprintln(os.Stderr, "signatures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, runs int, dir string, list bool) error {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "signatures"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	fmt.Printf("Rules %s.\n", signature.Default().Version)
	for _, part := range []string{"first", "second", "third", "fourth", "fifth", "sixth"} {
		crashes, err := generated(ctx, filepath.Join(dir, part), part, runs)
		if err != nil {
			return err
		}
		if len(crashes) > 0 {
			table("The "+part+" part of the bugs", crashes, list)
		}
	}
	crashes, err := fromTestdata(ctx, "testdata/cores")
	if err != nil {
		return err
	}
	table("The cores of testdata", crashes, list)
	return nil
}
