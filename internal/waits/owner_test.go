package waits

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
)

// lock is the address of a lock; what is before it is 0.
const lock = 0x5010

func TestOwner(t *testing.T) {
	const (
		me, other, nobody = 100, 101, 999
		private, shared   = 128, 0
	)
	pi := uint32(futexWaiters | other)
	for _, tt := range []struct {
		name  string
		kind  report.WaitKind
		none  bool // no name tells the function
		at    int  // of the word that is waited on, from lock
		op    uint32
		value uint32
		words []uint32 // from lock on; 16 bytes before it are 0
		owner int
		guess bool
	}{
		{"mutex", report.WaitMutex, false, 0, private, 2, []uint32{2, 0, other, 1, 0}, other, false},
		{"mutex that another waiter has not marked yet", report.WaitMutex, false, 0, private, 2, []uint32{1, 0, other, 1, 0}, other, false},
		{"mutex that was just unlocked", report.WaitMutex, false, 0, private, 2, []uint32{0, 0, other, 1, 0}, 0, false},
		{"mutex that is being unlocked", report.WaitMutex, false, 0, private, 2, []uint32{2, 0, 0, 0, 0}, 0, false},
		{"mutex without users", report.WaitMutex, false, 0, private, 2, []uint32{2, 0, other, 0, 0}, 0, false},
		{"mutex of no thread", report.WaitMutex, false, 0, private, 2, []uint32{2, 0, nobody, 1, 0}, 0, false},
		{"mutex of two threads with one id", report.WaitMutex, false, 0, private, 2, []uint32{2, 0, 102, 1, 0}, 0, false},
		{"not a kind of mutex", report.WaitMutex, false, 0, private, 2, []uint32{2, 0, other, 1, 0x400}, 0, false},
		{"not a value of the word", report.WaitMutex, false, 0, private, 2, []uint32{3, 0, other, 1, 0}, 0, false},
		{"mutex that cannot be read", report.WaitMutex, false, 0, private, 2, []uint32{2, 0, other, 1}, 0, false},
		{"mutex of the waiter", report.WaitMutex, false, 0, private, 2, []uint32{2, 0, me, 1, 0}, me, false},
		{"adaptive mutex of the waiter", report.WaitMutex, false, 0, private, 2, []uint32{2, 0, me, 1, 3}, me, false},
		{"recursive mutex of the waiter", report.WaitMutex, false, 0, private, 2, []uint32{2, 2, me, 1, 1}, 0, false},
		{"checking mutex of the waiter", report.WaitMutex, false, 0, private, 2, []uint32{2, 1, me, 1, 2}, 0, false},
		{"recursive mutex", report.WaitMutex, false, 0, private, 2, []uint32{2, 3, other, 1, 1}, other, false},
		{"mutex of several processes", report.WaitMutex, false, 0, shared, 2, []uint32{2, 0, other, 1, 128}, other, true},
		{"robust mutex", report.WaitMutex, false, 0, shared, pi, []uint32{pi, 0, other, 1, 128 + 16}, other, false},
		{"robust mutex whose owner died", report.WaitMutex, false, 0, shared, pi, []uint32{pi | futexOwnerDied, 0, other, 1, 128 + 16}, 0, false},
		{"robust mutex whose word says another", report.WaitMutex, false, 0, shared, pi, []uint32{futexWaiters | me, 0, other, 1, 128 + 16}, 0, false},
		{"priority inheritance", report.WaitMutex, false, 0, private | futexLockPI, 0, []uint32{pi, 0, other, 1, 32}, other, false},
		{"priority inheritance of any lock", report.WaitFutex, true, 0, private | futexLockPI2, 0, []uint32{pi}, other, false},
		{"priority inheritance of no thread", report.WaitFutex, true, 0, private | futexLockPI, 0, []uint32{futexWaiters | nobody}, 0, false},
		{"recursive mutex of musl", report.WaitMutex, false, 4, private, pi, []uint32{1, pi, 0, 0, 0, 0}, other, false},
		{"robust mutex of musl", report.WaitMutex, false, 4, private, pi, []uint32{128 + 4 + 2, pi, 0, 0, 0, 0}, other, false},
		{"normal mutex of musl", report.WaitMutex, false, 4, private, futexWaiters | 16, []uint32{0, futexWaiters | 16, 0, 0, 0, 0}, 0, false},
		{"recursive mutex of musl, of the waiter", report.WaitMutex, false, 4, private, pi, []uint32{1, futexWaiters | me, 0, 0, 0, 0}, 0, false},
		{"without names", report.WaitFutex, true, 0, private, 2, []uint32{2, 0, other, 1, 0}, other, true},
		{"without names, shared", report.WaitFutex, true, 0, shared, 2, []uint32{2, 0, other, 1, 0}, 0, false},
		{"without names, another value", report.WaitFutex, true, 0, private, 1, []uint32{1, 0, other, 1, 0}, 0, false},
		{"another function", report.WaitFutex, false, 0, private, 2, []uint32{2, 0, other, 1, 0}, 0, false},
		{"semaphore that looks like a mutex", report.WaitSemaphore, false, 0, private, 2, []uint32{2, 0, other, 1, 0}, 0, false},
		{"condition that looks like a mutex", report.WaitCondition, false, 0, private, 2, []uint32{2, 0, other, 1, 0}, 0, false},
		{"rwlock, reader", report.WaitRWLock, false, 8, private, 3, []uint32{0xb, 0, 3, 1, 0, 0, other, 0}, other, false},
		{"rwlock, writer", report.WaitRWLock, false, 12, private, 3, []uint32{3, 0, 0, 3, 0, 0, other, 0}, other, false},
		{"rwlock, reader that lets writers go first", report.WaitRWLock, false, 0, private, 0xf, []uint32{0xf, 0, 0, 3, 0, 0, other, 0}, other, false},
		{"rwlock, held by readers", report.WaitRWLock, false, 8, private, 2, []uint32{8 | 2, 0, 2, 1, 0, 0, other, 0}, 0, false},
		{"rwlock, unlocked", report.WaitRWLock, false, 8, private, 3, []uint32{1, 0, 3, 0, 0, 0, other, 0}, 0, false},
		{"rwlock of no thread", report.WaitRWLock, false, 8, private, 3, []uint32{3, 0, 3, 1, 0, 0, nobody, 0}, 0, false},
		{"join", report.WaitJoin, false, 0, shared | futexRealtime | futexWaitBitset, other, []uint32{other}, other, false},
		{"join of a thread that has ended", report.WaitJoin, false, 0, shared, other, []uint32{0}, 0, false},
		{"join of what is no thread", report.WaitJoin, false, 0, shared, nobody, []uint32{nobody}, 0, false},
		{"join with another value", report.WaitJoin, false, 0, shared, me, []uint32{other}, 0, false},
	} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			data := testkit.New(order).Zero(16).D32(tt.words...).Done()
			m := Memory{
				Words: &memreader.Words{R: &testkit.Memory{Segs: map[uint64][]byte{lock - 16: data}}, BigEndian: order == binary.BigEndian},
				Thread: func(id uint32) (int, bool) {
					return int(id), id == me || id == other
				},
			}
			c, ok := Futex([4]uint64{lock + uint64(tt.at), uint64(tt.op), uint64(tt.value), 0})
			if !ok {
				t.Fatalf("%s: not a call that waits", tt.name)
			}
			name := "f"
			if tt.none {
				name = ""
			}
			w := m.Wait(me, c, Function{Kind: tt.kind, Name: name})
			if w.Owner.Thread != tt.owner || w.Owner.Inferred != tt.guess || (w.Owner.Evidence != "") != (tt.owner != 0) {
				t.Errorf("%s, %v: got %+v, want owner %d, inferred %v", tt.name, order, w.Owner, tt.owner, tt.guess)
			}
			if tt.kind == report.WaitRWLock && w.Address != lock {
				t.Errorf("%s: got the lock at %#x, want %#x", tt.name, w.Address, lock)
			}
		}
	}
}

