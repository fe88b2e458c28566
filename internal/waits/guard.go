package waits

import (
	"slices"
	"strings"

	"github.com/sfcore/sfcore/report"
)

// Guard is a type of variables that hold a lock for as long as they exist.
type Guard uint8

// The guards.
const (
	NoGuard Guard = iota
	// CXXGuard is one of C++. Debug information has it in scope in its whole block, also
	// before it exists.
	CXXGuard
	// RustGuard is one of Rust, which is in scope from its initialization on.
	RustGuard
)

// GuardType tells whether a type, as its language writes it, is a guard of the
// standard library of C++ or Rust.
func GuardType(name string) Guard {
	name, _, generic := strings.Cut(name, "<")
	i := strings.LastIndex(name, "::")
	if i < 0 || !generic || !strings.HasPrefix(name, "std::") {
		return NoGuard
	}
	switch name[i+len("::"):] {
	case "lock_guard", "unique_lock", "scoped_lock", "shared_lock":
		return CXXGuard
	case "MutexGuard", "MappedMutexGuard", "RwLockReadGuard", "RwLockWriteGuard", "MappedRwLockReadGuard", "MappedRwLockWriteGuard":
		return RustGuard
	}
	return NoGuard
}

// lockMembers are the members of guards that lead to the lock, in libstdc++, libc++
// and Rust's standard library. Others, as those that lead to what the lock protects,
// do not: a lock may protect another one.
var lockMembers = []string{
	"_M_device", "_M_pm", "_M_devices", "_M_head_impl",
	"__m_", "__t_", "__base_", "__value_",
	"lock", "inner_lock", "inner", "pointer", "data_ptr",
}

// LeadsToLock reports whether a member of a guard refers to the lock, or has the part
// that does.
func LeadsToLock(member string) bool { return slices.Contains(lockMembers, member) }

// SaysOwned reports whether a member of a guard is true while it holds the lock.
func SaysOwned(member string) bool { return member == "_M_owns" || member == "__owns_" }

// lockWord is the offset of the word that the mutex of musl waits on.
const lockWord = 4

// Guardable reports whether w waits for a lock whose owner is not known, and that is
// still locked.
func (w *Waiter) Guardable() bool {
	switch w.Kind {
	case report.WaitMutex, report.WaitRWLock, report.WaitFutex:
		return w.Owner.Thread == 0 && w.Unchanged
	default:
		return false
	}
}

// Locks returns the addresses of which a guard of what w waits for has one.
func (w *Waiter) Locks() []uint64 {
	if w.Kind == report.WaitMutex {
		return []uint64{w.Address, w.Address - lockWord}
	}
	return []uint64{w.Address}
}

// Destroys reports whether a function destroys variables of its caller, so that the
// guards there may have gone.
func Destroys(function string) bool {
	return strings.Contains(function, "~") || strings.Contains(function, "drop_in_place")
}

// GivesUp reports whether a function waits for a condition. Meanwhile a lock of its
// callers is not held.
func GivesUp(function string) bool {
	function = strings.ToLower(function)
	for _, part := range []string{"condition", "condvar", "cond_wait", "cond_timedwait", "cond_clockwait"} {
		if strings.Contains(function, part) {
			return true
		}
	}
	return false
}
