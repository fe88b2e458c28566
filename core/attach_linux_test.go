package core

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// subjectEnv makes the test binary be a subject, a process to attach to.
const subjectEnv = "SFCORE_TEST_SUBJECT"

const subjectThreads = 8

func init() {
	kind := os.Getenv(subjectEnv)
	if kind == "" {
		return
	}
	runtime.LockOSThread() // this is the first thread
	if left, err := strconv.Atoi(kind); err == nil && left > 0 {
		// Execute itself so many times, with the usual threads around.
		startThreads()
		_ = unix.Exec("/proc/self/exe", os.Args, []string{subjectEnv + "=" + strconv.Itoa(left-1)})
		os.Exit(1) //nolint:forbidigo // it is a program of its own
	}
	if parent, ok := strings.CutPrefix(kind, "tracer "); ok {
		pid, _ := strconv.Atoi(parent)
		traceParent(pid)
		os.Exit(1) //nolint:forbidigo // it is a program of its own
	}
	tids := startThreads()
	if kind == "headless" {
		go serve(tids)
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0) // the first thread only
	}
	serve(tids)
}

// startThreads makes threads that wait in a system call, and returns their ids.
func startThreads() []int {
	ids := make(chan int)
	for range subjectThreads {
		go func() {
			runtime.LockOSThread()
			ids <- unix.Gettid()
			for {
				_, _ = unix.Poll(nil, -1)
			}
		}()
	}
	var tids []int
	for range subjectThreads {
		tids = append(tids, <-ids)
	}
	return tids
}

// serve prints the thread ids, and then every line that it reads.
func serve(tids []int) {
	fmt.Println(strings.Trim(fmt.Sprint(tids), "[]")) //nolint:forbidigo // it is a program of its own
	if os.Getenv(subjectEnv) == "renames" {
		renameThreads()
	}
	_, _ = io.Copy(os.Stdout, os.Stdin) //nolint:forbidigo // the same
	os.Exit(0)                          //nolint:forbidigo // the same
}

// subject is a process to attach to.
type subject struct {
	pid  int
	tids []int
	in   io.WriteCloser
	pipe *os.File // what out reads
	out  *bufio.Reader
	cmd  *exec.Cmd
}

// subjectFlags are the namespaces that subjects get of their own.
var subjectFlags uintptr

func startSubject(t *testing.T, binary, kind string, args ...string) *subject {
	t.Helper()
	s := &subject{cmd: exec.Command(binary, args...)}
	s.cmd.Env = []string{subjectEnv + "=" + kind, "GOMAXPROCS=2"}
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: subjectFlags}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.pipe = out.(*os.File)
	s.out = bufio.NewReader(s.pipe)
	if err := s.cmd.Start(); err != nil {
		if subjectFlags != 0 {
			t.Skip("namespaces need root: ", err)
		}
		t.Fatal(err)
	}
	s.pid = s.cmd.Process.Pid
	t.Cleanup(func() {
		s.in.Close()
		_ = unix.Kill(s.pid, unix.SIGCONT)
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	return s
}

// ready waits until the subject's threads are there.
func (s *subject) ready(t *testing.T) {
	t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for field := range strings.FieldsSeq(line) {
		tid, _ := strconv.Atoi(field)
		s.tids = append(s.tids, tid)
	}
	if len(s.tids) != subjectThreads {
		t.Fatalf("got threads %v", s.tids)
	}
}

// answers checks that the subject runs.
func (s *subject) answers(t *testing.T) {
	t.Helper()
	_ = s.pipe.SetReadDeadline(time.Now().Add(unhurried))
	want := fmt.Sprintln("ping", time.Now())
	if _, err := io.WriteString(s.in, want); err != nil {
		t.Fatal(err)
	}
	if got, err := s.out.ReadString('\n'); got != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// waitState waits until all threads are in a state.
func (s *subject) waitState(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		states := map[string]bool{}
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.pid))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			if _, rest, ok := strings.Cut(string(text), ") "); ok {
				states[rest[:1]] = true
			}
		}
		if len(states) == 1 && states[want] {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("threads are in states %v, want %s", states, want)
		}
	}
}

// unhurried is how long a process may be held, so that all of it is copied on a
// busy machine too.
const unhurried = time.Minute