// Rust's locks record no owner, whatever they look like.
func TestRustRecordsNone(t *testing.T) {
	data := testkit.New(binary.LittleEndian).D32(2, 0, 101, 1, 0).Done()
	m := Memory{
		Words:  &memreader.Words{R: &testkit.Memory{Segs: map[uint64][]byte{lock: data}}},
		Thread: func(id uint32) (int, bool) { return int(id), true },
	}
	w := m.Wait(100, Call{Address: lock, Private: true, Value: 2}, Function{Kind: report.WaitMutex, Name: "f", Rust: true})
	if w.Owner != (Owner{}) || w.Kind != report.WaitMutex {
		t.Errorf("got %+v", w)
	}
}

func TestFutex(t *testing.T) {
	for _, tt := range []struct {
		name string
		args [4]uint64
		ok   bool
		want Call
	}{
		{"wait", [4]uint64{lock, 0, 7, 0}, true, Call{Address: lock, Value: 7}},
		{"wait, private, timed", [4]uint64{lock, 128, 7, 0x6000}, true, Call{Address: lock, Private: true, Value: 7, Timed: true}},
		{"wait for bits", [4]uint64{lock, 128 + 256 + 9, 1<<32 + 7, 0}, true, Call{Address: lock, Private: true, Value: 7}},
		{"lock", [4]uint64{lock, 128 + 6, 0, 0}, true, Call{Address: lock, Private: true, PI: true}},
		{"wake", [4]uint64{lock, 1, 1, 0}, false, Call{}},
		{"requeue", [4]uint64{lock, 4, 1, 1}, false, Call{}},
		{"unknown operation", [4]uint64{lock, 1 << 10, 1, 1}, false, Call{}},
		{"result instead of an address", [4]uint64{0, 0, 7, 0}, false, Call{}},
		{"error instead of an address", [4]uint64{^uint64(10), 0, 7, 0}, false, Call{}},
	} {
		if c, ok := Futex(tt.args); ok != tt.ok || ok && c != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v, %v", tt.name, c, ok, tt.want, tt.ok)
		}
	}
}

// Readers and writers of Rust's RwLock wait on its first and its second word.
func TestRustRWLockIsOne(t *testing.T) {
	m := Memory{Words: &memreader.Words{R: &testkit.Memory{Segs: map[uint64][]byte{lock: testkit.New(binary.LittleEndian).D32(7, 9).Done()}}}}
	for _, tt := range []struct {
		function  string
		at        uint64
		value     uint32
		unchanged bool
	}{
		{"std::sys::sync::rwlock::futex::RwLock::read_contended", 0, 7, true},
		{"std::sys::sync::rwlock::futex::RwLock::write_contended", 4, 9, true},
		{"std::sys::sync::rwlock::futex::RwLock::write_contended", 4, 8, false},
	} {
		w := m.Wait(100, Call{Address: lock + tt.at, Private: true, Value: tt.value}, Function{Kind: report.WaitRWLock, Name: tt.function, Rust: true})
		if w.Address != lock || w.Unchanged != tt.unchanged {
			t.Errorf("%s: got %#x, unchanged %v, want %#x, %v", tt.function, w.Address, w.Unchanged, uint64(lock), tt.unchanged)
		}
	}
}
