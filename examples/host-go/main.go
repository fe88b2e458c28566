// Command host-go starts sfcore as a plugin, and has it open a core file:
//
//	host-go SFCORE CORE PROGRAMS
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/sfcore/sfcore/plugin"
	"github.com/sfcore/sfcore/process"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "host-go:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) != 4 {
		return fmt.Errorf("usage: host-go SFCORE CORE PROGRAMS")
	}
	client, err := plugin.Start(ctx, exec.CommandContext(ctx, os.Args[1], "plugin", "--linger=5s"), plugin.StartOptions{}) //nolint:gosec // the user names the program
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.Open(ctx, plugin.Spec{Core: os.Args[2], Options: process.Options{Paths: []string{os.Args[3]}}})
	if err != nil {
		return err
	}
	for thread, err := range session.Stacks(ctx, false) {
		if err != nil {
			return err
		}
		fmt.Printf("thread %d", thread.TID)
		if thread.Crashed {
			fmt.Print(" crashed")
		}
		fmt.Println()
		for _, f := range thread.Frames {
			fmt.Printf("#%d %#x %s %s\n", f.Index, uint64(f.PC), f.Function, f.Method)
		}
		fmt.Println(thread.Stop.Reason)
	}
	return nil
}
