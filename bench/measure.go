//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// measurement is the cost of a tool for a core.
type measurement struct {
	time   time.Duration // median
	rss    int64         // peak, in bytes; the largest of all runs
	frames int
}

func (m measurement) String() string {
	return fmt.Sprintf("%s, %d MiB", seconds(m.time), m.rss>>20)
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// tool is a command that prints stacks.
type tool struct {
	words  []string
	frame  string       // what the lines of frames begin with, behind spaces and a mark of lldb
	env    []string     // beside that of this process
	before func() error // what is done before each run, unless it is nil
}

// measure measures a command whose frames are the lines that begin with frame.
func (b *bench) measure(words []string, frame string) (measurement, error) {
	return b.measureTool(&tool{words: words, frame: frame})
}

// measureTool runs a tool once to warm up and then as often as asked for.
func (b *bench) measureTool(t *tool) (m measurement, err error) {
	var times []time.Duration
	for i := range b.runs + 1 {
		if t.before != nil {
			if err := t.before(); err != nil {
				return m, err
			}
		}
		once, err := t.run()
		if err != nil {
			return m, err
		}
		m.frames, m.rss = once.frames, max(m.rss, once.rss)
		if i > 0 {
			times = append(times, once.time)
		}
	}
	slices.Sort(times)
	m.time = times[len(times)/2]
	return m, nil
}

// run runs a tool once and counts its frames.
func (t *tool) run() (m measurement, err error) {
	file, err := os.CreateTemp("", "sfcore-bench")
	if err != nil {
		return m, err
	}
	defer func() {
		file.Close()
		_ = os.Remove(file.Name())
	}()
	cmd := exec.Command(t.words[0], t.words[1:]...)
	cmd.Env = append(os.Environ(), t.env...)
	cmd.Stdout = file
	begin := time.Now()
	err = cmd.Run()
	m.time = time.Since(begin)
	// sfcore and eu-stack exit with 1 if a stack is not complete.
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return m, fmt.Errorf("%s: %w", t.words[0], err)
	}
	m.rss = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return m, err
	}
	m.frames, err = count(file, t.frame)
	return m, err
}

// count returns how many lines begin with prefix, behind spaces and asterisks. It does not keep them: the
// kernel takes the memory of this process for that of the next command until
// it runs (getrusage(2), ru_maxrss).
func count(text io.Reader, prefix string) (n int, err error) {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if bytes.HasPrefix(bytes.TrimLeft(lines.Bytes(), " *"), []byte(prefix)) {
			n++
		}
	}
	return n, lines.Err()
}
