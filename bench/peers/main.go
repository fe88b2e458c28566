//go:build linux

// Command peers makes core files of known shapes with real programs, has
// sfcore, gdb and eu-stack print all stacks of each in turn, and writes a table
// of the times and of the memory they took.
//
//	go run ./bench/peers [-small] [-runs N] [-record FILE]
//
// It needs cc, gdb and eu-stack, and that the kernel writes core files to the
// working directory (kernel.core_pattern=core).
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	small := flag.Bool("small", false, "use small cores, to see that everything works")
	runs := flag.Int("runs", 5, "time each tool `N` times, after one run to warm up")
	record := flag.String("record", "", "also write the table to `FILE`")
	only := flag.String("only", "", "run only cases with `TEXT` in their name")
	flag.Parse()
	if err := run(*small, *runs, *record, *only); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(small bool, runs int, record, only string) error {
	dir, err := os.MkdirTemp("", "sfcore-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	sfcore := filepath.Join(dir, "sfcore")
	if err := command(".", "go", "build", "-trimpath", "-o", sfcore, "./cmd/sfcore"); err != nil {
		return err
	}
	var table strings.Builder
	out := io.MultiWriter(os.Stdout, &table)
	heading(out, runs, sfcore)
	for i, c := range cases(small) {
		if !strings.Contains(c.name, only) {
			continue
		}
		work := filepath.Join(dir, fmt.Sprint("case", i))
		if err := os.Mkdir(work, 0o755); err != nil {
			return err
		}
		core, err := c.make(work)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := compare(out, &c, sfcore, core, runs); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := os.RemoveAll(work); err != nil {
			return err
		}
	}
	if record == "" {
		return nil
	}
	return os.WriteFile(record, []byte(table.String()), 0o644)
}

// heading says what was measured where.
func heading(out io.Writer, runs int, sfcore string) {
	fmt.Fprintf(out, "# sfcore beside gdb and eu-stack, %s\n\n", time.Now().Format("2006-01-02"))
	fmt.Fprintf(out, "%s, %d CPUs; medians of %d runs after one to warm up; all tools print every stack to a file.\n", cpu(), runtime.NumCPU(), runs)
	for _, v := range [][]string{{sfcore, "--version"}, {"gdb", "--version"}, {"eu-stack", "--version"}, {"uname", "-sr"}} {
		if text, err := exec.Command(v[0], v[1:]...).Output(); err == nil {
			first, _, _ := strings.Cut(string(text), "\n")
			fmt.Fprintf(out, "- %s\n", first)
		}
	}
	fmt.Fprintf(out, "\n| core | size | frames | sfcore | gdb | eu-stack | gdb / sfcore | eu-stack / sfcore |\n|---|---|---|---|---|---|---|---|\n")
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
