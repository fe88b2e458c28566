package core

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxProcFile bounds a file of /proc, in bytes: the maps of a process with
// some millions of mappings have about 100 bytes for each.
const maxProcFile = 512 << 20

// procDir is /proc/PID. It refers to the process it was opened for, even if
// another process gets the id: once the process ends, its files are gone.
type procDir struct {
	pid int
	fd  int
	// alive is a thread that has not ended, and through which the memory of
	// the process is seen: its first thread has none after it has ended.
	alive int
}

func openProc(pid int) (*procDir, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid), unix.O_DIRECTORY|unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &procDir{pid: pid, fd: fd, alive: pid}, nil
}

// memory returns the name of a file that shows the memory of the process.
func (d *procDir) memory(name string) string {
	return "task/" + strconv.Itoa(d.alive) + "/" + name
}

// findAlive looks for a thread that has not ended, and reports whether there
// is one.
func (d *procDir) findAlive() bool {
	tids, _ := d.threads()
	for _, tid := range tids {
		if st, err := d.stat("task/" + strconv.Itoa(tid) + "/stat"); err == nil && st.state != Zombie && st.state != Ended {
			d.alive = tid
			return true
		}
	}
	return false
}

func (d *procDir) close() { _ = unix.Close(d.fd) }

// open opens a file of the process.
func (d *procDir) open(name string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Openat(d.fd, name, flags|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return nil, &os.PathError{Op: "open", Path: fmt.Sprintf("/proc/%d/%s", d.pid, name), Err: err}
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// read returns the contents of a file.
func (d *procDir) read(name string) ([]byte, error) {
	f, err := d.open(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxProcFile))
}

// readInto is read for a file of about the size of buf, which it may use.
func (d *procDir) readInto(name string, buf []byte) ([]byte, error) {
	f, err := d.open(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := bytes.NewBuffer(buf[:0])
	_, err = b.ReadFrom(io.LimitReader(f, maxProcFile))
	return b.Bytes(), err
}

// link returns what a symbolic link of /proc/PID says, "" if it cannot be read.
func (d *procDir) link(name string) string {
	buf := make([]byte, maxPath)
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

// has reports whether there is a file.
func (d *procDir) has(name string) bool { return unix.Faccessat(d.fd, name, unix.F_OK, 0) == nil }

func (d *procDir) stat(name string) (procStat, error) {
	text, err := d.read(name)
	if err != nil {
		return procStat{}, err
	}
	return parseStat(text)
}

// syscall returns where a thread sleeps; false if it does not, or if the system does
// not tell.
func (d *procDir) syscall(tid int) (procSyscall, bool) {
	text, _ := d.read("task/" + strconv.Itoa(tid) + "/syscall")
	return parseSyscall(text)
}

// name returns the name of a thread, "" if it cannot be read.
func (d *procDir) name(tid int) string {
	text, _ := d.read("task/" + strconv.Itoa(tid) + "/comm")
	return strings.TrimSuffix(string(text), "\n")
}

// status returns a status file, empty if it cannot be read.
func (d *procDir) status(name string) procStatus {
	text, _ := d.read(name)
	return parseStatus(text)
}

// threads lists the thread ids. An empty list is ErrNoProcess.
func (d *procDir) threads() ([]int, error) {
	f, err := d.open("task", unix.O_RDONLY)
	if err != nil {
		return nil, d.explain(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err == nil && len(names) == 0 {
		err = unix.ESRCH
	}
	if err != nil {
		return nil, d.explain(err)
	}
	tids := make([]int, 0, len(names))
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// processName returns the name of a process, "" if unknown.
func processName(pid int) string {
	comm, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSpace(string(comm))
}

// explain turns a refusal by the system into a sentence.
func (d *procDir) explain(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH):
		return fmt.Errorf("process %d: %w", d.pid, ErrNoProcess)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return fmt.Errorf("process %d: sfcore may not open more files (%w): raise the limit with ulimit -n; 64 and one for each library are enough", d.pid, err)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("process %d: this system has no ptrace: %w", d.pid, err)
	case !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES):
		return fmt.Errorf("process %d: %w", d.pid, err)
	}
	const capSysPtrace = 19 // [linux include/uapi/linux/capability.h]
	text, _ := os.ReadFile("/proc/self/status")
	theirs, ours := d.status("status"), parseStatus(text)
	n := &denial{
		pid: d.pid, tracer: theirs.number("TracerPid", 0),
		uid: theirs.number("Uid", 1), ourUID: os.Geteuid(), // real, effective, ...
		capable: ours.capability(capSysPtrace), yama: -1, dumpable: true,
	}
	n.tracerName = processName(n.tracer) // "" of none
	text, _ = os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if scope, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		n.yama = scope
	}
	var st unix.Stat_t
	if unix.Fstatat(d.fd, "maps", &st, 0) == nil {
		n.dumpable = int(st.Uid) == n.uid
	}
	return n
}
