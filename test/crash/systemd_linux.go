package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// systemd installs the handler where systemd is process 1, first by a pipe and then by a
// socket, and crashes programs while the daemon is ended in several ways. It changes the
// system, so it is for machines that are thrown away.
func (b *bench) systemd() error {
	if name, err := os.ReadFile("/proc/1/comm"); err != nil || strings.TrimSpace(string(name)) != "systemd" {
		return fmt.Errorf("process 1 is %q, not systemd: %w", name, err)
	}
	before := pattern()
	if err := b.configure("report", 100000); err != nil {
		return err
	}
	fmt.Println()
	if strings.Contains(before, "systemd") {
		if out, err := b.sfcore("install"); err == nil || !strings.Contains(out, "--take-over") {
			return fmt.Errorf("beside systemd-coredump it installs: %s", out)
		}
		fmt.Println("- beside systemd-coredump, install refuses")
	}
	if err := b.installedPipe(before); err != nil {
		return err
	}
	if known, err := socketsKnown(); !known {
		if out, failed := b.sfcore("install", "--take-over", "--socket"); failed == nil || !strings.Contains(out, "needs Linux 6.17") {
			return fmt.Errorf("it installs a socket: %s", out)
		}
		return err
	}
	return b.installedSocket(before)
}

// installedPipe tries an installation by a pipe.
func (b *bench) installedPipe(before string) error {
	if out, err := b.sfcore("install", "--take-over"); err != nil {
		return fmt.Errorf("install: %w: %s", err, out)
	}
	if err := b.caught(); err != nil {
		return err
	}
	out, err := b.sfcore("status")
	if err != nil {
		return fmt.Errorf("status: %w: %s", err, out)
	}
	fmt.Printf("- after install, a crash is kept; status says: %s\n", strings.Join(strings.Split(strings.TrimSpace(out), "\n"), "; "))
	return b.uninstalled(before)
}

func (b *bench) uninstalled(before string) error {
	if out, err := b.sfcore("uninstall"); err != nil {
		return fmt.Errorf("uninstall: %w: %s", err, out)
	}
	if got := pattern(); got != before {
		return fmt.Errorf("after uninstall core_pattern is %q, and was %q", got, before)
	}
	fmt.Println("- after uninstall, core_pattern is what it was")
	return nil
}

// installedSocket tries an installation by a socket of systemd.
func (b *bench) installedSocket(before string) error {
	if out, err := b.sfcore("install", "--take-over", "--socket"); err != nil {
		return fmt.Errorf("install --socket: %w: %s", err, out)
	}
	if got := pattern(); !strings.HasPrefix(got, "@@") {
		return fmt.Errorf("after install --socket core_pattern is %q", got)
	}
	if pid := mainPID(); pid != "0" {
		return fmt.Errorf("before a crash the daemon runs, as process %s", pid)
	}
	if err := b.caught(); err != nil {
		return err
	}
	if pid := mainPID(); pid == "0" {
		return errors.New("after a crash the daemon does not run")
	}
	fmt.Println("- the first crash starts the daemon, and is kept")

	const kills = 12 // more often than systemd restarts a service by default
	for range kills {
		if err := systemctl("kill", "--kill-whom=main", "--signal=KILL", "sfcore-crash.service"); err != nil {
			return err
		}
		if err := b.caught(); err != nil {
			return fmt.Errorf("after the daemon was killed: %w", err)
		}
	}
	fmt.Printf("- the daemon was killed %d times, and each next crash was kept\n", kills)

	lost, crashes, restarts, err := b.during(func() error { return systemctl("restart", "sfcore-crash.service") })
	if err != nil || lost > 0 {
		return fmt.Errorf("while the daemon was restarted, %d of %d crashes were lost: %w", lost, crashes, err)
	}
	fmt.Printf("- of %d crashes, while the daemon was restarted %d times, none was lost\n", crashes, restarts)
	killed := 0
	lost, crashes, _, err = b.during(func() error {
		if systemctl("kill", "--kill-whom=main", "--signal=KILL", "sfcore-crash.service") == nil { // otherwise it is not there yet
			killed++
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("- of %d crashes, while the daemon was killed %d times, %d were lost\n", crashes, killed, lost)

	if err := systemctl("stop", "sfcore-crash.socket", "sfcore-crash.service"); err != nil {
		return err
	}
	if got := pattern(); !strings.HasPrefix(got, "|") {
		return fmt.Errorf("after the units were stopped core_pattern is %q", got)
	}
	if err := b.caught(); err != nil {
		return fmt.Errorf("after the units were stopped: %w", err)
	}
	if err := systemctl("start", "sfcore-crash.socket"); err != nil {
		return err
	}
	if got := pattern(); !strings.HasPrefix(got, "@@") {
		return fmt.Errorf("after the socket was started core_pattern is %q", got)
	}
	if err := b.caught(); err != nil {
		return fmt.Errorf("after the units were started again: %w", err)
	}
	fmt.Println("- after the units were stopped, a crash was kept by a pipe, and after they were started, by the socket")
	return b.uninstalled(before)
}

// pause is long enough for the daemon to start also on an emulated machine, and to take a
// crash.
const pause = 300 * time.Millisecond

// during crashes processes of 101 threads while something is done again and again, and
// returns how many left no record.
func (b *bench) during(do func() error) (lost, crashes, times int, err error) {
	const workers, each = 4, 10
	var wait sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	var ended atomic.Bool
	before, err := b.records()
	if err != nil {
		return 0, 0, 0, err
	}
	for range workers {
		wait.Go(func() {
			for range each {
				_, err := b.crash("", "threads", "segv", "100", "20")
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	go func() {
		wait.Wait()
		ended.Store(true)
	}()
	for ; !ended.Load(); times++ {
		if err := do(); err != nil {
			return 0, 0, times, err
		}
		time.Sleep(pause)
	}
	if err := errors.Join(errs...); err != nil {
		return 0, 0, times, err
	}
	begun := time.Now()
	for {
		after, err := b.records()
		if err != nil {
			return 0, 0, times, err
		}
		lost, late := workers*each-len(after)+len(before), time.Since(begun)
		if lost == 0 && late > 5*time.Second {
			fmt.Printf("\nThe last record came %v after all processes had ended.\n", late.Round(time.Millisecond))
		}
		if lost == 0 || late > time.Minute { // which is how long a reader may take
			return lost, workers * each, times, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// records returns the names of all records: a pid may be used again.
func (b *bench) records() ([]string, error) { return filepath.Glob(b.store + "/*.json") }

// caught crashes a process, and reports whether it was kept.
func (b *bench) caught() error {
	pid, err := b.crash("", "threads", "segv", "3", "5")
	if err != nil {
		return err
	}
	r, err := b.wait(pid)
	if err == nil && len(r.Problems) > 0 {
		err = fmt.Errorf("%s: %v", r.ID, r.Problems)
	}
	return err
}

func (b *bench) sfcore(args ...string) (string, error) {
	cmd := exec.Command(b.dir+"/sfcore-crash", append([]string{"--config", b.config()}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// systemctl has systemd do something.
func systemctl(args ...string) error {
	if out, err := exec.Command("systemctl", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("systemctl %v: %w: %s", args, err, out)
	}
	return nil
}

// mainPID is the process of the daemon, "0" if it does not run.
func mainPID() string {
	out, _ := exec.Command("systemctl", "show", "--property=MainPID", "--value", "sfcore-crash.service").Output()
	return strings.TrimSpace(string(out))
}

func pattern() string {
	text, _ := os.ReadFile(corePattern)
	return strings.TrimSpace(string(text))
}
