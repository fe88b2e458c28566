//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"

	"golang.org/x/sys/unix"
)

// tryLandlock is [try] without a filter, which would hide what Landlock forbids.
func tryLandlock() {
	dirs, files, release, err := ordinaryFiles()
	if err == nil {
		err = restrict(dirs, files, os.Args[1])
		release()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	dial := func() error { _, err := net.Dial("unix", os.Args[2]); return err }
	listen := func() error { // as TCP: Go prefers MPTCP, which Landlock lets pass
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
		if err != nil {
			return err
		}
		defer unix.Close(fd) //nolint:errcheck // a socket that nobody uses
		return unix.Bind(fd, &unix.SockaddrInet4{Port: 1 << 15})
	}
	for _, a := range []attempt{
		{"writing a temporary file", nil, func() error { return os.WriteFile(os.Args[1]+"/file", nil, 0o600) }},
		{"writing another file", unix.EACCES, func() error { return os.WriteFile(os.Args[1]+"/../new", nil, 0o600) }},
		{"running a program", unix.EACCES, func() error { return syscall.Exec(os.Args[0], os.Args, nil) }},
		{"reading of processes", unix.EACCES, func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", os.Getppid())); return err }},
		{"a signal to another process", unix.EPERM, func() error { return syscall.Kill(os.Getppid(), 0) }},
		{"a signal to itself", nil, func() error { return syscall.Kill(os.Getpid(), 0) }},
		{"an abstract socket", unix.EPERM, dial},
		{"a port", unix.EACCES, listen},
	} {
		a.print("Landlock")
	}
}

// What later versions of Landlock restrict is restricted where the kernel has them.
func TestLandlock(t *testing.T) {
	testkit.NeedRestart(t)
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	errata, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
	if errno != 0 || version < 6 || errata&2 == 0 {
		t.Skipf("Landlock has version %d, errata %#x, %v; scopes are from version 6 on, with erratum 2 mended", version, errata, errno)
	}
	name := fmt.Sprintf("@sfcore-test-%d", os.Getpid())
	socket, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	dir := t.TempDir()
	spool := dir + "/spool"
	if err := os.Mkdir(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], spool, name)
	cmd.Env = append(os.Environ(), beAnother+"=try Landlock")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("it could or could not: %v\n%s", err, out)
	}
}
