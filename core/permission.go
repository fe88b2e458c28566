package core

import "fmt"

// denial says why the system refuses access to a process.
type denial struct {
	pid int
	// tracer traces the process already, if not 0.
	tracer     int
	tracerName string
	// uid and ourUID are the effective users of the process and of sfcore.
	uid, ourUID int
	// capable: we have CAP_SYS_PTRACE.
	capable bool
	// yama is kernel.yama.ptrace_scope, -1 if there is none.
	yama int
	// dumpable: the files of /proc/PID belong to the process's user. They do not
	// if the process has changed users, or has asked for that.
	dumpable bool
}

// Error is a sentence that says why, and what to do.
func (d *denial) Error() string {
	who := fmt.Sprintf("process %d", d.pid)
	const ptraceCap = "the capability CAP_SYS_PTRACE (sudo, or in a container --cap-add=SYS_PTRACE)"
	switch {
	case d.tracer != 0:
		by := fmt.Sprintf("process %d", d.tracer)
		if d.tracerName != "" {
			by += " (" + d.tracerName + ")"
		}
		return fmt.Sprintf("%s is already traced by %s, and a process has one tracer: detach that one first", who, by)
	case d.yama >= 3:
		return who + " may not be traced: kernel.yama.ptrace_scope is 3, which forbids it to everybody until the next boot; set it lower in /etc/sysctl.d and boot"
	case d.capable:
		return who + " may not be traced although sfcore has CAP_SYS_PTRACE: a security policy (seccomp, SELinux, AppArmor) forbids it, or the process is in a user namespace above sfcore's; in a container try --security-opt seccomp=unconfined, or run sfcore on the host"
	case d.uid != d.ourUID && d.ourUID == 0:
		return fmt.Sprintf("%s belongs to user %d, and root lacks CAP_SYS_PTRACE here: run the container with --cap-add=SYS_PTRACE, or sfcore on the host", who, d.uid)
	case d.uid != d.ourUID:
		return fmt.Sprintf("%s belongs to user %d, and sfcore runs as user %d: run sfcore as that user, or with %s", who, d.uid, d.ourUID, ptraceCap)
	case !d.dumpable:
		return fmt.Sprintf("%s has changed users or made itself undumpable (prctl PR_SET_DUMPABLE), which hides it from its own user: run sfcore with %s", who, ptraceCap)
	case d.yama == 2:
		return fmt.Sprintf("%s may not be traced: kernel.yama.ptrace_scope is 2, which leaves it to administrators: run sfcore with %s", who, ptraceCap)
	case d.yama == 1:
		return fmt.Sprintf("%s may not be traced: kernel.yama.ptrace_scope is 1, which leaves it to the process's parents: run sfcore with %s, or as root: sysctl kernel.yama.ptrace_scope=0", who, ptraceCap)
	}
	return fmt.Sprintf("%s may not be traced: run sfcore with %s", who, ptraceCap)
}

// Is makes errors.Is(err, ErrDenied) true.
func (d *denial) Is(target error) bool { return target == ErrDenied }
