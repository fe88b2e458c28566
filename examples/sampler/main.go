// Command sampler shows where a process is, 100 times in five seconds: it counts equal
// stacks, and prints them as "folded stacks" for flame graphs.
//
//	sampler PID > stacks.folded
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

const (
	samples = 100
	pause   = 50 * time.Millisecond
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "sampler:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: sampler PID")
	}
	pid, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	var p *process.Process
	counts := map[string]int{}
	for range samples {
		// The process stands still only within Attach.
		what := core.AttachOptions{}
		if p != nil {
			what.After = p.Image() // files stay open, and are not searched again
		}
		img, err := core.Attach(ctx, pid, what)
		if err != nil {
			return err
		}
		if p == nil {
			p = process.New(img, process.Options{})
			defer func() { p.Close() }()
		} else {
			p = process.Next(p, img)
		}
		for stack := range process.Parallel(ctx, p, p.Threads(), folded) {
			counts[stack]++
		}
		time.Sleep(pause)
	}
	for stack, n := range counts {
		fmt.Println(stack, n)
	}
	return nil
}

// folded returns the functions of a stack, the outermost first.
func folded(w *process.Walker, th *core.Thread) string {
	var names []string
	for _, f := range w.Describe(w.Walk(th), false).Frames {
		name := f.Function
		if name == "" {
			name = fmt.Sprintf("%#x", uint64(f.PC))
		}
		names = append(names, strings.ReplaceAll(name, ";", ":"))
	}
	names = append(names, th.Name)
	slices.Reverse(names)
	return strings.Join(names, ";")
}
