package core

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Files of /proc are read whole, and refusals are sentences.
func TestProcDir(t *testing.T) {
	needPtrace(t) // an emulator has a /proc/self of its own
	d := openOwnDir(t)
	if got := d.memory("maps"); got != fmt.Sprintf("task/%d/maps", os.Getpid()) {
		t.Errorf("got %s", got)
	}
	want, err := os.ReadFile("/proc/self/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.read("cmdline")
	if err != nil || string(got) != string(want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, room := range []int{0, 1, 1 << 16} {
		got, err := d.readInto("cmdline", make([]byte, 3, 3+room))
		if err != nil || string(got) != string(want) {
			t.Errorf("into %d bytes: got %q, %v", room, got, err)
		}
	}
	var pe *os.PathError
	for _, read := range []func() ([]byte, error){func() ([]byte, error) { return d.read("none") }, func() ([]byte, error) { return d.readInto("none", nil) }} {
		if got, err := read(); got != nil || !errors.As(err, &pe) || pe.Path != fmt.Sprintf("/proc/%d/none", os.Getpid()) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if exe, _ := os.Executable(); d.link("exe") != exe || d.link("none") != "" || d.link("status") != "" {
		t.Errorf("got %q, want %q", d.link("exe"), exe)
	}
	if st, err := d.stat("stat"); err != nil || st.name != processName(os.Getpid()) {
		t.Errorf("got %+v, %v", st, err)
	}
	if _, err := d.stat("none"); err == nil {
		t.Error("got no error of a file that is not there")
	}
	if n := d.status("status").number("Pid", 0); n != os.Getpid() || len(d.status("none")) != 0 {
		t.Errorf("got process %d", n)
	}
	if tids, err := d.threads(); err != nil || len(tids) == 0 || tids[0] != os.Getpid() {
		t.Errorf("got threads %v, %v", tids, err)
	}
	for _, read := range []func() ([]byte, error){func() ([]byte, error) { return d.read("mem") }, func() ([]byte, error) { return d.readInto("mem", nil) }} {
		if _, err := read(); !errors.Is(err, unix.EIO) {
			t.Errorf("got %v of memory that is not there, want %v", err, unix.EIO)
		}
	}
	none := &visit{dir: &procDir{pid: 7, fd: -1}}
	if err := none.readThreads(); err == nil || none.threads != nil {
		t.Errorf("got %v of threads that cannot be listed", err)
	}
	if processName(1<<30) != "" {
		t.Error("got the name of no process")
	}
	if _, ok := d.syscall(1 << 30); ok {
		t.Error("got the system call of no thread")
	}
	d.alive = 7
	if !d.findAlive() || d.alive != os.Getpid() {
		t.Errorf("got thread %d", d.alive)
	}
	pid := os.Getpid()
	for _, tt := range []struct {
		err, is error
		want    string
	}{
		{unix.ENOENT, ErrNoProcess, "process %d: no such process"},
		{unix.ESRCH, ErrNoProcess, "process %d: no such process"},
		{unix.EMFILE, unix.EMFILE, "process %d: sfcore may not open more files (too many open files): raise the limit with ulimit -n; 64 and one for each library are enough"},
		{unix.ENFILE, unix.ENFILE, "process %d: sfcore may not open more files (too many open files in system): raise the limit with ulimit -n; 64 and one for each library are enough"},
		{unix.ENOSYS, unix.ENOSYS, "process %d: this system has no ptrace: function not implemented"},
		{unix.EIO, unix.EIO, "process %d: input/output error"},
		{unix.EPERM, ErrDenied, ""},
		{unix.EACCES, ErrDenied, ""},
	} {
		err := d.explain(&os.PathError{Op: "open", Path: "x", Err: tt.err})
		if tt.want != "" {
			err = d.explain(tt.err)
		}
		if !errors.Is(err, tt.is) || tt.want != "" && err.Error() != fmt.Sprintf(tt.want, pid) {
			t.Errorf("%v: got %v", tt.err, err)
		}
	}
	no := (*denial)(nil)
	if err := d.explain(unix.EPERM); !errors.As(err, &no) || no.pid != pid || no.uid != os.Geteuid() || no.ourUID != os.Geteuid() || !no.dumpable || no.tracer != 0 || no.tracerName != "" {
		t.Errorf("got %+v", no)
	} else if capable := d.status("status").capability(19); no.capable != capable {
		t.Errorf("capable: got %v, want %v", no.capable, capable)
	}
	if text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); no != nil && (err != nil && no.yama != -1 || err == nil && fmt.Sprint(no.yama) != strings.TrimSpace(string(text))) {
		t.Errorf("yama: got %d", no.yama)
	}
}
