package waits

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/report"
)

// The layout of glibc's locks on 64-bit architectures, in bytes. They are part of its
// ABI, because programs contain initialized locks [glibc
// sysdeps/nptl/bits/struct_mutex.h, struct_rwlock.h].
const (
	mutexOwner = 8
	mutexUsers = 12
	mutexKind  = 16

	rwlockReadersWord = 0
	rwlockPhaseWord   = 8
	rwlockWritersWord = 12
	rwlockWriter      = 24

	// rustWriters is where the word is in Rust's RwLock on which writers wait. Readers
	// wait on the first word [rust library/std/src/sys/sync/rwlock/futex.rs].
	rustWriters = 4
)

// Bits of __kind [glibc nptl/pthreadP.h]. Others say how the lock is elided.
const (
	kindType       = 3
	kindRecursive  = 1
	kindErrorCheck = 2
	kindRobust     = 16
	kindPI         = 32
	kindShared     = 128
	kindKnown      = kindType | kindRobust | kindPI | kindShared | 256 | 512
)

// Wait tells what a thread waits for by its call, the function that called it, and
// the memory of the lock. thread is the id of the thread in reports.
func (m *Memory) Wait(thread int, c Call, f Function) Waiter {
	unchanged := true
	unchanged = m.word(c.Address, &unchanged) == c.Value && unchanged
	w := Waiter{Thread: thread, Kind: f.Kind, Address: c.Address, Function: f.Name, Timed: c.Timed, Unchanged: unchanged}
	switch {
	case c.PI:
		w.Owner = m.inWord(c.Address)
	case f.Rust && f.Kind == report.WaitRWLock && strings.Contains(f.Name, "write_contended"):
		w.Address -= rustWriters
	case f.Rust:
	case f.Kind == report.WaitMutex:
		w.Owner = m.mutex(&c, thread)
	case f.Kind == report.WaitRWLock:
		w.Address = rwlock(&c)
		w.Owner = m.writer(w.Address)
	case f.Kind == report.WaitJoin:
		w.Owner = m.joined(&c)
	case f.Kind == report.WaitFutex && f.Name == "" && c.Private && c.Value == 2:
		if w.Owner = m.mutex(&c, thread); w.Owner.Thread != 0 {
			w.Owner.Inferred = true
			w.Owner.Evidence += ", if it is a mutex of glibc"
		}
	}
	return w
}

// inWord returns the owner of a lock whose word has its id.
func (m *Memory) inWord(addr uint64) (o Owner) {
	ok := true
	word := m.word(addr, &ok)
	if !ok || word&futexOwnerDied != 0 {
		return o
	}
	if id, found := m.Thread(word & futexTID); found {
		return Owner{Thread: id, Evidence: fmt.Sprintf("lock word %#x, which has the id of its owner", word)}
	}
	return o
}

// mutex returns the owner of a pthread_mutex_t. A lock word that is not 0 says that it
// is locked. glibc clears the owner before it unlocks.
func (m *Memory) mutex(c *Call, waiter int) (o Owner) {
	ok := true
	word, owner := m.word(c.Address, &ok), m.word(c.Address+mutexOwner, &ok)
	users, kind := m.word(c.Address+mutexUsers, &ok), m.word(c.Address+mutexKind, &ok)
	if !ok || kind&^kindKnown != 0 || users == 0 {
		return m.musl(c, waiter)
	}
	id, found := m.Thread(owner)
	switch {
	case !found:
		return m.musl(c, waiter)
	case id == waiter && (kind&kindType == kindRecursive || kind&kindType == kindErrorCheck):
		return o // it would not wait
	case kind&(kindRobust|kindPI) != 0:
		if o = m.inWord(c.Address); o.Thread != id {
			return Owner{}
		}
	case word == 1 || word == 2:
		o = Owner{Thread: id, Evidence: fmt.Sprintf("lock word %d, __owner %d", word, owner)}
	default:
		return o
	}
	if kind&(kindShared|kindRobust) == kindShared { // perhaps the owner is in another process and pid namespace
		o.Inferred = true
	}
	return o
}

// musl returns the owner of a pthread_mutex_t of musl, whose word is behind its type.
// The words of normal mutexes, of type 0, do not tell [musl
// src/thread/pthread_mutex_trylock.c].
func (m *Memory) musl(c *Call, waiter int) (o Owner) {
	const recursive, errorCheck, robust, private = 1, 2, 4, 128
	ok := true
	kind, word := m.word(c.Address-4, &ok), m.word(c.Address, &ok)
	if kind &^= private; ok && word&futexWaiters != 0 && (kind&^robust == recursive || kind&^robust == errorCheck) {
		if o = m.inWord(c.Address); o.Thread == waiter { // it would not wait
			return Owner{}
		}
	}
	return o
}

// rwlock returns the address of the pthread_rwlock_t of which a call waits on a word.
// The expected values tell the words apart: those of two have two bits, those of the
// third count readers above these [glibc nptl/pthread_rwlock_common.c].
func rwlock(c *Call) uint64 {
	switch {
	case c.Address%8 != 0:
		return c.Address - rwlockWritersWord
	case c.Value <= 3:
		return c.Address - rwlockPhaseWord
	}
	return c.Address - rwlockReadersWord
}

// writer returns the thread that holds a pthread_rwlock_t for writing. Its readers are
// not recorded.
func (m *Memory) writer(lock uint64) (o Owner) {
	const locked = 1 | 2 // the phase of writers, and a writer
	ok := true
	readers, owner := m.word(lock, &ok), m.word(lock+rwlockWriter, &ok)
	id, found := m.Thread(owner)
	if !ok || !found || readers&locked != locked {
		return o
	}
	return Owner{Thread: id, Evidence: fmt.Sprintf("__readers %#x, __cur_writer %d", readers, owner)}
}

// joined returns the thread whose end is waited for. The word has its id until then.
func (m *Memory) joined(c *Call) (o Owner) {
	ok := true
	word := m.word(c.Address, &ok)
	if id, found := m.Thread(word); ok && found && word == c.Value {
		return Owner{Thread: id, Evidence: fmt.Sprintf("the word has %d until that thread ends", word)}
	}
	return o
}
