//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sfcore/sfcore/internal/testkit"

	"golang.org/x/sys/unix"
)

// beAnother makes the test binary do something else: nothing leads out of a sandbox.
const beAnother = "SFCORE_TEST_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(beAnother) {
	case "try":
		try()
	case "try Landlock":
		tryLandlock()
	case "try reading":
		tryReading()
	default:
		os.Exit(m.Run())
	}
}

// Files that the tests give to [try], below its directory.
const (
	spoolName   = "spool"
	victimName  = "old"     // a file outside of the spool directory
	privateName = "private" // a file that only its owner may read
)

// an attempt is something that a process can try in a sandbox.
type attempt struct {
	what string
	want error // what the system must answer; nil if it must do it
	try  func() error
}

// print tries, and says if the system's answer is another.
func (a attempt) print(where string) {
	if err := a.try(); !errors.Is(err, a.want) || (err == nil) != (a.want == nil) {
		fmt.Printf("%s: %s: got %v, want %v\n", where, a.what, err, a.want)
	}
}

// attempts are what a security review found that a process could do, and what it must
// still be able to do.
func attempts(dir string, step int, user Identity, parent uintptr) []attempt {
	victim, private := filepath.Join(dir, victimName), filepath.Join(dir, privateName)
	open := func(name string) func() error {
		return func() error {
			f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
			if err == nil {
				f.Close()
			}
			return err
		}
	}
	call := func(nr uintptr, args ...uintptr) func() error {
		return func() error {
			var a [6]uintptr
			copy(a[:], args)
			if _, _, errno := syscall.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
				return errno
			}
			return nil
		}
	}
	// What the kernel would start goes on here, and must end at once.
	clone := func(flags uintptr) func() error {
		return func() error {
			pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			if pid == 0 {
				_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
			return nil
		}
	}
	f, err := os.Open(victim)
	if err != nil {
		return []attempt{{"reading " + victim, nil, func() error { return err }}}
	}
	defer runtime.KeepAlive(f)
	fd := f.Fd()
	proc := fmt.Sprintf("/proc/%d/", parent)
	char, flags, owner := byte('x'), 0x40 /* FS_NODUMP_FL */, [2]int32{1 /* F_OWNER_PID */, int32(parent)}
	limit := unix.Rlimit{Cur: 5, Max: 5}
	signals := fcntlOfPipe

	tries := []attempt{
		{"reading a file", nil, open(os.Args[0])},
		{"reading a directory", nil, open(dir)},
		{"writing a temporary file", map[int]error{2: unix.EPERM}[step], func() error {
			name := filepath.Join(dir, spoolName, "file")
			f, err := os.Create(name)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt([]byte("x"), 4096)
			return errors.Join(err, f.Truncate(8192), os.Remove(name))
		}},
		{"writing another file", map[int]error{1: unix.EACCES, 2: unix.EPERM}[step], func() error { return os.WriteFile(victim, nil, 0) }},
		{"making a file", map[int]error{1: unix.EACCES, 2: unix.EPERM}[step], func() error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o600) }},
		{"removing a file", map[int]error{1: unix.EACCES, 2: unix.EPERM}[step], func() error { return os.Remove(victim) }},
		{"truncating a file", unix.EPERM, func() error { return os.Truncate(victim, 0) }},
		{"chmod", unix.EPERM, func() error { return os.Chmod(victim, 0o777) }},
		{"running a program", unix.EPERM, func() error { _, err := syscall.ForkExec(os.Args[0], os.Args, &syscall.ProcAttr{}); return err }},
		{"listening", unix.EPERM, func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err }},

		{"TIOCSTI", unix.EPERM, call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&char)))},
		{"TIOCSWINSZ", unix.EPERM, call(unix.SYS_IOCTL, 0, unix.TIOCSWINSZ, uintptr(unsafe.Pointer(&[8]byte{})))},
		{"TIOCLINUX", unix.EPERM, call(unix.SYS_IOCTL, 0, unix.TIOCLINUX, 0)},
		{"FS_IOC_SETFLAGS", unix.EPERM, call(unix.SYS_IOCTL, fd, unix.FS_IOC_SETFLAGS, uintptr(unsafe.Pointer(&flags)))},
		{"TUNSETIFF", unix.EPERM, call(unix.SYS_IOCTL, fd, unix.TUNSETIFF, 0)},
		{"FIOSETOWN", unix.EPERM, call(unix.SYS_IOCTL, fd, 0x8901, uintptr(unsafe.Pointer(&owner[1])))},
		{"tgkill", unix.EPERM, call(unix.SYS_TGKILL, parent, parent, 0)},
		{"kill", unix.EPERM, call(unix.SYS_KILL, parent, 0)},
		{"trace", unix.EPERM, func() error { return syscall.PtraceAttach(int(parent)) }},
		{"prlimit64 of another process", unix.EPERM, call(unix.SYS_PRLIMIT64, parent, unix.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&limit)))},
		{"prlimit64 that sets", unix.EPERM, call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_STACK, uintptr(unsafe.Pointer(&limit)))},
		{"F_SETOWN", unix.EPERM, signals(unix.F_SETOWN, parent)},
		{"F_SETOWN_EX", unix.EPERM, signals(unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner)))},
		{"F_SETSIG", unix.EPERM, signals(unix.F_SETSIG, uintptr(unix.SIGKILL))},
		{"F_SETFL of O_ASYNC", unix.EPERM, signals(unix.F_SETFL, unix.O_ASYNC)},
		{"F_SETLEASE", unix.EPERM, call(unix.SYS_FCNTL, fd, unix.F_SETLEASE, unix.F_RDLCK)},
		{"F_NOTIFY", unix.EPERM, call(unix.SYS_FCNTL, fd, unix.F_NOTIFY, 1)},
		{"fork", unix.EPERM, clone(uintptr(unix.SIGCHLD))},
		{"clone with a new user namespace", unix.EPERM, clone(unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD))},
		{"clone with new namespaces", unix.EPERM, clone(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | uintptr(unix.SIGCHLD))},
		{"clone3", unix.ENOSYS, call(unix.SYS_CLONE3, 0, 0)},
		{"mapping code", unix.EPERM, call(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE, fd)},
		{"memory becoming code", unix.EPERM, call(unix.SYS_MPROTECT, 0, 0, unix.PROT_READ|unix.PROT_EXEC)},
		{"becoming another user", unix.EPERM, call(unix.SYS_SETUID, 1)},
		{"capset", unix.EPERM, call(unix.SYS_CAPSET, 0, 0)},
	}
	for _, name := range []string{"/dev/net/tun", "/dev/loop-control", "/dev/kvm", "/dev/kmsg", "/dev/ptmx", "/dev/null", "/dev/tty", "/proc/kmsg", "/proc/version", "/sys/kernel/notes"} {
		if _, err := os.Lstat(name); err == nil {
			tries = append(tries, attempt{"opening " + name, unix.EACCES, open(name)})
		}
	}
	for _, name := range []string{"environ", "maps", "auxv", "mem", "cmdline", "status", "stat", "task", "root/etc"} {
		tries = append(tries, attempt{"opening the parent's /proc " + name, unix.EACCES, open(proc + name)})
	}
	for _, name := range []string{"exe", "cwd", "root"} {
		tries = append(tries, attempt{"following the parent's /proc " + name, unix.EACCES, func() error { _, err := os.Readlink(proc + name); return err }})
	}
	tries = append(tries, attempt{"reading what only the owner may", map[bool]error{true: unix.EACCES}[user.Given], open(private)})
	return tries
}

