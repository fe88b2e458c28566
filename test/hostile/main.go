// Command hostile makes inputs that are constructed to be expensive, runs sfcore on
// each, and checks what that costs. No input may take more than 10 s of processor
// or 1 GiB of memory, which is the promise of docs/robustness.md. What takes more
// than half of that is marked: the goal is 5 s and 512 MiB.
//
//	go run ./test/hostile                     # all inputs
//	go run ./test/hostile -quick              # the subset of the gate
//	go run ./test/hostile -keep DIR cfi-program sframe-rows
//
// Nothing is stored: an input is a function that writes the same files each time.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// suite holds the flags.
type suite struct {
	sfcore string // the program to run
	keep   string // the directory for the files; "" for one that is removed
	quick  bool
}

func main() {
	if victim := os.Getenv(victimVariable); victim != "" {
		beVictim(victim)
	}
	var s suite
	flags := flag.NewFlagSet("hostile", flag.ExitOnError)
	flags.StringVar(&s.sfcore, "sfcore", "", "the `program` to run, with sfcore-crash next to it; both are built if none is given")
	flags.StringVar(&s.keep, "keep", "", "make the files in this `directory` and keep them")
	flags.BoolVar(&s.quick, "quick", false, "run only inputs that are made and read in about a second")
	list := flags.Bool("list", false, "print the inputs and run none")
	_ = flags.Parse(os.Args[1:])
	chosen, err := choose(flags.Args(), s.quick)
	ok := err == nil
	switch {
	case !ok:
	case *list:
		for _, in := range chosen {
			fmt.Fprintf(os.Stdout, "%-24s %s\n", in.name, in.what)
		}
	default:
		ok, err = s.run(os.Stdout, chosen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// choose returns the inputs with the given names or, if there are none, all inputs.
func choose(names []string, quick bool) ([]input, error) {
	var chosen []input
	for _, in := range inputs() {
		if len(names) == 0 && (in.quick || !quick) || slices.Contains(names, in.name) {
			chosen = append(chosen, in)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(chosen, func(in input) bool { return in.name == name }) {
			return nil, fmt.Errorf("there is no input %q; -list prints all", name)
		}
	}
	return chosen, nil
}

// run runs sfcore on the inputs, one after the other, and prints a table. It reports
// whether all promises were kept.
func (s *suite) run(out io.Writer, chosen []input) (ok bool, err error) {
	dir := s.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "hostile-*"); err != nil {
			return false, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	program, err := filepath.Abs(s.sfcore)
	if err != nil {
		return false, err
	}
	if s.sfcore == "" {
		program = filepath.Join(dir, "sfcore")
		build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./cmd/sfcore", "./cmd/sfcore-crash", "./cmd/sfcore-plugin")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return false, fmt.Errorf("building sfcore: %w", err)
		}
	}
	ok = true
	fmt.Fprintf(out, "%-24s %9s %7s %9s %5s  %s\n", "input", "KiB", "cpu s", "anon MiB", "exit", "verdict")
	for i := range chosen {
		in := &chosen[i]
		files, err := newFolder(filepath.Join(dir, in.name))
		if err != nil {
			return false, err
		}
		args := in.make(files)
		if files.err != nil {
			return false, fmt.Errorf("%s: %w", in.name, files.err)
		}
		c, err := measure(program, args, files)
		for _, end := range files.ends {
			end()
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", in.name, err)
		}
		verdict := c.verdict()
		ok = ok && verdict != broken
		fmt.Fprintf(out, "%-24s %9d %7.1f %9d %5d  %s\n", in.name, files.size()>>10, c.cpu.Seconds(), c.memory>>20, c.exit, verdict)
		if s.keep == "" {
			_ = os.RemoveAll(files.path)
		}
	}
	return ok, nil
}
