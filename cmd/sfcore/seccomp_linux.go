//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// sandboxCalls are the system calls that a sandbox allows: those that Go programs
// need to run, and those that read files.
var sandboxCalls = []uint32{
	unix.SYS_BRK, unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MINCORE,
	unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ,
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETRANDOM, unix.SYS_UNAME, unix.SYS_SYSINFO,
	unix.SYS_GETRLIMIT, unix.SYS_PRLIMIT64, unix.SYS_RESTART_SYSCALL,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_TGKILL, unix.SYS_GETPID, unix.SYS_GETTID,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2, unix.SYS_PPOLL,
	unix.SYS_OPENAT, unix.SYS_CLOSE, unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_PREADV,
	unix.SYS_LSEEK, unix.SYS_FCNTL, unix.SYS_IOCTL, unix.SYS_DUP, unix.SYS_DUP3,
	unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_FSTATFS, unix.SYS_STATFS, unix.SYS_GETDENTS64, unix.SYS_READLINKAT,
	unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_GETCWD, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
	unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_FADVISE64,
}

// landlockCalls are those that the second step of the sandbox needs.
var landlockCalls = []uint32{
	unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF,
	unix.SYS_PRCTL, unix.SYS_SECCOMP, unix.SYS_TKILL, unix.SYS_UNLINKAT,
}

// Offsets in struct seccomp_data [linux include/uapi/linux/seccomp.h].
const (
	seccompNr   = 0
	seccompArch = 4
)

// allowOnly makes all system calls except the given ones fail with EPERM, in all
// threads.
func allowOnly(calls ...[]uint32) error {
	const otherwise = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: seccompArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1}, // numbers mean something else for i386
		bpf.RetConstant{Val: otherwise},
		bpf.LoadAbsolute{Off: seccompNr, Size: 4},
	}
	for _, nr := range slices.Concat(calls...) {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	}
	raw, err := bpf.Assemble(append(program, bpf.RetConstant{Val: otherwise}))
	if err != nil {
		return fmt.Errorf("--sandbox: seccomp: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, insn := range raw {
		filter[i] = unix.SockFilter{Code: insn.Op, Jt: insn.Jt, Jf: insn.Jf, K: insn.K}
	}
	runtime.LockOSThread() // no_new_privs is of a thread, until the filter takes it to all
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("--sandbox: prctl(PR_SET_NO_NEW_PRIVS): %w", err)
	}
	arg := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	tid, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&arg)))
	switch {
	case errno == unix.ENOSYS:
		return fmt.Errorf("--sandbox needs a kernel with seccomp filters")
	case errno != 0:
		return fmt.Errorf("--sandbox: seccomp: %w", errno)
	case tid != 0:
		return fmt.Errorf("--sandbox: seccomp: thread %d already has a different filter", tid)
	}
	return nil
}
