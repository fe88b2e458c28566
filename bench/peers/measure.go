//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// measurement is what a tool took for a core.
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

// compare writes the table's row of a core.
func compare(out io.Writer, c *benchCase, sfcore, core string, runs int) error {
	exe, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(core), c.exe))
	if err != nil {
		return err
	}
	st, err := os.Stat(core)
	if err != nil {
		return err
	}
	var row [3]measurement
	for i, tool := range []struct {
		line  []byte // what begins the line of a frame
		words []string
	}{
		{[]byte("  #"), []string{sfcore, "bt", core, exe}},
		{[]byte("#"), []string{"gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-ex", "thread apply all bt", exe, core}},
		{[]byte("#"), []string{"eu-stack", "-n", "0", "--core", core, "-e", exe}},
	} {
		if row[i], err = measure(tool.words, tool.line, runs); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "| %s | %d MiB | %d | %v | %v | %v | %.0f | %.0f |\n", c.name, st.Size()>>20, row[0].frames,
		row[0], row[1], row[2], ratio(row[1], row[0]), ratio(row[2], row[0]))
	return err
}

func ratio(a, b measurement) float64 { return float64(a.time) / float64(b.time) }

// measure runs a command once to warm up and then runs times.
func measure(words []string, frame []byte, runs int) (m measurement, err error) {
	var times []time.Duration
	for i := range runs + 1 {
		var text bytes.Buffer
		cmd := exec.Command(words[0], words[1:]...)
		file, err := os.CreateTemp("", "sfcore-bench")
		if err != nil {
			return m, err
		}
		cmd.Stdout = file
		begin := time.Now()
		err = cmd.Run()
		took := time.Since(begin)
		// sfcore and eu-stack exit with 1 if a stack is not complete.
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			return m, fmt.Errorf("%s: %w", words[0], err)
		}
		_, err = file.Seek(0, io.SeekStart)
		if err == nil {
			_, err = text.ReadFrom(file)
		}
		file.Close()
		_ = os.Remove(file.Name())
		if err != nil {
			return m, err
		}
		m.frames = count(text.Bytes(), frame)
		m.rss = max(m.rss, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
		if i > 0 {
			times = append(times, took)
		}
	}
	slices.Sort(times)
	m.time = times[len(times)/2]
	return m, nil
}

// count returns how many lines of text begin with prefix.
func count(text, prefix []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}
