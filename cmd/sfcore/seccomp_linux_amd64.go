//go:build linux && amd64

package main

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// oldCalls are system calls of [sandboxCalls] that newer architectures lack.
var oldCalls = []uint32{
	unix.SYS_ARCH_PRCTL, unix.SYS_TIME, unix.SYS_EPOLL_WAIT, unix.SYS_POLL,
	unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_READLINK, unix.SYS_ACCESS,
}

// oldUnlink is that of [landlockCalls].
var oldUnlink = []uint32{unix.SYS_UNLINK}
