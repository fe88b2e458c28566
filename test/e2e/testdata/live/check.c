// check looks for signs of a visitor in its own timers, signals and system
// calls until its standard input ends. Then it prints what it saw, one name
// and number a line: what went wrong under "bad", and "ok" if nothing did.
//
// What stopping a thread may do [signal(7), Interruption of system calls and
// library functions by stop signals]: epoll_wait, semtimedop and
// sigtimedwait may fail with EINTR. read, write, nanosleep, poll, futex and
// accept must not.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int over;
static long sent, received, handled, expired, overrun, interrupted;
static long bytes, naps, polls, waits, bad;

static void wrong(const char *what, int err) {
	if (__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED) < 20)
		fprintf(stderr, "check: %s: %s\n", what, strerror(err));
}

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void on_timer(int sig, siginfo_t *info, void *ctx) {
	(void)sig, (void)ctx;
	__atomic_fetch_add(&expired, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&overrun, info->si_overrun, __ATOMIC_RELAXED);
}

static void on_signal(int sig, siginfo_t *info, void *ctx) {
	(void)sig, (void)ctx;
	if (info->si_code != SI_QUEUE || info->si_value.sival_int != handled + 1)
		wrong("a queued signal came with another value", 0);
	handled++;
}

// Queued signals, one in flight: each must arrive once, in order, with its
// value, whether a handler takes it or sigtimedwait.
static void *handler(void *arg) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	pthread_sigmask(SIG_UNBLOCK, &set, 0);
	while (!over) {
		long want = handled + 1;
		union sigval v = {.sival_int = (int)want};
		if (pthread_sigqueue(pthread_self(), SIGRTMIN + 1, v) != 0)
			wrong("pthread_sigqueue", errno);
		if (handled != want)
			wrong("a signal to itself was not delivered", 0);
	}
	return arg;
}

static pthread_t waiter_thread;

static void *waiter(void *arg) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	while (!over || received < sent) {
		siginfo_t info;
		struct timespec limit = {.tv_sec = 1};
		if (sigtimedwait(&set, &info, &limit) < 0) {
			if (errno == EINTR)
				__atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
			else if (errno != EAGAIN)
				wrong("sigtimedwait", errno);
			else if (over)
				break;
			continue;
		}
		if (info.si_value.sival_int != received + 1)
			wrong("a signal was lost or came twice", 0);
		__atomic_store_n(&received, info.si_value.sival_int, __ATOMIC_RELEASE);
	}
	return arg;
}

static void *sender(void *arg) {
	while (!over) {
		if (sent - __atomic_load_n(&received, __ATOMIC_ACQUIRE) > 100) {
			sched_yield();
			continue;
		}
		union sigval v = {.sival_int = (int)(sent + 1)};
		if (pthread_sigqueue(waiter_thread, SIGRTMIN + 2, v) == 0)
			sent++;
		else if (errno != EAGAIN)
			wrong("pthread_sigqueue", errno);
	}
	return arg;
}

static int pipes[2];

static void *writer(void *arg) {
	unsigned char next = 0;
	while (!over) {
		unsigned char block[512];
		for (size_t i = 0; i < sizeof block; i++)
			block[i] = next++;
		ssize_t n = write(pipes[1], block, sizeof block);
		if (n != sizeof block)
			wrong("write", n < 0 ? errno : 0);
		struct timespec t = {.tv_nsec = 200000};
		if (nanosleep(&t, 0) != 0)
			wrong("nanosleep", errno);
	}
	close(pipes[1]);
	return arg;
}

