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

// measure runs a command once to warm up and then as often as asked for. The
// lines that begin with frame are those of frames.
func (b *bench) measure(words []string, frame string) (m measurement, err error) {
	var times []time.Duration
	for i := range b.runs + 1 {
		once, err := runOnce(words, frame)
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

// runOnce runs a command and counts the lines that begin with frame.
func runOnce(words []string, frame string) (m measurement, err error) {
	file, err := os.CreateTemp("", "sfcore-bench")
	if err != nil {
		return m, err
	}
	defer func() {
		file.Close()
		_ = os.Remove(file.Name())
	}()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout = file
	begin := time.Now()
	err = cmd.Run()
	m.time = time.Since(begin)
	// sfcore and eu-stack exit with 1 if a stack is not complete.
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return m, fmt.Errorf("%s: %w", words[0], err)
	}
	m.rss = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return m, err
	}
	m.frames, err = count(file, frame)
	return m, err
}

// count returns how many lines begin with prefix. It does not keep them: the
// kernel takes the memory of this process for that of the next command until
// it runs (getrusage(2), ru_maxrss).
func count(text io.Reader, prefix string) (n int, err error) {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte(prefix)) {
			n++
		}
	}
	return n, lines.Err()
}