// fcntlOfPipe calls fcntl for a pipe that another process could be told of: descriptor
// 3 of [try].
func fcntlOfPipe(cmd, arg uintptr) func() error {
	return func() error {
		if _, _, errno := syscall.RawSyscall(unix.SYS_FCNTL, 3, cmd, arg); errno != 0 {
			return errno
		}
		return nil
	}
}

// try enters a sandbox and prints what it could do after each step that it should
// not, or could not that it should. Then it waits for the end of descriptor 3.
func try() {
	dir := os.Args[1]
	var user Identity
	if len(os.Args) > 2 {
		if err := user.Set(os.Args[2]); err != nil {
			panic(err)
		}
	}
	parent := uintptr(os.Getppid())
	attemptAll := func(step int, allowed []call) {
		for _, a := range attempts(dir, step, user, parent) {
			a.print(fmt.Sprint("step ", step))
		}
		for nr := range uintptr(1024) {
			on := slices.ContainsFunc(allowed, func(c call) bool { return uintptr(c.nr) == nr })
			if on || nr == unix.SYS_CLONE3 || slices.Contains(unfiltered, nr) {
				continue
			}
			for _, number := range []uintptr{nr, x32 | nr} {
				if _, _, errno := syscall.RawSyscall6(number, 0, 0, 0, 0, 0, 0); errno != unix.EPERM {
					fmt.Printf("step %d: system call %#x: got %v, want EPERM\n", step, number, errno)
				}
			}
		}
	}
	if err := Enter(filepath.Join(dir, spoolName), user); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	attemptAll(1, append(spoolingCalls(), readingCalls()...))
	if err := Finish(); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	attemptAll(2, readingCalls())
	for range 4 * runtime.NumCPU() { // new threads are in it too
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- os.WriteFile(filepath.Join(dir, spoolName, "file"), nil, 0o600)
		}()
		if <-done == nil {
			fmt.Println("a thread is outside")
		}
	}
	fmt.Println("tried all")
	_, _ = io.Copy(io.Discard, os.NewFile(3, "wait"))
}

