package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// maxRace is how long a process may take to go when something happens to it, or to
	// its handler.
	maxRace = 2 * time.Second
	// maxDelay is within which a race is begun. A process with 300 threads is held for
	// some more.
	maxDelay = 80 * time.Millisecond
	raced    = 40 // of each kind
)

// races has things happen to processes that are being read: they are killed, and their
// ids are used again; their handlers are killed; threads crash while others call execve.
// All are gone in 2 s, and no report is of another process.
func (b *bench) races() error {
	done, err := setPattern(b.pipePattern(), 8)
	if err != nil {
		return err
	}
	err = b.configure("small", 100000)
	r := rand.New(rand.NewPCG(1, 26))
	for _, kind := range []struct {
		name string
		race func(*exec.Cmd) error
	}{
		{"killed", killed},
		{"killed, and the id used again", b.reused},
		{"handler killed", b.handlerKilled},
	} {
		reports, slowest := 0, time.Duration(0)
		for n := 0; n < raced && err == nil; n++ {
			var took time.Duration
			var report bool
			took, report, err = b.race(time.Duration(r.Int64N(int64(maxDelay))), kind.race)
			slowest = max(slowest, took)
			if report {
				reports++
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", kind.name, err)
			break
		}
		fmt.Printf("\n%s: %d processes, %d with a report, the slowest gone after %v.\n", kind.name, raced, reports, slowest.Round(time.Millisecond))
	}
	if err == nil {
		err = b.executing()
	}
	return errors.Join(err, done())
}

// race crashes a process, and lets something happen to it after a while. It returns how
// long the process took to go then, and whether there is a report.
func (b *bench) race(after time.Duration, happen func(*exec.Cmd) error) (took time.Duration, report bool, err error) {
	cmd := exec.Command("env", "-i", "sh", "-c", `ulimit -c unlimited; exec "$@"`, "sh", filepath.Join(b.dir, "threads"), "segv", "300", "50")
	cmd.Dir = "/"
	if err := cmd.Start(); err != nil {
		return 0, false, err
	}
	pid := cmd.Process.Pid
	if !until(10*time.Second, func() bool { return dumping(pid) }) {
		return 0, false, fmt.Errorf("process %d does not crash", pid)
	}
	time.Sleep(after)
	begun := time.Now()
	if err := happen(cmd); err != nil {
		return 0, false, err
	}
	_ = cmd.Wait() // it has crashed
	if took = time.Since(begun); took > maxRace {
		return took, false, fmt.Errorf("process %d was gone after %v", pid, took)
	}
	if !until(10*time.Second, func() bool { return b.handlers() == nil }) {
		return took, false, fmt.Errorf("the handler of process %d does not end", pid)
	}
	names, err := filepath.Glob(filepath.Join(b.store, fmt.Sprintf("*-%d.jsonl.zst", pid)))
	if err != nil || names == nil {
		return took, false, err
	}
	doc, err := read(b.dir+"/sfcore", names[0])
	if err != nil {
		return took, false, err
	}
	if doc.Process.PID != pid || !strings.HasSuffix(doc.Process.Executable, "/threads") {
		return took, true, fmt.Errorf("%s is of process %d, %s", names[0], doc.Process.PID, doc.Process.Executable)
	}
	for i := range doc.Threads {
		for _, f := range doc.Threads[i].Frames {
			if strings.HasSuffix(f.Module, "/sleep") {
				return took, true, fmt.Errorf("%s: thread %d has a frame of another program", names[0], doc.Threads[i].TID)
			}
		}
	}
	return took, true, nil
}

// dumping reports whether the kernel dumps a process [proc_pid_status(5)].
func dumping(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && strings.Contains(string(text), "\nCoreDumping:\t1")
}

func killed(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// reused kills a process, and has another program get its id.
func (b *bench) reused(cmd *exec.Cmd) error {
	pid := cmd.Process.Pid
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	_ = cmd.Wait()
	for range 20 {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0o600); err != nil {
			return err
		}
		other := exec.Command("sleep", "0.2")
		if err := other.Start(); err != nil {
			return err
		}
		if other.Process.Pid == pid {
			return other.Wait()
		}
		_ = other.Process.Kill()
		_ = other.Wait()
	}
	return nil // others were faster
}

// handlers returns the ids of the processes that handle crashes.
func (b *bench) handlers() (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if name, err := os.Readlink(link); err == nil && name == b.dir+"/sfcore-crash" {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func (b *bench) handlerKilled(*exec.Cmd) error {
	for _, pid := range b.handlers() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// executing crashes threads while the process executes itself.
func (b *bench) executing() error {
	crashes, begun := 0, time.Now()
	for delay := range raced {
		pid, err := b.crash("", "exec", "20", strconv.Itoa(10*delay))
		if err != nil {
			return err
		}
		if _, err := b.wait(pid); err != nil {
			return err
		}
		doc, err := read(b.dir+"/sfcore", b.file(pid, ".jsonl.zst"))
		if err != nil {
			return err
		}
		if n := len(doc.Threads); n < 1 || n > 2 || doc.Process.Signal == nil || !strings.HasSuffix(doc.Process.Executable, "/exec") {
			return fmt.Errorf("process %d executed itself while it crashed: got %d threads of %s", pid, n, doc.Process.Executable)
		}
		crashes++
	}
	fmt.Printf("\ncalls of execve: %d processes, all with a report, in %v.\n", crashes, time.Since(begun).Round(time.Millisecond))
	return nil
}

// file returns the name of a file of a crash.
func (b *bench) file(pid int, suffix string) string {
	names, _ := filepath.Glob(filepath.Join(b.store, fmt.Sprintf("*-%d%s", pid, suffix)))
	if names == nil {
		return "no file"
	}
	return names[0]
}
