//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"github.com/sfcore/sfcore/internal/limit"
)

// Limits of a process in a sandbox, for what no other limit foresees.
const (
	// maxSandboxData is four times the memory that no input should make sfcore
	// use: Go maps more than it uses.
	maxSandboxData = 4 << 30 // bytes
	// maxSandboxCPU is more than the largest cores take.
	maxSandboxCPU = 3600 // seconds
)

// setLimits limits the memory and the processor time of this process, and keeps it
// from dumping core. Lower limits stay.
func setLimits() error {
	for _, l := range []struct {
		resource int
		most     uint64
	}{{unix.RLIMIT_DATA, maxSandboxData}, {unix.RLIMIT_CPU, maxSandboxCPU}, {unix.RLIMIT_CORE, 0}} {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("getrlimit: %w", err)
		}
		most := min(l.most, now.Max)
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: min(most, now.Cur), Max: most}); err != nil {
			return fmt.Errorf("setrlimit: %w", err)
		}
	}
	return nil
}

// dropPrivileges becomes user, if one is given, and gives up all capabilities in
// all threads, with those that programs could get by exec. Other processes of the
// user can no longer trace this one.
func dropPrivileges(user Identity) error {
	var now [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &now[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	if now[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := uintptr(0); c <= lastCap(); c++ {
			if err := allThreads(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c); err != nil {
				return fmt.Errorf("prctl(PR_CAPBSET_DROP): %w", err)
			}
		}
	}
	if user.Given {
		if err := user.become(); err != nil {
			return err
		}
		if err := stayWatched(); err != nil {
			return err
		}
	}
	if err := allThreads(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL); err != nil {
		return fmt.Errorf("prctl(PR_CAP_AMBIENT_CLEAR_ALL): %w", err)
	}
	var none [2]unix.CapUserData
	err := allThreads(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])))
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&none)
	if err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_DUMPABLE): %w", err)
	}
	return nil
}

// stayWatched has the kernel end a run that is watched when its watcher ends, which
// becoming another user undoes [PR_SET_PDEATHSIG(2const)].
func stayWatched() error {
	watcher := os.Getenv(limit.Watched)
	if watcher == "" {
		return nil
	}
	if err := allThreads(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL)); err != nil {
		return fmt.Errorf("prctl(PR_SET_PDEATHSIG): %w", err)
	}
	if strconv.Itoa(os.Getppid()) != watcher {
		return errors.New("the process that watches the run has ended")
	}
	return nil
}

// lastCap returns the last capability that the kernel knows.
func lastCap() uintptr {
	last := uintptr(0)
	for last < 63 && unix.Prctl(unix.PR_CAPBSET_READ, last+1, 0, 0, 0) == nil {
		last++
	}
	return last
}

func allThreads(nr, a, b uintptr) error {
	if _, _, errno := psx.Syscall6(nr, a, b, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
