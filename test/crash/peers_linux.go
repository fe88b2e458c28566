package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A peer is a way to handle crashes.
type peer struct {
	name, pattern string
	shell         string // what a program that crashes does first
	keep          string // what sfcore keeps
	// files is a pattern of what is kept of a process, with %d for its id.
	files string
}

// Where systemd-coredump listens, and where it keeps cores.
const (
	peerSocket = "/run/systemd/coredump"
	peerStore  = "/var/lib/systemd/coredump"
)

// peers measures for how long a process stays after it has crashed, until its parent has
// its status, and what is written, with sfcore and without, in turn.
func (b *bench) peers(rounds int, other string) error {
	all := []peer{
		{name: "nobody (no core)", pattern: "core", shell: "ulimit -c 0"},
		{name: "the kernel: a file", pattern: b.dir + "/core.%p", files: b.dir + "/core.%d"},
		{name: "`sfcore-crash`, pipe", pattern: b.pipePattern(), keep: "report", files: b.store + "/*-%d.*"},
		{name: "`sfcore-crash`, pipe, with core", pattern: b.pipePattern(), keep: "core", files: b.store + "/*-%d.*"},
	}
	known, err := socketsKnown()
	if err != nil {
		return err
	}
	if known {
		if err := b.configure("report", 100000); err != nil { // which the daemon reads now
			return err
		}
		socket, stop, err := b.daemon()
		if err != nil {
			return err
		}
		defer stop()
		all = append(all, peer{name: "`sfcore-crash`, socket (`@@`)", pattern: "@@" + socket, keep: "report", files: b.store + "/*-%d.*"})
	}
	if other != "" {
		stop, err := activate(other)
		if err != nil {
			return err
		}
		defer stop()
		all = append(all, peer{name: "systemd-coredump, pipe", pattern: other, files: peerStore + "/core.*.%d.*"})
	}
	fmt.Printf("\n| handler | threads | gone after: median | most of %d | files of each | on disk |\n|---|---|---|---|---|---|\n", rounds)
	for _, size := range []string{"0", "100", "1000"} {
		taken := make([][]time.Duration, len(all))
		sizes := make([]written, len(all))
		for range rounds {
			for i := range all {
				took, w, err := b.gone(&all[i], size)
				if err != nil {
					return fmt.Errorf("%s, %s threads: %w", all[i].name, size, err)
				}
				taken[i], sizes[i] = append(taken[i], took), w
			}
		}
		for i := range all {
			slices.Sort(taken[i])
			fmt.Printf("| %s | %s | %.1f ms | %.1f ms | %s | %s |\n", all[i].name, plusOne[size], ms(taken[i][rounds/2]), ms(taken[i][rounds-1]),
				kib(sizes[i].bytes), kib(sizes[i].disk))
		}
	}
	return nil
}

// plusOne are numbers of threads with the one that crashes.
var plusOne = map[string]string{"0": "1", "100": "101", "1000": "1,001"}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func kib(n int64) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/1024)
}

// written is what was written for a crash: the lengths of its files, and what they take.
type written struct{ bytes, disk int64 }

// gone crashes a process, and returns how long it took until its parent knew.
func (b *bench) gone(p *peer, threads string) (took time.Duration, w written, err error) {
	if err := b.configure(p.keep, 100000); err != nil {
		return 0, w, err
	}
	limit := 8
	if p.keep == "" && !strings.HasPrefix(p.pattern, "|") {
		limit = 0
	}
	done, err := setPattern(p.pattern, limit)
	if err != nil {
		return 0, w, err
	}
	defer func() { err = errors.Join(err, done()) }()
	out, in, err := os.Pipe()
	if err != nil {
		return 0, w, err
	}
	defer func() { _ = errors.Join(out.Close(), in.Close()) }()
	pid, at, err := b.crashTo(in, p.shell, "threads", "segv", threads, "50", "clock")
	if err != nil {
		return 0, w, err
	}
	var crashed time.Duration
	if _, err := fmt.Fscan(out, &crashed); err != nil {
		return 0, w, err
	}
	if p.files == "" {
		return at - crashed, w, nil
	}
	if p.keep != "" {
		r, err := b.wait(pid)
		if err != nil {
			return 0, w, err
		}
		if len(r.Problems) > 0 {
			return 0, w, fmt.Errorf("%s: %v", r.ID, r.Problems)
		}
	}
	pattern := fmt.Sprintf(p.files, pid)
	var names []string
	if !until(maxWait, func() bool { names, err = filepath.Glob(pattern); return err != nil || len(names) > 0 }) {
		return 0, w, fmt.Errorf("there is no %s", pattern)
	}
	for _, name := range names {
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err != nil {
			return 0, w, err
		}
		w.bytes += st.Size
		w.disk += st.Blocks * 512
		if !strings.HasPrefix(name, b.store) {
			if err := os.Remove(name); err != nil {
				return 0, w, err
			}
		}
	}
	return at - crashed, w, err
}

// now is the time of the clock by which programs say when they crash.
func now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // there is always this clock
	}
	return time.Duration(t.Nano())
}

// activate starts what starts systemd-coredump where systemd is not process 1: it hands
// what the kernel gives it to a service.
func activate(pattern string) (stop func(), err error) {
	program := strings.TrimPrefix(strings.Fields(pattern)[0], "|")
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		return func() {}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(peerSocket), 0o755); err != nil { //nolint:gosec // as systemd makes it
		return nil, err
	}
	_ = os.Remove(peerSocket) // of a run that was killed
	cmd := exec.Command("systemd-socket-activate", "--accept", "--seqpacket", "--listen="+peerSocket, program)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.Remove(peerSocket)
	}
	if !until(10*time.Second, func() bool { _, err := os.Stat(peerSocket); return err == nil }) {
		stop()
		return nil, errors.New("systemd-socket-activate does not listen")
	}
	return stop, nil
}
