package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// The promise, and the goal, for one input.
	maxCPU     = 10 * time.Second
	maxMemory  = 1 << 30
	goalCPU    = 5 * time.Second
	goalMemory = 512 << 20

	// A run is stopped here: how much more it would have taken is not waited for.
	stopCPU    = 12 * time.Second
	stopMemory = 3 << 29
	stopClock  = 3 * time.Minute

	// tick is how often a run is looked at. A program cannot fill much more than
	// 100 MiB meanwhile.
	tick = 20 * time.Millisecond

	// clockTick is what /proc/PID/stat counts in [proc_pid_stat(5)].
	clockTick = 10 * time.Millisecond
)

// cost is what a run took.
type cost struct {
	cpu    time.Duration
	memory uint64 // the most anonymous memory that was seen, in bytes
	exit   int    // -1 if the run was stopped or crashed
	crash  string // the first line of a crash
}

const (
	good   = "ok"
	near   = "ok, beyond the goal"
	broken = "FAILS"
)

func (c *cost) verdict() string {
	switch {
	case c.crash != "":
		return broken + ": " + c.crash
	case c.exit < 0, c.cpu > maxCPU, c.memory > maxMemory:
		return broken
	case c.cpu > goalCPU, c.memory > goalMemory:
		return near
	}
	return good
}

// measure runs sfcore with arguments in a folder, and stops it when it takes too
// much. The output is thrown away.
func measure(program string, args []string, f *folder) (*cost, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = f.path
	// The cache is that of the run. The collector runs as in any other process.
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+f.path, "DEBUGINFOD_URLS=")
	cmd.Env = append(cmd.Env, f.env...)
	var errs bytes.Buffer
	cmd.Stderr = &limited{&errs, 64 << 10}
	if f.stdin != "" {
		in, err := os.Open(f.stdin)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	var out io.ReadCloser
	if f.talk != nil {
		var err error
		if out, err = cmd.StdoutPipe(); err != nil {
			return nil, err
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	var said error
	go func() {
		if f.talk != nil {
			said = f.talk(out)
		}
		if f.serves {
			_ = cmd.Process.Signal(os.Interrupt)
		}
		_ = cmd.Wait() // ProcessState says how it ended
		close(done)
	}()
	c, start := &cost{}, time.Now()
	for look := time.NewTicker(tick); ; {
		select {
		case <-done:
			look.Stop()
			if said != nil {
				return nil, said
			}
			c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			c.exit = cmd.ProcessState.ExitCode()
			for line := range strings.Lines(errs.String()) {
				if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || strings.HasPrefix(line, "unexpected fault") {
					c.crash = strings.TrimSpace(line)
					break
				}
			}
			return c, nil
		case <-look.C:
			cpu, memory := taken(cmd.Process.Pid)
			c.memory = max(c.memory, memory)
			if cpu > stopCPU || memory > stopMemory || time.Since(start) > stopClock {
				_ = cmd.Process.Kill()
			}
		}
	}
}

// taken returns the processor time and the anonymous memory of a process and of those
// that it has started, so far. Both are 0 where there is no /proc.
func taken(pid int) (cpu time.Duration, memory uint64) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range threads {
		children, _ := os.ReadFile(name)
		for _, child := range strings.Fields(string(children)) {
			n, _ := strconv.Atoi(child)
			c, m := taken(n)
			cpu, memory = cpu+c, memory+m
		}
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(stat, ')'); i >= 0 {
		if fields := strings.Fields(string(stat[i+1:])); len(fields) > 12 {
			user, _ := strconv.Atoi(fields[11])
			system, _ := strconv.Atoi(fields[12])
			cpu += time.Duration(user+system) * clockTick
		}
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			memory += kib << 10
		}
	}
	return cpu, memory
}

// limited keeps the first bytes that are written to it.
type limited struct {
	b    *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.b.Write(p[:n])
	return len(p), nil
}
