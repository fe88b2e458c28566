//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A filterVM evaluates a filter as the kernel does, on any kernel and in an
// emulator.
type filterVM struct {
	*bpf.VM
	t *testing.T
}

func newFilterVM(t *testing.T, calls []call) filterVM {
	t.Helper()
	vm, err := bpf.NewVM(seccompFilter(calls))
	if err != nil {
		t.Fatal(err)
	}
	return filterVM{vm, t}
}

// run returns what the filter says to a system call. The VM reads words in network
// order, the kernel in the host's.
func (vm filterVM) run(arch, nr uint32, args ...uint64) uint32 {
	vm.t.Helper()
	data := binary.BigEndian.AppendUint32(nil, nr)
	data = binary.BigEndian.AppendUint32(data, arch)
	data = append(data, make([]byte, 8)...) // the instruction's address
	for i := range 6 {
		arg := uint64(0)
		if i < len(args) {
			arg = args[i]
		}
		data = binary.BigEndian.AppendUint32(data, uint32(arg))
		data = binary.BigEndian.AppendUint32(data, uint32(arg>>32))
	}
	action, err := vm.VM.Run(data)
	if err != nil {
		vm.t.Fatal(err)
	}
	return uint32(action)
}

const allowed = unix.SECCOMP_RET_ALLOW

func TestSeccompArguments(t *testing.T) {
	pid, big := uint64(os.Getpid()), uint64(1)<<32
	for _, c := range []struct {
		what            string
		nr              uint32
		args            []uint64
		reading, opened uint32 // what the filters of both steps say, the second first
	}{
		{"read", unix.SYS_READ, nil, allowed, allowed},
		{"kill", unix.SYS_KILL, []uint64{pid}, denied, denied},
		{"tkill", unix.SYS_TKILL, []uint64{pid}, denied, denied},
		{"tgkill of this process", unix.SYS_TGKILL, []uint64{pid, 1, 9}, allowed, allowed},
		{"tgkill of another", unix.SYS_TGKILL, []uint64{pid + 1, 1, 9}, denied, denied},
		{"tgkill, upper half", unix.SYS_TGKILL, []uint64{pid | big, 1, 9}, denied, denied},
		{"prlimit64 to read", unix.SYS_PRLIMIT64, []uint64{0, 7, 0, 1 << 40}, allowed, allowed},
		{"prlimit64 to set", unix.SYS_PRLIMIT64, []uint64{0, 7, 1 << 40, 0}, denied, denied},
		{"prlimit64 of another", unix.SYS_PRLIMIT64, []uint64{1, 7, 0, 1 << 40}, denied, denied},
		{"clone of Go", unix.SYS_CLONE, []uint64{0x50f00, 1 << 40}, allowed, allowed},
		{"clone of Go on amd64", unix.SYS_CLONE, []uint64{0xd0f00, 1 << 40}, allowed, allowed},
		{"clone of glibc", unix.SYS_CLONE, []uint64{0x3d0f00, 1 << 40}, allowed, allowed},
		{"clone of musl", unix.SYS_CLONE, []uint64{0x7d0f00, 1 << 40}, allowed, allowed},
		{"fork", unix.SYS_CLONE, []uint64{0x1200011}, denied, denied},
		{"vfork", unix.SYS_CLONE, []uint64{0x4111}, denied, denied},
		{"a thread with a network of its own", unix.SYS_CLONE, []uint64{0x50f00 | unix.CLONE_NEWNET}, denied, denied},
		{"a user namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER}, denied, denied},
		{"clone3", unix.SYS_CLONE3, nil, tooOld, tooOld},
		{"TCGETS", unix.SYS_IOCTL, []uint64{0, unix.TCGETS, 1 << 40}, allowed, allowed},
		{"TIOCSTI", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI, 1 << 40}, denied, denied},
		{"TIOCSTI, upper half", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI | big, 1 << 40}, denied, denied},
		{"F_GETFL", unix.SYS_FCNTL, []uint64{1, unix.F_GETFL}, allowed, allowed},
		{"F_SETFL", unix.SYS_FCNTL, []uint64{1, unix.F_SETFL, unix.O_NONBLOCK | unix.O_APPEND}, allowed, allowed},
		{"F_SETFL of O_ASYNC", unix.SYS_FCNTL, []uint64{1, unix.F_SETFL, unix.O_NONBLOCK | unix.O_ASYNC}, denied, denied},
		{"F_SETOWN", unix.SYS_FCNTL, []uint64{1, unix.F_SETOWN, 1}, denied, denied},
		{"F_SETSIG", unix.SYS_FCNTL, []uint64{1, unix.F_SETSIG, 9}, denied, denied},
		{"mmap", unix.SYS_MMAP, []uint64{0, 1, unix.PROT_READ | unix.PROT_WRITE}, allowed, allowed},
		{"mmap of code", unix.SYS_MMAP, []uint64{0, 1, unix.PROT_READ | unix.PROT_EXEC}, denied, denied},
		{"mprotect to code", unix.SYS_MPROTECT, []uint64{0, 1, unix.PROT_EXEC}, denied, denied},
		{"openat to read", unix.SYS_OPENAT, []uint64{1<<64 - 100, 1 << 40, unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_PATH}, allowed, allowed},
		{"openat to write", unix.SYS_OPENAT, []uint64{0, 0, unix.O_WRONLY}, denied, allowed},
		{"openat to do both", unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDWR}, denied, allowed},
		{"openat to make", unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT}, denied, allowed},
		{"openat to truncate", unix.SYS_OPENAT, []uint64{0, 0, unix.O_TRUNC}, denied, allowed},
		{"unlinkat", unix.SYS_UNLINKAT, nil, denied, allowed},
		{"pwrite64", unix.SYS_PWRITE64, nil, denied, allowed},
		{"ftruncate", unix.SYS_FTRUNCATE, nil, denied, allowed},
		{"the filter of the second step", unix.SYS_SECCOMP, []uint64{unix.SECCOMP_SET_MODE_FILTER}, denied, allowed},
		{"seccomp, strict", unix.SYS_SECCOMP, []uint64{0}, denied, denied},
		{"no_new_privs", unix.SYS_PRCTL, []uint64{unix.PR_SET_NO_NEW_PRIVS}, denied, allowed},
		{"dumpable", unix.SYS_PRCTL, []uint64{unix.PR_SET_DUMPABLE}, denied, denied},
		{"execve", unix.SYS_EXECVE, nil, denied, denied},
		{"execveat", unix.SYS_EXECVEAT, nil, denied, denied},
		{"socket", unix.SYS_SOCKET, nil, denied, denied},
		{"ptrace", unix.SYS_PTRACE, nil, denied, denied},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, nil, denied, denied},
		{"pidfd_send_signal", unix.SYS_PIDFD_SEND_SIGNAL, nil, denied, denied},
		{"openat2, whose flags are in memory", unix.SYS_OPENAT2, nil, denied, denied},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, nil, denied, denied},
		{"bpf", unix.SYS_BPF, nil, denied, denied},
		{"unshare", unix.SYS_UNSHARE, nil, denied, denied},
		{"mount", unix.SYS_MOUNT, nil, denied, denied},
		{"fchmod", unix.SYS_FCHMOD, nil, denied, denied},
		{"setuid", unix.SYS_SETUID, nil, denied, denied},
		{"capset", unix.SYS_CAPSET, nil, denied, denied},
		{"landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, nil, denied, denied},
		{"x32", unix.SYS_READ | 0x40000000, nil, denied, denied},
	} {
		if got := newFilterVM(t, readingCalls()).run(auditArch, c.nr, c.args...); got != c.reading {
			t.Errorf("%s, after the second step: got %#x, want %#x", c.what, got, c.reading)
		}
		if got := newFilterVM(t, slices.Concat(spoolingCalls(), readingCalls())).run(auditArch, c.nr, c.args...); got != c.opened {
			t.Errorf("%s, after the first step: got %#x, want %#x", c.what, got, c.opened)
		}
	}
}

