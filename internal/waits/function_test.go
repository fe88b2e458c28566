package waits

import (
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

func TestWaits(t *testing.T) {
	// Functions, the innermost first; -name is a guess, /name is in another module.
	for _, tt := range []struct {
		name   string
		stack  []string
		kind   report.WaitKind
		called string
	}{
		{"glibc", []string{"futex_wait", "__lll_lock_wait", "lll_mutex_lock_optimized", "___pthread_mutex_lock", "/main"}, report.WaitMutex, "___pthread_mutex_lock"},
		{"glibc, only exported names", []string{"", "pthread_mutex_lock@@GLIBC_2.2.5", "/main"}, report.WaitMutex, "pthread_mutex_lock@@GLIBC_2.2.5"},
		{"nothing known of the library", []string{"", "", "/main"}, report.WaitFutex, "main"},
		{"nothing known", []string{"", "", ""}, report.WaitFutex, ""},
		{"a guess", []string{"__lll_lock_wait", "-pthread_mutex_lock"}, report.WaitFutex, ""},
		{"a lock of the library itself", []string{"__lll_lock_wait_private", "malloc", "pthread_mutex_lock"}, report.WaitFutex, "malloc"},
		{"timed", []string{"__futex_abstimed_wait_common", "__futex_abstimed_wait64", "__futex_clocklock64", "__pthread_mutex_clocklock_common"}, report.WaitMutex, "__pthread_mutex_clocklock_common"},
		{"rwlock", []string{"__futex_abstimed_wait_common64", "__futex_abstimed_wait64", "__pthread_rwlock_wrlock_full64", "__GI___pthread_rwlock_wrlock"}, report.WaitRWLock, "__GI___pthread_rwlock_wrlock"},
		{"join", []string{"__futex_abstimed_wait_cancelable64", "__pthread_clockjoin_ex", "/std::thread::join()"}, report.WaitJoin, "__pthread_clockjoin_ex"},
		{"condition", []string{"__futex_abstimed_wait_cancelable64", "__pthread_cond_wait_common", "pthread_cond_wait@@GLIBC_2.3.2"}, report.WaitCondition, "__pthread_cond_wait_common"},
		{"condition, locking again", []string{"__lll_lock_wait", "__pthread_mutex_cond_lock", "__pthread_cond_wait"}, report.WaitMutex, "__pthread_mutex_cond_lock"},
		{"semaphore", []string{"do_futex_wait.constprop.0", "__new_sem_wait_slow64.constprop.0"}, report.WaitSemaphore, "__new_sem_wait_slow64.constprop.0"},
		{"barrier", []string{"futex_wait", "futex_wait_simple", "pthread_barrier_wait"}, report.WaitBarrier, "pthread_barrier_wait"},
		{"musl", []string{"__cp_end", "__syscall_cp_c", "__timedwait_cp", "__timedwait", "__pthread_mutex_timedlock"}, report.WaitMutex, "__pthread_mutex_timedlock"},
		{"Rust", []string{"syscall", "std::sys::pal::unix::futex::futex_wait", "std::sys::sync::mutex::futex::Mutex::lock_contended"}, report.WaitMutex, "std::sys::sync::mutex::futex::Mutex::lock_contended"},
		{"Rust, new names", []string{"syscall", "std::sys::pal::unix::futex::futex_wait", "<std::sys::sync::condvar::futex::Condvar>::wait_optional_timeout"}, report.WaitCondition, "<std::sys::sync::condvar::futex::Condvar>::wait_optional_timeout"},
		{"Go", []string{"runtime.futex.abi0", "runtime.futexsleep", "runtime.lock2"}, report.WaitFutex, "runtime.lock2"},
		{"the program's own", []string{"spin_then_sleep", "pthread_mutex_lock"}, report.WaitFutex, "spin_then_sleep"},
		{"no frames", nil, report.WaitFutex, ""},
		{"endless helpers", []string{"syscall", "syscall", "syscall", "syscall", "syscall", "syscall", "syscall", "syscall", "syscall", "syscall", "syscall", "syscall", "pthread_join"}, report.WaitFutex, ""},
	} {
		var frames []report.Frame
		for _, name := range tt.stack {
			f := report.Frame{Function: name, Module: "libc", Trust: unwind.Full}
			switch {
			case name != "" && name[0] == '-':
				f.Function, f.Trust = name[1:], unwind.Guess
			case name != "" && name[0] == '/':
				f.Function, f.Module = name[1:], "program"
			}
			frames = append(frames, f)
		}
		if got := Waits(frames); got.Kind != tt.kind || got.Name != tt.called {
			t.Errorf("%s: got %s in %q, want %s in %q", tt.name, got.Kind, got.Name, tt.kind, tt.called)
		}
	}
}
