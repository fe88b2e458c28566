// Threads of C++ that wait for locks whose owners only guards tell.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <linux/futex.h>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

// Lock is a lock as programs write them, which records no owner.
struct Lock {
	std::atomic<unsigned> word{0};
	bool try_lock()
	{
		unsigned free = 0;
		return word.compare_exchange_strong(free, 2);
	}
	void lock()
	{
		while (!try_lock())
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
	}
	void unlock()
	{
		word = 0;
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
	}
};

static Lock lock, other;
static std::shared_mutex readers;
static std::condition_variable_any changed;

static void say(const char *name)
{
	printf("%s %ld\n", name, (long)syscall(SYS_gettid));
	fflush(stdout);
}

[[gnu::noinline]] static void rest(const char *name)
{
	say(name);
	for (;;)
		pause();
}

static void guard()
{
	std::lock_guard held(lock);
	rest("holder");
}

static void unique()
{
	std::unique_lock held(lock);
	rest("holder");
}

static void scoped()
{
	std::scoped_lock held(other, lock);
	rest("holder");
}

static void shared()
{
	std::shared_lock held(readers);
	rest("holder");
}

// It holds the lock, but what looks like a guard is one that it has released.
static void released()
{
	std::unique_lock held(lock);
	held.unlock();
	lock.lock();
	rest("holder");
}

// The guard is in the line below, and was there when the function was called before.
[[gnu::noinline]] static void later(bool stay)
{
	if (stay)
		rest("holder");
	std::lock_guard held(lock);
	getpid();
}

struct Slow {
	~Slow() { rest("holder"); }
};

static void destroyed()
{
	Slow slow;
	std::lock_guard held(lock);
	getpid();
}

// Meanwhile another thread takes the lock.
static void condition()
{
	std::unique_lock held(lock);
	say("holder");
	for (;;)
		changed.wait(held);
}

static void take()
{
	lock.lock();
	rest("taker");
}

static void wait_for(const char *name)
{
	say(name);
	std::lock_guard held(lock);
}

int main(int, char **argv)
{
	std::string mode = argv[1];
	if (mode == "guard")
		std::thread(guard).detach();
	if (mode == "unique")
		std::thread(unique).detach();
	if (mode == "scoped")
		std::thread(scoped).detach();
	if (mode == "released")
		std::thread(released).detach();
	if (mode == "later")
		std::thread([] { later(false); lock.lock(); later(true); }).detach();
	if (mode == "destroyed")
		std::thread(destroyed).detach();
	if (mode == "condition")
		std::thread(condition).detach();
	if (mode == "reader" || mode == "readers") {
		std::thread(shared).detach();
		if (mode == "readers")
			std::thread(shared).detach();
		usleep(500000);
		std::thread([] { say("writer"); std::unique_lock all(readers); }).join();
	}
	usleep(500000);
	if (mode == "destroyed" || mode == "condition")
		std::thread(take).detach();
	usleep(500000);
	std::thread first(wait_for, "first"), second(wait_for, "second");
	first.join();
	second.join();
}