// allows says what a filter of these calls must allow, without jumps.
func allows(calls []call, nr uint32, args []uint64) bool {
	return slices.ContainsFunc(calls, func(c call) bool {
		return c.nr == nr && !slices.ContainsFunc(c.only, func(a argument) bool {
			arg := args[a.index]
			return arg>>32 != 0 || !slices.Contains(a.values, uint32(arg)&a.mask)
		})
	})
}

// A filter allows what its calls say, for every number and for arguments that
// are almost right.
func TestSeccompFilter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, calls := range [][]call{readingCalls(), slices.Concat(spoolingCalls(), readingCalls()), nil} {
		vm := newFilterVM(t, calls)
		near := []uint64{0, 1, 1 << 32, 1<<64 - 1}
		for _, c := range calls {
			for _, a := range c.only {
				for _, v := range a.values {
					near = append(near, uint64(v), uint64(v)|1<<32, uint64(v)+1, uint64(v)^1<<random.IntN(32))
				}
			}
		}
		for i := range uint32(20000) {
			nr := i % 1024
			if i%7 == 0 {
				nr = random.Uint32()
			}
			args := make([]uint64, 6)
			for k := range args {
				args[k] = near[random.IntN(len(near))]
			}
			want := denied
			if nr == unix.SYS_CLONE3 {
				want = tooOld
			} else if allows(calls, nr, args) {
				want = allowed
			}
			if got := vm.run(auditArch, nr, args...); got != want {
				t.Fatalf("system call %d%#x: got %#x, want %#x", nr, args, got, want)
			}
			if got := vm.run(auditArch^uint32(1)<<random.IntN(32), nr, args...); got != denied {
				t.Fatalf("system call %d of another architecture: got %#x, want %#x", nr, got, denied)
			}
		}
	}
}
