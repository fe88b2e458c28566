package limit

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Usage tells what a process takes. It holds a file of /proc open, because a sandbox
// may take away the right to open it.
type Usage struct {
	start time.Time
	pid   int
	statm *os.File
	page  uint64

	children map[int]*os.File // their statm
	looks    int
}

// Of returns the usage of a process of this system, which begins now. It is of the
// process alone until [Usage.withChildren] is called.
func Of(pid int) (*Usage, error) {
	f, err := openStatm(pid)
	return &Usage{start: time.Now(), pid: pid, statm: f, page: uint64(os.Getpagesize())}, err
}

func openStatm(pid int) (*os.File, error) { return os.Open(fmt.Sprintf("/proc/%d/statm", pid)) }

// Close releases what the usage holds.
func (u *Usage) Close() {
	u.statm.Close()
	for _, f := range u.children {
		f.Close()
	}
}

// Memory returns the bytes of anonymous memory: what is resident beside pages of files
// and shared memory [proc_pid_statm(5)].
func (u *Usage) Memory() uint64 {
	sum := u.anonymous(u.statm)
	for _, f := range u.children {
		sum += u.anonymous(f)
	}
	return sum
}

func (u *Usage) anonymous(statm *os.File) uint64 {
	var b [128]byte
	n, _ := statm.ReadAt(b[:], 0)
	fields := bytes.Fields(b[:n])
	if len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseUint(string(fields[2]), 10, 64)
	return (resident - min(shared, resident)) * u.page
}

// lookForChildren is at which of the looks at a process its children are looked for.
const lookForChildren = 16

// withChildren counts the memory of the programs that the process has started, from
// some milliseconds after their start on.
func (u *Usage) withChildren() {
	if u.looks++; u.looks%lookForChildren != 0 {
		return
	}
	now := make(map[int]*os.File)
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", u.pid))
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for _, field := range bytes.Fields(list) {
			pid, _ := strconv.Atoi(string(field))
			f := u.children[pid]
			if f == nil {
				var err error
				if f, err = openStatm(pid); err != nil {
					continue
				}
			}
			now[pid] = f
			delete(u.children, pid)
		}
	}
	for _, f := range u.children {
		f.Close()
	}
	u.children = now
}

// processor returns the processor time that the process has taken
// [clock_getcpuclockid(3)].
func (u *Usage) processor() time.Duration {
	var t unix.Timespec
	const all = 2 // of all threads, in user mode and in the kernel
	if unix.ClockGettime(int32(^u.pid<<3|all), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// EndWithParent makes the kernel end a process when the thread ends that starts it, so
// the caller stays on its thread: see [runtime.LockOSThread]. Linux only.
func EndWithParent(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = new(syscall.SysProcAttr)
	}
	c.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
