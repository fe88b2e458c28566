package waits

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/report"
)

func TestGuardTypes(t *testing.T) {
	for name, want := range map[string]Guard{
		"std::lock_guard<std::mutex>":                                     CXXGuard,
		"std::__1::unique_lock<std::__1::mutex>":                          CXXGuard,
		"std::scoped_lock<Lock, std::mutex>":                              CXXGuard,
		"std::shared_lock<std::shared_mutex>":                             CXXGuard,
		"std::sync::mutex::MutexGuard<i32>":                               RustGuard,
		"std::sync::poison::mutex::MutexGuard<alloc::vec::Vec<i32, A>>":   RustGuard,
		"std::sync::poison::rwlock::RwLockReadGuard<i32>":                 RustGuard,
		"std::sync::nonpoison::rwlock::MappedRwLockWriteGuard<i32>":       RustGuard,
		"std::optional<std::lock_guard<std::mutex>>":                      NoGuard,
		"core::result::Result<std::sync::poison::mutex::MutexGuard<i32>>": NoGuard,
		"mine::lock_guard<std::mutex>":                                    NoGuard,
		"std::lock_guard":                                                 NoGuard,
		"lock_guard<int>":                                                 NoGuard,
		"std::vector<int>":                                                NoGuard,
		"":                                                                NoGuard,
	} {
		if got := GuardType(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// What a lock protects may be a lock too.
func TestMembersOfGuards(t *testing.T) {
	for _, name := range []string{"_M_device", "_M_head_impl", "__m_", "lock", "inner_lock"} {
		if !LeadsToLock(name) {
			t.Errorf("%s does not lead to the lock", name)
		}
	}
	for _, name := range []string{"data", "poison", "_M_owns", "__owns_", ""} {
		if LeadsToLock(name) {
			t.Errorf("%q leads to the lock", name)
		}
	}
	if !SaysOwned("_M_owns") || !SaysOwned("__owns_") || SaysOwned("_M_device") {
		t.Error("the members that say whether a guard holds the lock are others")
	}
}

func TestGuardable(t *testing.T) {
	for _, tt := range []struct {
		name string
		w    Waiter
		want bool
	}{
		{"mutex", Waiter{Kind: report.WaitMutex, Unchanged: true}, true},
		{"rwlock", Waiter{Kind: report.WaitRWLock, Unchanged: true}, true},
		{"lock of the program", Waiter{Kind: report.WaitFutex, Unchanged: true}, true},
		{"waiter that was woken", Waiter{Kind: report.WaitMutex}, false},
		{"recorded owner", Waiter{Kind: report.WaitMutex, Unchanged: true, Owner: Owner{Thread: 1}}, false},
		{"condition", Waiter{Kind: report.WaitCondition, Unchanged: true}, false},
		{"join", Waiter{Kind: report.WaitJoin, Unchanged: true}, false},
		{"semaphore", Waiter{Kind: report.WaitSemaphore, Unchanged: true}, false},
		{"park", Waiter{Kind: report.WaitPark, Unchanged: true}, false},
	} {
		if got := tt.w.Guardable(); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The word of a mutex of musl is behind the beginning of the mutex.
func TestLocksOfGuards(t *testing.T) {
	for kind, want := range map[report.WaitKind][]uint64{
		report.WaitMutex: {0x1004, 0x1000}, report.WaitRWLock: {0x1004}, report.WaitFutex: {0x1004},
	} {
		w := Waiter{Kind: kind, Address: 0x1004}
		if got := w.Locks(); !slices.Equal(got, want) {
			t.Errorf("%s: got %#x, want %#x", kind, got, want)
		}
	}
}

func TestFunctionsThatEndGuards(t *testing.T) {
	for _, tt := range []struct {
		function          string
		destroys, givesUp bool
	}{
		{"std::jthread::~jthread()", true, false},
		{"core::ptr::drop_in_place<app::Job>", true, false},
		{"std::condition_variable::wait(std::unique_lock<std::mutex>&)", false, true},
		{"parking_lot::condvar::Condvar::wait_until_internal", false, true},
		{"pthread_cond_timedwait@@GLIBC_2.3.2", false, true},
		{"___pthread_cond_clockwait64", false, true},
		{"app::second_thing(int)", false, false},
		{"core::mem::drop<i32>", false, false},
		{"", false, false},
	} {
		if got := Destroys(tt.function); got != tt.destroys {
			t.Errorf("%s: got destroys %v, want %v", tt.function, got, tt.destroys)
		}
		if got := GivesUp(tt.function); got != tt.givesUp {
			t.Errorf("%s: got gives up %v, want %v", tt.function, got, tt.givesUp)
		}
	}
}
