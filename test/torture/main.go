// Command torture damages the cores and executables of testdata/cores in many
// ways and checks what sfcore does with them. No run may panic or exceed its time
// or memory; reports must survive JSON; and a stack must be whole in a core that
// was cut off behind everything that the stack needs.
//
// A run depends only on -seed and its number, so that
//
//	go run ./test/torture -seed 1 -first 4711 -runs 1
//
// repeats one. The first runs cut every core at every 4 KiB. The others damage a
// core, or one of its executables, at random. Runs are made in child processes:
// a crash costs one run and is reported with its number.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// campaign holds the flags.
type campaign struct {
	corpus      string
	seed        uint64
	first, runs int
	batch       int
	dir         string // for damaged files; of a child process
}

func main() {
	var c campaign
	flag.StringVar(&c.corpus, "corpus", "testdata/cores", "`directory` of the cases")
	flag.Uint64Var(&c.seed, "seed", 1, "of the random damage")
	flag.IntVar(&c.first, "first", 0, "number of the first run")
	flag.IntVar(&c.runs, "runs", 200_000, "how many runs to make")
	flag.IntVar(&c.batch, "batch", 10_000, "runs of a child process")
	flag.StringVar(&c.dir, "dir", "", "make the runs in this process, with their files in this `directory`")
	flag.Parse()
	ok, err := false, error(nil)
	if c.dir != "" {
		err = c.work(os.Stdout)
		ok = err == nil
	} else {
		ok, err = c.supervise()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// supervise makes the runs in child processes, one after the other, and reports
// whether all of them were good.
func (c *campaign) supervise() (ok bool, err error) {
	dir, err := os.MkdirTemp("", "torture-*")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	start, total, crashes := time.Now(), &tally{}, 0
	for n, end := c.first, c.first+c.runs; n < end; {
		batch := min(c.batch, end-n)
		part, at, crash := c.child(dir, n, batch)
		total.add(part)
		if crash == "" {
			n += batch
			continue
		}
		crashes++
		fmt.Fprintf(os.Stderr, "run %d: crashed\n%s\n", at, crash)
		if at < n {
			return false, errors.New("the child process did not start")
		}
		n = at + 1
	}
	fmt.Fprintf(os.Stdout, "%d runs from seed %d in %v: %v; %d crashed\n",
		c.runs, c.seed, time.Since(start).Round(time.Second), total, crashes)
	return crashes == 0 && total.Bad == 0, nil
}

// maxTrace bounds how many lines of a crash are shown: the panicking
// goroutine comes first.
const maxTrace = 60

// child makes runs in a child process. If the child crashed, at is the number of its
// run, and crash its last output.
func (c *campaign) child(dir string, first, runs int) (part *tally, at int, crash string) {
	exe, err := os.Executable()
	if err != nil {
		return &tally{}, -1, err.Error()
	}
	current := filepath.Join(dir, currentFile)
	_ = os.Remove(current)
	cmd := exec.Command(exe, "-dir", dir, "-corpus", c.corpus, "-seed", fmt.Sprint(c.seed),
		"-first", strconv.Itoa(first), "-runs", strconv.Itoa(runs))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	part = &tally{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		if line := lines.Text(); !part.parse(line) {
			fmt.Fprintln(os.Stdout, line)
		}
	}
	if err == nil {
		return part, first, ""
	}
	at = -1
	if data, err := os.ReadFile(current); err == nil {
		at, _ = strconv.Atoi(strings.TrimSpace(string(data)))
	}
	lines := strings.SplitAfter(errs.String(), "\n")
	return part, at, err.Error() + "\n" + strings.Join(lines[:min(len(lines), maxTrace)], "")
}
