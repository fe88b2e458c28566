// Threads of C++ that wait for each other.
#include <condition_variable>
#include <cstdio>
#include <latch>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <sys/syscall.h>
#include <unistd.h>

static std::mutex a, b;
static std::shared_mutex shared;
static std::latch held(3);

static void say(const char *name) {
	printf("%s %ld\n", name, (long)syscall(SYS_gettid));
	fflush(stdout);
}

int main() {
	std::thread ab([] {
		say("ab");
		std::lock_guard first(a);
		std::unique_lock all(shared);
		held.arrive_and_wait();
		std::lock_guard second(b);
	});
	std::thread ba([] {
		say("ba");
		std::scoped_lock first(b);
		held.arrive_and_wait();
		std::unique_lock second(a);
	});
	std::thread reader([] {
		say("reader");
		held.arrive_and_wait();
		std::shared_lock some(shared);
	});
	say("main");
	reader.join();
}
