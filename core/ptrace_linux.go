package core

import (
	"errors"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ptraceCall makes a request that never waits. All requests for a process come
// from the one system thread that is its tracer.
func ptraceCall(request, tid int, addr, data uintptr) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); e != 0 {
		return e
	}
	return nil
}

// seizeThread makes this system thread the tracer of a thread, which continues
// running. Threads that it creates from now on are seized too, and stop. It
// may wait for an exec of the process to end.
//
// PTRACE_O_EXITKILL is not set: when the tracer ends, by whatever cause, the
// kernel lets its tracees continue.
func seizeThread(tid int) error {
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, unix.PTRACE_O_TRACECLONE, 0, 0); e != 0 {
		return e
	}
	return nil
}

// detachThread lets a stopped thread continue, with a signal if it is not 0.
func detachThread(tid, signal int) error {
	return ptraceCall(unix.PTRACE_DETACH, tid, 0, uintptr(signal))
}

// regset copies a register set of a stopped thread, an NT_ number, to buf, and
// returns what of buf was filled.
func regset(tid, set int, buf []byte) ([]byte, error) {
	v := unix.Iovec{Base: &buf[0]}
	v.SetLen(len(buf))
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), uintptr(set), uintptr(unsafe.Pointer(&v)), 0, 0)
	if e != 0 {
		return nil, e
	}
	return buf[:min(int(v.Len), len(buf))], nil
}

// change is the state change of a tracee that waitid reports.
type change struct {
	ended bool
	// signal is the signal that caused a stop: SIGTRAP for most events. event is
	// a PTRACE_EVENT number, 0 for a signal that is about to be delivered.
	signal, event int
}

// groupStop reports whether the stop is one by SIGSTOP or the like, which
// lasts until SIGCONT [ptrace(2), Group-stop].
func (c change) groupStop() bool {
	return c.event == unix.PTRACE_EVENT_STOP && c.signal != int(unix.SIGTRAP)
}

// undelivered returns the signal that the thread has yet to get.
func (c change) undelivered() int {
	if c.event != 0 {
		return 0
	}
	return c.signal
}

var errNoChange = errors.New("no change")

// peek returns the state change of a tracee, without waiting: errNoChange if it
// runs, ECHILD if it is not our tracee. It leaves the change in place: after a wait
// without WNOWAIT the kernel would forget the signal of a stop if the tracer died
// before it could pass the signal on [linux kernel/exit.c: wait_task_stopped].
//
// It knows the tracees of this system thread only.
func peek(tid int) (change, error) { return waitThread(tid, peekOptions|unix.WNOTHREAD) }

const peekOptions = unix.WSTOPPED | unix.WEXITED | unix.WNOHANG | unix.WNOWAIT | unix.WALL

// reap takes a tracee out of the process table if it has ended. If another thread of
// its process calls execve, the process waits for that. Any thread of the tracer's
// process may reap. A wait for the end of a tracee takes its stops as well, so reap
// waits only when the end is certain.
func reap(tid int) {
	if what, err := waitThread(tid, peekOptions); err == nil && what.ended {
		_, _ = waitThread(tid, unix.WEXITED|unix.WNOHANG|unix.WALL)
	}
}

// Offsets in the siginfo_t that waitid fills, and its si_code [linux
// include/uapi/asm-generic/siginfo.h].
const (
	siStatus   = 24
	cldTrapped = 4
)

// waitThread never waits, as options have WNOHANG: no signal interrupts it.
func waitThread(tid, options int) (change, error) {
	var info [128]byte
	_, _, e := unix.RawSyscall6(unix.SYS_WAITID, unix.P_PID, uintptr(tid), uintptr(unsafe.Pointer(&info)), uintptr(options), 0, 0)
	if e != 0 {
		return change{}, e
	}
	word := func(off int) int { return int(*(*int32)(unsafe.Pointer(&info[off]))) }
	switch {
	case word(siSigno) == 0:
		return change{}, errNoChange
	case word(siCode) != cldTrapped:
		return change{ended: true}, nil
	}
	status := word(siStatus) // signal, and event << 8
	return change{signal: status & 0xff, event: status >> 8}, nil
}

// onTracerThread runs f on a system thread of its own, which has ended when
// onTracerThread returns: the kernel then lets go of whatever f still traces.
func onTracerThread(f func()) {
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this
		if unix.Gettid() != unix.Getpid() {
			f()
			thread <- unix.Gettid()
			return
		}
		// This is the program's first thread, which cannot end before it. While
		// it is taken, other goroutines are on others.
		onTracerThread(f)
		runtime.UnlockOSThread()
		close(thread)
	}()
	tid, ok := <-thread
	for range maxEnding {
		if !ok || unix.Tgkill(unix.Getpid(), tid, 0) != nil {
			return
		}
		time.Sleep(nap)
	}
}

// maxEnding bounds the wait for the end of the tracer's thread, in naps. It takes a
// few; only a defect can make it more.
const maxEnding = 2000
