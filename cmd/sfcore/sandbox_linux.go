package main

import (
	"fmt"
	"slices"

	"github.com/elastic/go-seccomp-bpf"
	seccomparch "github.com/elastic/go-seccomp-bpf/arch"
	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// sandbox is what remains allowed to this process, in steps: see [enterSandbox].
type sandbox struct{ config *landlock.Config }

const (
	readFS = landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR)

	// spoolFS is what it takes to keep a core in a temporary file.
	spoolFS = readFS | landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_MAKE_REG|
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE)

	// everyFS are the rights of Landlock's third version, of Linux 6.2: the
	// first that keeps files from being truncated.
	everyFS = landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1)
)

// sandboxCalls are the system calls that a sandbox allows: those by which Go
// programs run, and those that read files. Some architectures have not all.
var sandboxCalls = []string{
	"brk", "mmap", "munmap", "mprotect", "mremap", "madvise", "mincore",
	"clone", "clone3", "exit", "exit_group", "set_robust_list", "set_tid_address", "rseq", "arch_prctl",
	"futex", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time",
	"sched_yield", "sched_getaffinity", "getrandom", "uname", "sysinfo", "getrlimit", "prlimit64", "restart_syscall",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "tgkill", "getpid", "gettid",
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2", "pipe2", "poll", "ppoll",
	"openat", "open", "close", "read", "readv", "pread64", "preadv", "lseek", "fcntl", "ioctl", "dup", "dup3",
	"fstat", "stat", "lstat", "newfstatat", "statx", "fstatfs", "statfs", "getdents64", "readlinkat", "readlink",
	"faccessat", "faccessat2", "access", "getcwd", "getuid", "geteuid", "getgid", "getegid",
	"write", "writev", "pwrite64", "ftruncate", "fadvise64",
}

// landlockCalls are those that the second step of the sandbox needs.
var landlockCalls = []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "prctl", "seccomp", "tkill", "unlinkat", "unlink"}

// enterSandbox gives up, for all threads, the rights to run programs, to use
// the network, to change files other than temporary ones below spool, and to
// look at other processes. The error says what the system lacks for that.
func enterSandbox(spool string) (*sandbox, error) {
	config, err := landlock.NewConfig(everyFS)
	if err != nil {
		return nil, err
	}
	s := &sandbox{config}
	err = config.RestrictPaths(landlock.PathAccess(readFS, "/"), landlock.PathAccess(spoolFS, spool).IgnoreIfMissing())
	if err != nil {
		return nil, fmt.Errorf("--sandbox needs Landlock as of Linux 6.2: %w", err)
	}
	return s, allowOnly(append(slices.Clone(landlockCalls), sandboxCalls...))
}

// readOnly gives up the right to change temporary files too.
func (s *sandbox) readOnly() error {
	if err := s.config.RestrictPaths(landlock.PathAccess(readFS, "/")); err != nil {
		return fmt.Errorf("--sandbox: %w", err)
	}
	return allowOnly(sandboxCalls)
}

// allowOnly has all system calls but some fail, with EPERM.
func allowOnly(calls []string) error {
	info, err := seccomparch.GetInfo("")
	if err != nil {
		return fmt.Errorf("--sandbox: %w", err)
	}
	if !seccomp.Supported() {
		return fmt.Errorf("--sandbox needs a kernel with seccomp filters")
	}
	known := slices.DeleteFunc(slices.Clone(calls), func(name string) bool {
		_, ok := info.SyscallNames[name]
		return !ok
	})
	err = seccomp.LoadFilter(seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno,
			Syscalls:      []seccomp.SyscallGroup{{Action: seccomp.ActionAllow, Names: known}},
		},
	})
	if err != nil {
		return fmt.Errorf("--sandbox: seccomp: %w", err)
	}
	return nil
}
