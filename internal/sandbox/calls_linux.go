//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// readingCalls are what a sandbox allows until the end: what Go programs need to
// run, and to read files.
func readingCalls() []call {
	calls := slices.Concat(always(
		unix.SYS_BRK, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ,
		unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
		unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETRANDOM, unix.SYS_UNAME, unix.SYS_SYSINFO,
		unix.SYS_GETRLIMIT, unix.SYS_RESTART_SYSCALL,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_GETPID, unix.SYS_GETTID,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PPOLL,
		unix.SYS_CLOSE, unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_PREADV, unix.SYS_LSEEK, unix.SYS_WRITE, unix.SYS_WRITEV,
		unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_FSTATFS, unix.SYS_STATFS, unix.SYS_GETDENTS64, unix.SYS_READLINKAT,
		unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_GETCWD, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
	), oldCalls, []call{
		// What is mapped or made readable does not become code.
		{unix.SYS_MMAP, []argument{without(unix.PROT_EXEC)}},
		{unix.SYS_MPROTECT, []argument{without(unix.PROT_EXEC)}},
		// Threads, no processes and no namespaces.
		{unix.SYS_CLONE, []argument{{0, ^uint32(threadExtras), []uint32{newThread}}}},
		// Signals go to this process only; no fork means that it stays this one.
		{unix.SYS_TGKILL, []argument{oneOf(0, uint32(os.Getpid()))}},
		// Limits of this process are read, not set.
		{unix.SYS_PRLIMIT64, []argument{oneOf(0, 0), oneOf(2, 0)}},
		// Whether a file is a terminal.
		{unix.SYS_IOCTL, []argument{oneOf(1, unix.TCGETS)}},
		// No owner, signal, lease, lock or seal, nor what sends signals.
		{unix.SYS_FCNTL, []argument{oneOf(1, unix.F_GETFD, unix.F_GETFL)}},
		{unix.SYS_FCNTL, []argument{oneOf(1, unix.F_SETFL), without(unix.O_ASYNC)}},
		// Files are opened for reading.
		{unix.SYS_OPENAT, []argument{without(unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC | unix.O_ASYNC)}},
	})
	return calls
}

// spoolingCalls are what a core needs in addition while it is opened, to be unpacked
// to a temporary file; and the call that gives these up.
func spoolingCalls() []call {
	return append(always(unix.SYS_OPENAT, unix.SYS_UNLINKAT, unix.SYS_PWRITE64, unix.SYS_FTRUNCATE),
		call{unix.SYS_SECCOMP, []argument{oneOf(0, unix.SECCOMP_SET_MODE_FILTER)}},
		call{unix.SYS_PRCTL, []argument{oneOf(0, unix.PR_SET_NO_NEW_PRIVS)}})
}

// Flags with which Go [runtime/os_linux.go], glibc and musl [pthread_create.c] make
// threads. The extras concern only the memory of the thread itself.
const (
	newThread    = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD
	threadExtras = unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID | unix.CLONE_DETACHED
)

// always allows calls whatever their arguments are.
func always(numbers ...uint32) []call {
	calls := make([]call, len(numbers))
	for i, nr := range numbers {
		calls[i].nr = nr
	}
	return calls
}

func oneOf(index uint32, values ...uint32) argument { return argument{index, allBits, values} }

// without forbids bits of the third argument, where the calls have their flags.
func without(bits uint32) argument { return argument{2, bits, []uint32{0}} }
