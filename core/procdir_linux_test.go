package core

import (
	"errors"
	"fmt"
	"os"
	"slices"
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

// The threads are what their directory lists; none are no process.
func TestThreads(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []int
		is    error
	}{
		{"three, and what is none", map[string]string{"task/7/x": "", "task/12/x": "", "task/9/x": "", "task/self/x": ""}, []int{7, 9, 12}, nil},
		{"none", map[string]string{"task": "-> ."}, []int{}, nil},
		{"no directory", map[string]string{"task": ""}, nil, unix.ENOTDIR},
		{"not there", nil, nil, ErrNoProcess},
	} {
		tids, err := procFiles(t, tt.files).threads()
		if slices.Sort(tids); !slices.Equal(tids, tt.want) || (tids == nil) != (tt.want == nil) || !errors.Is(err, tt.is) {
			t.Errorf("%s: got %v, %v, want %v, %v", tt.name, tids, err, tt.want, tt.is)
		}
	}
	d := procFiles(t, map[string]string{"task/7": ""})
	if err := unix.Unlinkat(d.fd, "task/7", 0); err != nil {
		t.Fatal(err)
	}
	if tids, err := d.threads(); tids != nil || !errors.Is(err, ErrNoProcess) {
		t.Errorf("an empty directory: got %v, %v, want %v", tids, err, ErrNoProcess)
	}
	for name, want := range map[string]string{"S": "7", "R": "7", "Z": "", "X": "", "T": "7", "D": "7"} {
		d := procFiles(t, map[string]string{"task/6/stat": statOf("a", "Z"), "task/5/stat": "damaged", "task/4/x": "", "task/7/stat": statOf("a", name)})
		if d.alive = 6; d.findAlive() != (want != "") || want != "" && d.alive != 7 || want == "" && d.alive != 6 {
			t.Errorf("state %s: got thread %d, want %s", name, d.alive, want)
		}
	}
}

// A refusal says who traces the process, whose it is, and whether its files are its own.
func TestExplainDenial(t *testing.T) {
	self := os.Getpid()
	for _, tt := range []struct {
		name, status string
		want         denial
	}{
		{"nobody's tracee", fmt.Sprintf("Uid:\t1\t%d\t3\t4\n", os.Geteuid()), denial{uid: os.Geteuid(), dumpable: true}},
		{"another user's, whose files are not its own", fmt.Sprintf("Uid:\t1\t%d\t3\t4\n", os.Geteuid()+1), denial{uid: os.Geteuid() + 1}},
		{"traced", fmt.Sprintf("TracerPid:\t%d\nUid:\t1\t%d\t3\t4\n", self, os.Geteuid()), denial{uid: os.Geteuid(), dumpable: true, tracer: self, tracerName: processName(self)}},
	} {
		tt.want.pid, tt.want.ourUID = fakeID, os.Geteuid()
		got := (*denial)(nil)
		if err := procFiles(t, map[string]string{"status": tt.status, "maps": ""}).explain(unix.EACCES); !errors.As(err, &got) {
			t.Errorf("%s: got %v", tt.name, err)
			continue
		}
		tt.want.yama, tt.want.capable = got.yama, got.capable // the system's: see TestProcDir
		if *got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, *got, tt.want)
		}
	}
	if name := processName(0); name != "" {
		t.Errorf("got %q as the name of nobody", name)
	}
}
