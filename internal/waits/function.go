package waits

import (
	"strings"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// maxInnermost bounds the frames in which the function is searched that waits. There
// are four between it and the kernel at the most, and each may be inlined.
const maxInnermost = 12

// waiting has the functions that wait, by [plain] names: those of glibc and musl, and
// of C11.
var waiting = map[string]report.WaitKind{
	"pthread_mutex_lock":             report.WaitMutex,
	"pthread_mutex_lock_full":        report.WaitMutex,
	"pthread_mutex_timedlock":        report.WaitMutex,
	"pthread_mutex_clocklock":        report.WaitMutex,
	"pthread_mutex_clocklock_common": report.WaitMutex,
	"pthread_mutex_cond_lock":        report.WaitMutex, // when pthread_cond_wait ends
	"pthread_mutex_cond_lock_full":   report.WaitMutex,
	"pthread_rwlock_rdlock":          report.WaitRWLock,
	"pthread_rwlock_timedrdlock":     report.WaitRWLock,
	"pthread_rwlock_clockrdlock":     report.WaitRWLock,
	"pthread_rwlock_wrlock":          report.WaitRWLock,
	"pthread_rwlock_timedwrlock":     report.WaitRWLock,
	"pthread_rwlock_clockwrlock":     report.WaitRWLock,
	"pthread_join":                   report.WaitJoin,
	"pthread_timedjoin_np":           report.WaitJoin,
	"pthread_clockjoin_np":           report.WaitJoin,
	"pthread_timedjoin_ex":           report.WaitJoin,
	"pthread_clockjoin_ex":           report.WaitJoin,
	"pthread_cond_wait":              report.WaitCondition,
	"pthread_cond_timedwait":         report.WaitCondition,
	"pthread_cond_clockwait":         report.WaitCondition,
	"pthread_cond_wait_common":       report.WaitCondition,
	"sem_wait":                       report.WaitSemaphore,
	"sem_timedwait":                  report.WaitSemaphore,
	"sem_clockwait":                  report.WaitSemaphore,
	"new_sem_wait":                   report.WaitSemaphore,
	"new_sem_wait_slow":              report.WaitSemaphore,
	"pthread_barrier_wait":           report.WaitBarrier,
	"pthread_once":                   report.WaitOnce,
	"pthread_once_slow":              report.WaitOnce,
	"call_once":                      report.WaitOnce,
}

// between has the functions between those and the kernel.
var between = map[string]bool{
	"futex_wait": true, "futex_wait_simple": true, "futex_wait_cancelable": true,
	"futex_abstimed_wait": true, "futex_abstimed_wait_common": true, "futex_abstimed_wait_cancelable": true,
	"futex_lock_pi": true, "futex_clocklock": true, "lll_mutex_lock_optimized": true,
	"lll_lock_wait": true, "lll_lock_wait_private": true, "lll_timedlock_wait": true, "lll_clocklock_wait": true, "lll_timedwait_tid": true,
	"pthread_rwlock_rdlock_full": true, "pthread_rwlock_wrlock_full": true,
	"do_futex_wait": true, "syscall": true,
	"wait": true, "timedwait": true, "timedwait_cp": true, "syscall_cp": true, "syscall_cp_c": true, "syscall_cp_asm": true, "cp_begin": true, "cp_end": true, // musl
	"runtime.futex": true, "runtime.futexsleep": true, // Go
}

// rust has parts of the names of functions of Rust's standard library.
var rust = []struct {
	part string
	kind report.WaitKind
}{
	{"mutex::futex::Mutex", report.WaitMutex},
	{"futex_mutex::Mutex", report.WaitMutex},
	{"rwlock::futex::RwLock", report.WaitRWLock},
	{"futex_rwlock::RwLock", report.WaitRWLock},
	{"condvar::futex::Condvar", report.WaitCondition},
	{"futex_condvar::Condvar", report.WaitCondition},
	{"once::futex::Once", report.WaitOnce},
	{"futex_once::Once", report.WaitOnce},
	{"thread_parking::futex::Parker", report.WaitPark},
	{"thread_parker::futex::Parker", report.WaitPark},
}

// Function is the function in which a thread waits.
type Function struct {
	Kind report.WaitKind
	Name string // as the report has it, "" if no name tells
	// Rust is set for locks of Rust's standard library, which record no owner.
	Rust bool
}

// Waits returns the function in which a thread that is in futex(2) waits, by the
// frames of its stack, the innermost first.
func Waits(frames []report.Frame) Function {
	for i := range frames[:min(len(frames), maxInnermost)] {
		f := &frames[i]
		if f.Trust == unwind.Guess {
			break
		}
		name := plain(f.Function)
		if name == "" && f.Module != "" && f.Module == frames[0].Module || between[name] || strings.HasSuffix(f.Function, "::futex_wait") {
			continue
		}
		if kind, ok := waiting[name]; ok {
			return Function{Kind: kind, Name: f.Function}
		}
		for _, r := range rust {
			if strings.Contains(f.Function, r.part) {
				return Function{Kind: r.kind, Name: f.Function, Rust: true}
			}
		}
		return Function{Kind: report.WaitFutex, Name: f.Function}
	}
	return Function{Kind: report.WaitFutex}
}

// plain is the name of a function of a C library without what its versions and its
// compilers add.
func plain(name string) string {
	name, _, _ = strings.Cut(name, "@")
	for _, suffix := range []string{".constprop", ".isra", ".part", ".abi0"} {
		name, _, _ = strings.Cut(name, suffix)
	}
	name = strings.TrimLeft(name, "_")
	name = strings.TrimPrefix(name, "GI_")
	name = strings.TrimLeft(name, "_")
	return strings.TrimSuffix(name, "64")
}