func attach(t *testing.T, pid int) *Image {
	t.Helper()
	img, err := Attach(context.Background(), pid, AttachOptions{MaxStop: unhurried})
	if errors.Is(err, unix.ENOSYS) {
		t.Skip("this emulator has no ptrace")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	return img
}

// needPtrace skips a test under an emulator, also one that needs the addresses of the
// kernel.
func needPtrace(t *testing.T) {
	t.Helper()
	if err := unix.PtraceInterrupt(os.Getpid()); errors.Is(err, unix.ENOSYS) {
		t.Skip("this emulator has no ptrace")
	}
}

// checkThreads checks that the subject's threads have registers and stacks.
func (s *subject) checkThreads(t *testing.T, img *Image) {
	t.Helper()
	seen := map[int]bool{}
	words := memreader.Words{R: img.Mem, BigEndian: img.Arch.BigEndian}
	for i := range img.Threads {
		th := &img.Threads[i]
		if seen[th.ID] {
			t.Errorf("thread %d is there twice", th.ID)
		}
		seen[th.ID] = true
		if th.Err != nil {
			continue
		}
		pc, ok1 := th.Regs.Get(img.Arch.PC)
		sp, ok2 := th.Regs.Get(img.Arch.SP)
		if m := img.Mapping(pc); !ok1 || m == nil || !m.Exec {
			t.Errorf("thread %d: pc %#x (%v) is not in code", th.ID, pc, ok1)
		}
		if _, err := words.Uint64(sp); !ok2 || err != nil {
			t.Errorf("thread %d: the stack at %#x (%v) was not copied: %v", th.ID, sp, ok2, err)
		}
	}
	for _, tid := range s.tids {
		if !seen[tid] {
			t.Errorf("thread %d is missing", tid)
		}
	}
}

func TestAttach(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	for range 20 {
		img := attach(t, s.pid)
		s.answers(t)
		s.checkThreads(t, img)
		for i := range img.Threads {
			if err := img.Threads[i].Err; err != nil {
				t.Errorf("thread %d: %v", img.Threads[i].ID, err)
			}
		}
		held := time.Duration(0)
		for _, p := range img.Live.Phases {
			if p.Held {
				held += p.Took
			}
		}
		if img.Live.StoppedFor <= 0 || held != img.Live.StoppedFor || img.Live.Copied == 0 {
			t.Errorf("got %+v", *img.Live)
		}
	}
}

// What the image says of the program does not depend on the process or on the
// file being there any more.
func TestAttachDeleted(t *testing.T) {
	needPtrace(t)
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "gone")
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	s := startSubject(t, binary, "plain")
	s.ready(t)
	if err := os.Remove(binary); err != nil {
		t.Fatal(err)
	}
	img := attach(t, s.pid)
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()

	if img.Executable != binary || !strings.HasPrefix(img.Command, binary) || img.Name != "gone" {
		t.Errorf("got executable %q, command %q, name %q, want %s", img.Executable, img.Command, img.Name, binary)
	}
	entry, _ := img.Auxv.Get(ATEntry)
	m := img.Mapping(entry)
	if m == nil || m.Path != binary || !m.Deleted || m.File == "" {
		t.Fatalf("got mapping %+v of the entry point", m)
	}
	data, release, err := elfx.MapFile(m.File)
	if err != nil || len(data) != len(self) {
		t.Fatalf("got %d bytes, %v, want %d", len(data), err, len(self))
	}
	release()
	head, err := memreader.ReadFull(img.Mem, m.Lo-m.Off, 64)
	if err != nil || string(head) != string(self[:64]) {
		t.Errorf("got head %x, %v", head, err)
	}
}

