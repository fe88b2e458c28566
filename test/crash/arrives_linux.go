package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// arrives has "sfcore crash status --test" make a crash, in a mode of core_pattern.
func (b *bench) arrives(mode string) error {
	if err := b.configure("report", 1000); err != nil {
		return err
	}
	out, err := exec.Command(b.dir+"/sfcore-crash", "--config", b.config(), "status", "--test").CombinedOutput()
	if err != nil {
		return fmt.Errorf("status --test: %w\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "a test crash arrived in the store after") {
			fmt.Printf("\n`%s`, status --test: %s", mode, line)
		}
	}
	left, err := filepath.Glob(b.store + "/*.json*")
	if err != nil || len(left) > 0 || !strings.Contains(string(out), "a test crash arrived") || !strings.Contains(string(out), "\n0 crashes were counted of 0 kinds") {
		return fmt.Errorf("status --test left %v and said:\n%s", left, out)
	}
	return nil
}

// kept kills a daemon whose socket another process holds, as systemd does, and crashes
// processes until another daemon is there.
func (b *bench) kept(mode string) error {
	const crashes = 5
	if err := b.configure("report", 1000); err != nil {
		return err
	}
	socket := filepath.Join(b.dir, "held")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	file, err := l.File()
	if err := errors.Join(err, os.Chmod(socket, 0o666)); err != nil { //nolint:gosec // every process may crash
		return err
	}
	defer func() { _ = file.Close() }()
	start := func() (*exec.Cmd, error) {
		cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", b.dir+"/sfcore-crash", "--config", b.config(), "daemon")
		cmd.Env, cmd.ExtraFiles = []string{"LISTEN_FDS=1"}, []*os.File{file}
		return cmd, cmd.Start()
	}
	daemon, err := start()
	if err != nil {
		return err
	}
	done, err := setPattern(mode+socket, 8)
	if err != nil {
		return err
	}
	defer func() { _ = done() }()
	pid, err := b.crash("", "threads", "segv", "3", "20")
	if err == nil {
		_, err = b.wait(pid)
	}
	if err := errors.Join(err, daemon.Process.Kill()); err != nil {
		return err
	}
	_ = daemon.Wait() // it was killed
	out, err := exec.Command(b.dir+"/sfcore-crash", "--config", b.config(), "status").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "no daemon takes them") {
		return fmt.Errorf("status without a daemon: %w\n%s", err, out)
	}
	type result struct {
		pid int
		err error
	}
	ended := make(chan result, crashes)
	for range crashes {
		go func() {
			pid, err := b.crash("", "threads", "segv", "3", "20")
			ended <- result{pid, err}
		}()
	}
	time.Sleep(2 * time.Second)
	waiting := crashes - len(ended)
	daemon, err = start()
	if err != nil {
		return err
	}
	defer func() {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
	}()
	for range crashes {
		r := <-ended
		if r.err == nil {
			_, r.err = b.wait(r.pid)
		}
		if r.err != nil {
			return fmt.Errorf("after the daemon was killed: %w", r.err)
		}
	}
	fmt.Printf("\n`%s`, the daemon killed and its socket held: %d of %d processes waited, and all %d were kept by the next daemon.\n", mode, waiting, crashes, crashes)
	if waiting != crashes {
		return fmt.Errorf("%d of %d processes did not wait for a daemon", crashes-waiting, crashes)
	}
	return b.restarted(mode, &daemon, start)
}

// restarted ends a daemon whose socket is held, and starts another one, again and again
// while processes crash. None may be lost when it is asked to end. When it is killed, those
// may that it has accepted and not handed over.
func (b *bench) restarted(mode string, daemon **exec.Cmd, start func() (*exec.Cmd, error)) error {
	for _, how := range []struct {
		what   string
		signal os.Signal
		may    bool // lose crashes
	}{{"restarted", unix.SIGTERM, false}, {"killed", unix.SIGKILL, true}} {
		lost, crashes, times, err := b.during(func() (err error) {
			if err := (*daemon).Process.Signal(how.signal); err != nil {
				return err
			}
			_ = (*daemon).Wait() // it was ended by a signal
			*daemon, err = start()
			return err
		})
		if err != nil {
			return err
		}
		fmt.Printf("\n`%s`: of %d crashes, while the daemon was %s %d times, %d were lost.\n", mode, crashes, how.what, times, lost)
		if lost > 0 && !how.may {
			return fmt.Errorf("%d of %d crashes were lost while the daemon was restarted", lost, crashes)
		}
	}
	return nil
}
