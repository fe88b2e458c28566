//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A call is a system call that a filter allows.
type call struct {
	nr uint32
	// If only is not empty, all of it must hold. A number may stand in several
	// calls: it is allowed if one of them allows it.
	only []argument
}

// An argument of a call has one of the values where mask is set. The kernel passes
// 64 bits; the upper half must be zero.
type argument struct {
	index  uint32 // from 0
	mask   uint32
	values []uint32
}

const allBits = 1<<32 - 1

// Offsets in struct seccomp_data of little-endian hosts [linux include/uapi/linux/seccomp.h].
const (
	seccompNr   = 0
	seccompArch = 4
	seccompArgs = 16 // 8 bytes each, the lower half first
)

const (
	denied = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	tooOld = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// seccompFilter returns a program that lets the given calls through. For clone3,
// whose flags are in memory where no filter can read them, the system seems too
// old: libc and Go then use clone. Everything else fails with EPERM.
func seccompFilter(calls []call) []bpf.Instruction {
	number := bpf.LoadAbsolute{Off: seccompNr, Size: 4}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: seccompArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1}, // numbers mean something else for i386
		bpf.RetConstant{Val: denied},
		number,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE3, SkipFalse: 1},
		bpf.RetConstant{Val: tooOld},
	}
	for _, c := range calls {
		checks := checkArguments(c.only)
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.nr, SkipFalse: uint8(len(checks) + 1)})
		program = append(program, checks...)
		program = append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
		if len(checks) > 0 {
			program = append(program, number) // for the next comparison
		}
	}
	return append(program, bpf.RetConstant{Val: denied})
}

// checkArguments returns instructions that skip what is after them, and the
// instruction that allows the call, unless the arguments are as they must be.
func checkArguments(args []argument) []bpf.Instruction {
	var checks []bpf.Instruction
	for i := len(args) - 1; i >= 0; i-- { // from the end, where jumps lead to
		a := args[i]
		after := uint8(len(checks) + 1)
		values := make([]bpf.Instruction, len(a.values))
		for k, v := range a.values {
			rest := uint8(len(a.values) - 1 - k)
			jump := bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: rest}
			if rest == 0 {
				jump.SkipFalse = after
			}
			values[k] = jump
		}
		check := []bpf.Instruction{
			bpf.LoadAbsolute{Off: seccompArgs + 8*a.index + 4, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipFalse: uint8(2+len(values)) + after},
			bpf.LoadAbsolute{Off: seccompArgs + 8*a.index, Size: 4},
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: a.mask},
		}
		checks = append(append(check, values...), checks...)
	}
	return checks
}

// filterCalls makes all system calls except the given ones fail, in all threads
// and until the process ends.
func filterCalls(calls []call) error {
	raw, err := bpf.Assemble(seccompFilter(calls))
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