// The group-stop of SIGSTOP survives the visit, and ends with SIGCONT.
func TestAttachStopped(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	if err := unix.Kill(s.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.waitState(t, "T")
	for range 5 {
		img := attach(t, s.pid)
		s.checkThreads(t, img)
		for i := range img.Threads {
			if th := &img.Threads[i]; th.State != Stopped || th.Signal != int(unix.SIGSTOP) || th.Err != nil {
				t.Errorf("thread %d: got state %q, signal %d, %v", th.ID, th.State, th.Signal, th.Err)
			}
		}
		s.waitState(t, "T")
	}
	_ = unix.Kill(s.pid, unix.SIGCONT)
	s.answers(t)
}

// A SIGSTOP that is sent at any moment of a visit stops the process after it.
func TestAttachStopPending(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	for n := range 60 {
		sent := make(chan error)
		go func() {
			time.Sleep(time.Duration(n) * 40 * time.Microsecond)
			sent <- unix.Kill(s.pid, unix.SIGSTOP)
		}()
		attach(t, s.pid)
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		s.waitState(t, "T")
		_ = unix.Kill(s.pid, unix.SIGCONT)
		s.answers(t)
	}
}

// The main thread may end before the others.
func TestAttachZombieLeader(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "headless")
	s.ready(t)
	img := attach(t, s.pid)
	s.answers(t)
	s.checkThreads(t, img)
	if th := &img.Threads[0]; th.ID != s.pid || th.State != Zombie || !errors.Is(th.Err, errZombie) {
		t.Errorf("got thread %d, state %q, %v, want zombie %d", th.ID, th.State, th.Err, s.pid)
	}
}

// trace seizes a thread until the test ends. Signals stop a traced thread, and
// the Go runtime sends them at any time to preempt goroutines: it goes on with
// each.
func trace(t *testing.T, tid int) {
	t.Helper()
	seized, over := make(chan error), make(chan struct{})
	go onTracerThread(func() {
		seized <- unix.PtraceSeize(tid)
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
			}
			if stop, err := peek(tid); err == nil && !stop.ended {
				_ = unix.PtraceCont(tid, stop.undelivered())
			}
		}
	})
	t.Cleanup(func() { close(over) })
	if err := <-seized; err != nil {
		t.Fatal(err)
	}
}

func TestAttachTraced(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	trace(t, s.tids[3])
	img := attach(t, s.pid)
	s.answers(t)
	s.checkThreads(t, img)
	for i := range img.Threads {
		th := &img.Threads[i]
		if traced := (*tracedError)(nil); errors.As(th.Err, &traced) != (th.ID == s.tids[3]) {
			t.Errorf("thread %d: got %v; %d is traced", th.ID, th.Err, s.tids[3])
		}
	}
	// When all are traced, there is nothing to see. The Go runtime may have
	// made another thread meanwhile.
	traced := map[int]bool{s.tids[3]: true}
	err := error(nil)
	for try := 0; try < 20 && err == nil; try++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", s.pid))
		for _, f := range files {
			if tid, _ := strconv.Atoi(filepath.Base(f)); !traced[tid] {
				trace(t, tid)
				traced[tid] = true
			}
		}
		if img, err = Attach(context.Background(), s.pid, AttachOptions{MaxStop: unhurried}); err == nil {
			img.Close()
		}
	}
	if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), "already traced by process") {
		t.Errorf("got %v, want that it is traced", err)
	}
	s.answers(t)
}

// A process that starts programs all the time is seen as one of them, or the
// error says so; and it is left running.
func TestAttachExec(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "150")
	done := make(chan bool)
	go func() {
		line, _ := s.out.Peek(1)
		done <- len(line) == 1
	}()
	seen := 0
	for running := true; running; {
		select {
		case ok := <-done:
			running = false
			if !ok {
				t.Fatal("the subject ended")
			}
		default:
		}
		img, err := Attach(context.Background(), s.pid, AttachOptions{MaxStop: unhurried})
		switch {
		case err == nil:
			seen++
			s.checkThreads(t, img)
			img.Close()
		case !errors.Is(err, errExecuted) && !errors.Is(err, errNoMemory):
			t.Fatal(err)
		}
	}
	s.ready(t)
	s.answers(t)
	if seen == 0 {
		t.Error("no visit succeeded")
	}
}

func TestAttachErrors(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	dead := startSubject(t, os.Args[0], "plain")
	dead.ready(t)
	_ = dead.cmd.Process.Kill()
	dead.waitState(t, "Z")
	tests := []struct {
		name string
		pid  int
		is   error
		want string
	}{
		{"nobody", 1 << 30, ErrNoProcess, "no such process"},
		{"zombie", dead.pid, ErrNoProcess, "zombie"},
		{"thread", s.tids[0], nil, fmt.Sprintf("is a thread of process %d", s.pid)},
		{"itself", os.Getpid(), nil, "cannot stop itself"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Attach(context.Background(), tt.pid, AttachOptions{})
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %v: %q", err, tt.is, tt.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Attach(ctx, s.pid, AttachOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
