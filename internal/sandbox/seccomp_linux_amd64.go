//go:build linux && amd64

package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// archSetFS sets the address of a thread's own data [linux arch/x86/include/uapi/asm/prctl.h].
const archSetFS = 0x1002

// oldCalls are calls of [readingCalls] that newer architectures lack.
var oldCalls = append(always(unix.SYS_TIME, unix.SYS_EPOLL_WAIT, unix.SYS_POLL),
	call{unix.SYS_ARCH_PRCTL, []argument{oneOf(0, archSetFS)}})
