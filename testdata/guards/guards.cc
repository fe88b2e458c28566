// A program without a C library. Its threads hold locks by guards, or only look so,
// and others wait for these locks. When all stand still, it crashes.
typedef unsigned long ulong;

// As in libstdc++.
namespace std {
template <class M> struct lock_guard {
	M &_M_device;
	explicit lock_guard(M &m) : _M_device(m) { m.lock(); }
	~lock_guard() { _M_device.unlock(); }
};
template <class M> struct unique_lock {
	M *_M_device;
	bool _M_owns;
	explicit unique_lock(M &m) : _M_device(&m), _M_owns(true) { m.lock(); }
	void unlock() { _M_device->unlock(); _M_owns = false; }
	~unique_lock() { if (_M_owns) unlock(); }
};
template <int N, class M> struct _Head_base { M &_M_head_impl; };
template <class M> struct pair_of : _Head_base<0, M>, _Head_base<1, M> {
	pair_of(M &a, M &b) : _Head_base<0, M>{a}, _Head_base<1, M>{b} {}
};
template <class M, class> struct scoped_lock {
	pair_of<M> _M_devices;
	scoped_lock(M &a, M &b) : _M_devices(a, b) { a.lock(); b.lock(); }
};
}

static long call(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "0"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return r;
}

static volatile int standing; // threads that stand still, or will at once

static void rest()
{
	__atomic_add_fetch(&standing, 1, __ATOMIC_SEQ_CST);
	for (;;)
		call(34, 0, 0, 0, 0); // pause
}

static const long FUTEX = 202;

struct Lock {
	int word;
	__attribute__((noinline)) void lock()
	{
		for (int was = 0; !__atomic_compare_exchange_n(&word, &was, 2, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); was = 0) {
			__atomic_add_fetch(&standing, 1, __ATOMIC_SEQ_CST);
			call(FUTEX, (long)&word, 128, 2, 0);
		}
	}
	__attribute__((noinline)) void unlock() { __atomic_store_n(&word, 0, __ATOMIC_SEQ_CST); }
};

struct Slow {
	__attribute__((noinline)) ~Slow() { rest(); }
};

// A lock of each case; those that are not held when their thread stands still are
// locked by another thread without a guard.
static Lock plain, owned, released, first, second, later, ended, inlined, again, shared, given, busy, behind;

static void hold_plain()
{
	std::lock_guard<Lock> guard(plain);
	rest();
}

static void hold_owned()
{
	std::unique_lock<Lock> guard(owned);
	rest();
}

static void let_go()
{
	std::unique_lock<Lock> guard(released);
	guard.unlock();
	released.lock();
	rest();
}

static void hold_two()
{
	std::scoped_lock<Lock, Lock> guard(first, second);
	call(39, (long)&guard, 0, 0, 0); // so that it is in memory
	rest();
}

// The stack has the guard of the call before.
__attribute__((noinline)) static void not_yet(bool stay)
{
	if (stay)
		rest();
	std::lock_guard<Lock> guard(later);
	call(39, 0, 0, 0, 0);
}

static void call_twice()
{
	not_yet(false);
	later.lock();
	not_yet(true);
}

static void destroy()
{
	{
		Slow slow;
		std::lock_guard<Lock> guard(ended);
		call(39, 0, 0, 0, 0);
	}
	rest();
}

struct Quick {
	__attribute__((always_inline)) ~Quick() { rest(); }
};

static void destroy_inlined()
{
	{
		Quick quick;
		std::lock_guard<Lock> guard(inlined);
		call(39, (long)&guard, 0, 0, 0);
	}
	rest();
}

static void take_inlined()
{
	inlined.lock();
	rest();
}

static void lock_again()
{
	std::lock_guard<Lock> guard(again);
	again.lock();
	rest();
}

static void take_ended()
{
	ended.lock();
	rest();
}

// Two threads seem to have it.
static void share()
{
	std::unique_lock<Lock> guard(shared);
	shared.unlock();
	rest();
}

static void take_shared()
{
	shared.lock();
	rest();
}

namespace mine {
struct condition_variable {
	__attribute__((noinline)) void wait() { rest(); }
};
}

static void give_up()
{
	mine::condition_variable changed;
	std::unique_lock<Lock> guard(given);
	given.unlock();
	changed.wait();
}

static void take_given()
{
	given.lock();
	rest();
}

// It waits for one of two locks, and does not have the other one yet.
static void make_guard()
{
	std::scoped_lock<Lock, Lock> guard(busy, behind);
	rest();
}

static void take_busy()
{
	busy.lock();
	behind.lock();
	rest();
}

static void waiter(Lock *lock) { lock->lock(); }

static char stacks[32][8192] __attribute__((aligned(16)));
static int stack;

static void run(void (*f)(Lock *), Lock *arg)
{
	ulong *sp = (ulong *)stacks[++stack];
	*--sp = (ulong)arg;
	*--sp = (ulong)f;
	const long flags = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000; // VM FS FILES SIGHAND THREAD SYSVSEM
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	long r = 56;
	__asm__ volatile(
		"syscall\n test %%rax,%%rax\n jnz 1f\n"
		"pop %%rax\n pop %%rdi\n call begin\n 1:"
		: "+a"(r) : "D"(flags), "S"(sp), "d"(0L), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
}

__asm__(".globl begin\n.type begin,@function\nbegin:\n.cfi_startproc\n.cfi_undefined rip\ncall *%rax\nhlt\n.cfi_endproc\n.size begin,.-begin");

static void settle(int n)
{
	while (__atomic_load_n(&standing, __ATOMIC_SEQ_CST) < n)
		call(24, 0, 0, 0, 0); // sched_yield
	for (int i = 0; i < 1000; i++)
		call(24, 0, 0, 0, 0);
}

template <void (*f)()> static void without(Lock *) { f(); }

extern "C" void start_c()
{
	run(without<hold_plain>, nullptr);
	run(without<hold_owned>, nullptr);
	run(without<let_go>, nullptr);
	run(without<hold_two>, nullptr);
	run(without<call_twice>, nullptr);
	run(without<destroy>, nullptr);
	run(without<share>, nullptr);
	run(without<give_up>, nullptr);
	run(without<take_busy>, nullptr);
	run(without<destroy_inlined>, nullptr);
	run(without<lock_again>, nullptr);
	settle(11);
	run(without<take_ended>, nullptr);
	run(without<take_inlined>, nullptr);
	run(without<share>, nullptr);
	run(without<take_given>, nullptr);
	run(without<make_guard>, nullptr);
	settle(16);
	run(without<take_shared>, nullptr);
	settle(17);
	Lock *const locks[] = { &plain, &owned, &released, &first, &second, &later, &ended, &inlined, &shared, &given, &behind };
	for (unsigned i = 0; i < sizeof locks / sizeof *locks; i++) {
		run(waiter, locks[i]);
		settle(18 + i);
	}
	*(volatile int *)0 = 0;
}

__asm__(".globl _start\n.type _start,@function\n_start:\n.cfi_startproc\n.cfi_undefined rip\nand $-16, %rsp\ncall start_c\nhlt\n.cfi_endproc\n.size _start,.-_start");
