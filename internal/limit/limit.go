// Package limit runs programs as processes that are ended when they take too much
// memory or time.
package limit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"time"
)

// Watched is the environment variable of a process that is watched: the id of the
// process that watches it.
const Watched = "SFCORE_WATCHED"

// Limits bound a process, from outside: one that fills memory may not get to look at
// itself for 100 ms.
type Limits struct {
	// Memory is what the process and the programs that it has started may take of
	// anonymous memory together, as RssAnon in /proc/PID/status; 0 for no limit.
	Memory Size
	// Total is how long the process may last; 0 for no limit.
	Total time.Duration
	// Processor is the processor time that the process may take; 0 for no limit.
	// Linux only.
	Processor time.Duration
}

const (
	// minMemory is the least limit of memory. Below, the garbage collector would take
	// most of the time.
	minMemory = 32 << 20
	// tick is how often a process is looked at. It fills some MiB meanwhile.
	tick = time.Millisecond
)

// Check returns which limit makes no sense, by the name of its flag.
func (l *Limits) Check() error {
	switch {
	case l.Total < 0 || l.Processor < 0:
		return fmt.Errorf("--max-total-time %v: must not be negative", min(l.Total, l.Processor))
	case l.Memory > 0 && l.Memory < minMemory:
		return fmt.Errorf("--max-memory %v: must be at least %v", l.Memory, Size(minMemory))
	}
	return nil
}

// None reports whether nothing is limited.
func (l *Limits) None() bool { return l.Memory == 0 && l.Total == 0 && l.Processor == 0 }

// Args returns the flags that set the limits of a server.
func (l *Limits) Args() []string {
	var args []string
	if l.Memory > 0 {
		args = append(args, "--max-memory="+l.Memory.String())
	}
	if l.Processor > 0 {
		args = append(args, "--max-total-time="+l.Processor.String())
	}
	return args
}

// Collect has this process, which is watched, collect garbage early enough to stay
// below its limit of memory if it can, unless GOMEMLIMIT says otherwise.
func (l *Limits) Collect() {
	if l.Memory > 0 {
		CollectFrom(int64(l.Memory / 10 * 8))
	}
}

// CollectFrom makes the garbage collector run as often as it takes to stay below size
// bytes, unless it does already or GOMEMLIMIT says otherwise.
func CollectFrom(size int64) {
	if os.Getenv("GOMEMLIMIT") == "" && size < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(size)
	}
}

// ReachedError says which limit a process has reached.
type ReachedError struct {
	what   string
	nearly bool
	amount string
	flag   string
}

func (e *ReachedError) Error() string {
	nearly := ""
	if e.nearly {
		nearly = "nearly "
	}
	return fmt.Sprintf("%s takes %s%s, which is what %s allows", e.what, nearly, e.amount, e.flag)
}

// Reached says which limit has been reached to so many tenths, by what is called
// "the run"; nil if none.
func (l *Limits) Reached(u *Usage, what string, tenths int) error {
	e := &ReachedError{what: what, nearly: tenths < 10, flag: "--max-total-time"}
	part := time.Duration(tenths)
	switch {
	case l.Memory > 0 && u.Memory() >= uint64(l.Memory)/10*uint64(tenths):
		e.amount, e.flag = fmt.Sprintf("%v of memory", l.Memory), "--max-memory"
	case l.Total > 0 && time.Since(u.start) >= l.Total/10*part:
		e.amount = l.Total.String()
	case l.Processor > 0 && u.processor() >= l.Processor/10*part:
		e.amount = fmt.Sprintf("%v of processor time", l.Processor)
	default:
		return nil
	}
	return e
}

// maxEnding is how long a process that was killed may take to end. The kernel frees
// its memory meanwhile.
const maxEnding = 3 * time.Second

// ended waits for the end of a process that was killed.
func ended(done <-chan struct{}, pid int) error {
	select {
	case <-done:
		return nil
	case <-time.After(maxEnding):
		return fmt.Errorf("process %d was killed, but has not ended: it waits for the kernel, or for a file system that does not answer", pid)
	}
}

// Run starts a program and waits until it ends, or ends it when it reaches a limit:
// then the error wraps a [ReachedError], and says if the process cannot end. Another error says that it could not be started
// or watched. If it ended, cmd.ProcessState says how. If this process is killed,
// so is that one (Linux).
func (l *Limits) Run(cmd *exec.Cmd, what string) error {
	runtime.LockOSThread() // on whose end the kernel ends the process
	defer runtime.UnlockOSThread()
	EndWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	usage, err := Of(cmd.Process.Pid)
	if err != nil && (l.Memory > 0 || l.Processor > 0) {
		return errors.Join(fmt.Errorf("%s cannot be limited: %w", what, err), cmd.Process.Kill(), cmd.Wait())
	}
	defer usage.Close()
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ProcessState says how it ended
		close(done)
	}()
	look := time.NewTicker(tick)
	defer look.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-look.C:
			if l.Memory > 0 {
				usage.withChildren()
			}
			if err := l.Reached(usage, what, 10); err != nil {
				_ = cmd.Process.Kill()
				if left := ended(done, cmd.Process.Pid); left != nil {
					return fmt.Errorf("%w; %w", err, left)
				}
				return err
			}
		}
	}
}
