package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is one of sfcore-fleet.
type process struct {
	cmd *exec.Cmd
	log *os.File
}

// start starts a process, on certain processors if any are named.
func (b *bench) start(ctx context.Context, dir, cpus string, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	args = append([]string{b.program}, args...)
	if cpus != "" {
		args = append([]string{"taskset", "-c", cpus}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	return &process{cmd, log}, cmd.Start()
}

// end ends a process, and returns the processor time that it took.
func (p *process) end() time.Duration {
	_ = p.cmd.Process.Signal(unix.SIGTERM)
	_ = p.cmd.Wait()
	_ = p.log.Close()
	if s := p.cmd.ProcessState; s != nil {
		return s.UserTime() + s.SystemTime()
	}
	return 0
}

// memory is how much of a process is in memory, in KiB: the first number of the kernel's line.
func memory(pid int) (kib int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ = strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	return kib
}

// named is the processor time of all processes of a name, as those of PostgreSQL, and of
// those that have ended.
func named(name string) (total time.Duration) {
	each(name, func(_ string, fields []string) {
		for _, at := range []int{11, 12, 13, 14} { // utime, stime, and those of children [proc(5)]
			ticks, _ := strconv.Atoi(fields[at])
			total += time.Duration(ticks) * tick
		}
	})
	return total
}

// pin has all processes of a name, and those that they start, run on certain processors.
func pin(ctx context.Context, name, cpus string) (err error) {
	each(name, func(pid string, _ []string) {
		err = errors.Join(err, exec.CommandContext(ctx, "taskset", "-apc", cpus, pid).Run())
	})
	return err
}

// each calls do with the id of each process of a name, and what its line of /proc has behind
// the name.
func each(name string, do func(pid string, fields []string)) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		if text, err := os.ReadFile(stat); err == nil && bytes.Contains(text, []byte(" ("+name+") ")) {
			do(filepath.Base(filepath.Dir(stat)), strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])))
		}
	}
}

// tick is that of times in /proc, on all architectures that sfcore reads.
const tick = 10 * time.Millisecond