// unfiltered are system calls of amd64 that the kernel takes only from code of its own,
// and lets no filter see: uretprobe and uprobe. They end with SIGILL.
var unfiltered = map[string][]uintptr{"amd64": {335, 336}}[runtime.GOARCH]

// x32 marks numbers of the x32 ABI, which amd64 kernels may know.
const x32 = 0x40000000

func TestSandbox(t *testing.T) {
	users := []string{""}
	if os.Geteuid() == 0 {
		users = append(users, "12345:12346")
	} else {
		t.Log("not run as root: --user, and giving up root's capabilities, are not tested")
	}
	for _, user := range users {
		t.Run("user "+user, func(t *testing.T) { testSandbox(t, "try", user) })
	}
	t.Run("reading", func(t *testing.T) { testSandbox(t, "try reading", "") })
}

func testSandbox(t *testing.T, mode, user string) {
	t.Helper()
	testkit.NeedRestart(t)
	dir, err := os.MkdirTemp("/tmp", "sfcore-sandbox-*") //nolint:usetesting // another user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	spool := filepath.Join(dir, spoolName)
	for _, err := range []error{
		os.Chmod(dir, 0o755), os.Mkdir(spool, 0o700), os.Chmod(spool, 0o777),
		os.WriteFile(filepath.Join(dir, victimName), []byte("x"), 0o644), os.WriteFile(filepath.Join(dir, privateName), []byte("x"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	copied := filepath.Join(dir, "sfcore.test") // where another user can read it
	if b, err := os.ReadFile(os.Args[0]); err != nil {
		t.Fatal(err)
	} else if err := os.WriteFile(copied, b, 0o755); err != nil {
		t.Fatal(err)
	}

	wait, done, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer done.Close()
	args := []string{dir}
	if user != "" {
		args = append(args, user)
	}
	cmd := exec.CommandContext(t.Context(), copied, args...)
	if user != "" { // with groups to give up
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: []uint32{0, 6}}}
	}
	cmd.Env = append(os.Environ(), beAnother+"="+mode)
	cmd.Stdin = terminal(t)
	cmd.ExtraFiles = []*os.File{wait}
	cmd.WaitDelay = time.Minute
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Close()

	got := ""
	for buf := make([]byte, 4096); !strings.HasSuffix(got, "tried all\n"); {
		n, err := out.Read(buf)
		got += string(buf[:n])
		if err != nil {
			break
		}
	}
	switch {
	case strings.HasPrefix(got, "--sandbox"):
		t.Skip(got) // as on kernels that lack it
	case got != "tried all\n":
		t.Errorf("it could or could not:\n%s", got)
	}
	checkPrivileges(t, cmd.Process.Pid, user)
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if b, err := os.ReadFile(filepath.Join(dir, victimName)); err != nil || string(b) != "x" {
		t.Errorf("the file outside of the spool directory is %q, %v", b, err)
	}
}

// checkPrivileges looks at a process in a sandbox from outside.
func checkPrivileges(t *testing.T, pid int, user string) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	want := map[string]string{
		"CapInh:": "0000000000000000", "CapPrm:": "0000000000000000", "CapEff:": "0000000000000000", "CapAmb:": "0000000000000000",
		"NoNewPrivs:": "1", "Seccomp:": "2",
	}
	if os.Geteuid() == 0 {
		want["CapBnd:"] = "0000000000000000"
	}
	for _, name := range threads {
		status, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // a thread of the Go runtime that has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if user != "" && !strings.Contains(string(status), "\nUid:\t12345\t12345\t12345\t12345\nGid:\t12346\t12346\t12346\t12346\n") {
			t.Errorf("%s: the thread does not belong to %s", name, user)
		}
		if _, groups, _ := strings.Cut(string(status), "\nGroups:"); user != "" && strings.TrimSpace(groups[:strings.Index(groups, "\n")]) != "" {
			t.Errorf("%s: the thread has the groups %.20q", name, groups)
		}
		found := 0
		for line := range strings.Lines(string(status)) {
			if fields := strings.Fields(line); len(fields) == 2 && want[fields[0]] != "" {
				found++
				if fields[1] != want[fields[0]] {
					t.Errorf("%s: got %s, want %s", name, line, want[fields[0]])
				}
			}
		}
		if found != len(want) {
			t.Errorf("%s has %d of %d values", name, found, len(want))
		}
	}
	if seen < 2 {
		t.Errorf("got %d threads, want several", seen)
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		t.Fatal(err)
	}
	for name, most := range map[string]uint64{"Max data size": maxSandboxData, "Max cpu time": maxSandboxCPU, "Max core file size": 0} {
		_, after, _ := strings.Cut(string(limits), name)
		var soft, hard uint64
		if n, err := fmt.Sscan(after, &soft, &hard); n != 2 || soft > most || hard > most {
			t.Errorf("%s: got %d and %d, %v; want at most %d", name, soft, hard, err, most)
		}
	}
	if st, err := os.Stat(fmt.Sprintf("/proc/%d/environ", pid)); err != nil || st.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("the process is dumpable: its /proc has owner %v, %v; want root", st.Sys().(*syscall.Stat_t).Uid, err)
	}
}

// terminal returns a terminal for a process to type into, or a file that is none.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Logf("without a terminal: %v", err)
		return nil
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return slave
}

// tryReading is [try] of a sandbox that never may write.
func tryReading() {
	dir, parent := os.Args[1], uintptr(os.Getppid()) // which a sandbox does not tell
	if lacks, err := EnterReading(Identity{}); lacks != nil || err != nil {
		err = errors.Join(lacks, err)
		fmt.Println(err)
		os.Exit(2)
	}
	for _, a := range attempts(dir, 2, Identity{}, parent) {
		a.print("reading")
	}
	fmt.Println("tried all")
	_, _ = io.Copy(io.Discard, os.NewFile(3, "wait"))
}
