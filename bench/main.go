//go:build linux

// Command bench makes core files of known sizes with real programs, and measures
// how long sfcore takes to print all their stacks.
//
//	go run ./bench peers [-small] [-runs N] [-only TEXT] [-record FILE]
//	go run ./bench corpus [-small] [-runs N] [-only TEXT] [-record FILE]
//	go run ./bench growth [-small] [-runs N] [-only TEXT] [-record FILE] [-plot FILE]
//
// peers also measures gdb, eu-stack and, if it is installed, lldb, in turn, and writes a
// table of times and memory. corpus does the same with the small cores of testdata/cores. growth
// makes cores with ten and a hundred times as many threads, frames, modules or
// segments, or of that size.
//
// bench needs gdb and eu-stack; zstd for corpus; and for peers and growth cc, c++ and
// a kernel that writes core files to the working directory
// (kernel.core_pattern=core).
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is a series of measurements.
type bench struct {
	runs   int    // how often each command is timed, after one run to warm up
	only   string // in the names of the cases that are wanted
	dir    string // for what is built
	sfcore string // the program
	out    io.Writer
}

func run(args []string) error {
	flags := flag.NewFlagSet("bench peers|corpus|growth", flag.ExitOnError)
	small := flags.Bool("small", false, "use small cores, to see that everything works")
	runs := flags.Int("runs", 5, "time each command `N` times, after one run to warm up")
	only := flags.String("only", "", "run only cases with `TEXT` in their name")
	record := flags.String("record", "", "also write what is printed to `FILE`")
	plot := flags.String("plot", "", "draw the growth as SVG into `FILE`")
	if len(args) == 0 || !slices.Contains([]string{"peers", "corpus", "growth"}, args[0]) {
		return errors.New("say what to measure: peers, corpus or growth")
	}
	_ = flags.Parse(args[1:]) // which exits

	dir, err := os.MkdirTemp("", "sfcore-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var text strings.Builder
	b := &bench{runs: *runs, only: *only, dir: dir, sfcore: filepath.Join(dir, "sfcore"), out: io.MultiWriter(os.Stdout, &text)}
	// As make build does.
	if err := command(".", "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-o", b.sfcore, "./cmd/sfcore"); err != nil {
		return err
	}
	switch args[0] {
	case "peers":
		err = b.peers(*small)
	case "corpus":
		err = b.corpus(*small)
	case "growth":
		err = b.growth(*small, *plot)
	}
	if err != nil || *record == "" {
		return err
	}
	return os.WriteFile(*record, []byte(text.String()), 0o644)
}

// measureCase makes a core and has it measured.
func (b *bench) measureCase(c *benchCase, measure func(core, exe string) error) error {
	work, err := os.MkdirTemp(b.dir, "case")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	core, err := c.make(work)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	exe, err := filepath.EvalSymlinks(filepath.Join(work, c.exe))
	if err != nil {
		return err
	}
	if err := measure(core, exe); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// heading says what is measured where.
func (b *bench) heading(title string, versions ...[]string) {
	fmt.Fprintf(b.out, "# %s, %s\n\n", title, time.Now().Format("2006-01-02"))
	fmt.Fprintf(b.out, "%s, %d CPUs; medians of %d runs after one to warm up; every stack is printed to a file.\n\n", cpu(), runtime.NumCPU(), b.runs)
	versions = append([][]string{{b.sfcore, "--version"}, {"uname", "-sr"}}, versions...)
	for _, v := range versions {
		if text, err := exec.Command(v[0], v[1:]...).Output(); err == nil {
			first, _, _ := strings.Cut(string(text), "\n")
			fmt.Fprintf(b.out, "- %s\n", first)
		}
	}
	fmt.Fprintln(b.out)
}

// cpu returns the name of the processor.
func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// command runs a program in dir and returns what it said if it failed.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return nil
}