static void *reader(void *arg) {
	unsigned char next = 0, c[300];
	ssize_t n;
	while ((n = read(pipes[0], c, sizeof c)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (c[i] != next++)
				wrong("a byte is missing", 0);
		bytes += n;
	}
	if (n < 0)
		wrong("read", errno);
	return arg;
}

// A sleep must not end early, and without a reason not at all.
static void *sleeper(void *arg) {
	while (!over) {
		struct timespec t = {.tv_nsec = 3000000};
		long begun = now();
		if (nanosleep(&t, 0) != 0)
			wrong("nanosleep", errno);
		if (now() - begun < 3000000)
			wrong("nanosleep ended early", 0);
		naps++;
	}
	return arg;
}

static void *poller(void *arg) {
	while (!over) {
		long begun = now();
		int n = poll(0, 0, 3);
		if (n < 0)
			wrong("poll", errno);
		else if (now() - begun < 3000000)
			wrong("poll ended early", 0);
		polls++;
	}
	return arg;
}

static void *epoller(void *arg) {
	int ep = epoll_create1(0);
	while (!over) {
		struct epoll_event e;
		long begun = now();
		int n = epoll_wait(ep, &e, 1, 3);
		if (n < 0 && errno == EINTR)
			__atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
		else if (n != 0)
			wrong("epoll_wait", errno);
		else if (now() - begun < 3000000)
			wrong("epoll_wait ended early", 0);
		waits++;
	}
	return arg;
}

// Registers and memory of a thread that computes must come through unchanged.
static void *computer(void *arg) {
	while (!over) {
		unsigned long x = 1;
		double d = 1;
		for (int i = 0; i < 100000; i++) {
			x = x * 6364136223846793005UL + 1442695040888963407UL;
			d = d * 1.0000001 + 0.5;
		}
		static volatile unsigned long x0;
		static volatile double d0;
		if (x0 == 0)
			x0 = x, d0 = d;
		if (x != x0 || d != d0)
			wrong("a computation went wrong", 0);
	}
	return arg;
}

static void *ticker(void *arg) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_UNBLOCK, &set, 0);
	while (!over)
		usleep(1000);
	return arg;
}

int main(void) {
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_BLOCK, &all, 0);
	struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_RESTART};
	sa.sa_sigaction = on_timer;
	sigaction(SIGRTMIN, &sa, 0);
	sa.sa_sigaction = on_signal;
	sigaction(SIGRTMIN + 1, &sa, 0);
	if (pipe(pipes) != 0)
		return 1;

	void *(*const tasks[])(void *) = {waiter, sender, handler, writer, reader, sleeper, poller, epoller, computer, ticker};
	enum { TASKS = sizeof tasks / sizeof *tasks };
	pthread_t t[TASKS];
	for (int i = 0; i < TASKS; i++) {
		if (pthread_create(&t[i], 0, tasks[i], 0) != 0)
			return 1;
		if (i == 0)
			waiter_thread = t[0];
	}
	timer_t timer;
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	struct itimerspec every = {{.tv_nsec = 2000000}, {.tv_nsec = 2000000}};
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) != 0)
		return 1;
	timer_settime(timer, 0, &every, 0);
	long begun = now();
	printf("ready\n");
	fflush(stdout);

	char c;
	while (read(0, &c, 1) > 0)
		;
	over = 1;
	long ticks = (now() - begun) / 2000000;
	struct itimerspec none = {{0}, {0}};
	timer_settime(timer, 0, &none, 0);
	for (int i = 0; i < TASKS; i++)
		pthread_join(t[i], 0);
	// Expirations are counted, in signals or in overruns, however late a
	// signal was taken. The last may still have been pending.
	if (labs(expired + overrun - ticks) > ticks / 100 + 10)
		wrong("the timer lost expirations", 0);
	if (sent != received)
		wrong("signals were lost", 0);
	printf("timer %ld of %ld\nsignals %ld\nhandled %ld\nbytes %ld\nnaps %ld\npolls %ld\nwaits %ld\nEINTR %ld\nbad %ld\n",
		expired + overrun, ticks, received, handled, bytes, naps, polls, waits, interrupted, bad);
	if (bad == 0)
		printf("ok\n");
	return bad != 0;
}
