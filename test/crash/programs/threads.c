// Crashes in a way, with other threads that wait in a recursion.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int depth;
static pthread_barrier_t ready;

__attribute__((noinline)) static void work(int n)
{
	volatile char local[64];
	local[0] = n;
	if (n > 0) {
		work(n - 1);
	} else {
		pthread_barrier_wait(&ready);
		for (;;)
			pause();
	}
	local[1] = 0;
}

static void *run(void *p)
{
	work(depth);
	return p;
}

__attribute__((noinline)) static int overflow(int n)
{
	volatile char local[5000];
	local[0] = n;
	return overflow(n + 1) + local[0];
}

static void handler(int signal)
{
	(void)signal;
	abort();
}

int main(int count, char **args)
{
	if (count < 4)
		return 1;
	int threads = atoi(args[2]);
	depth = atoi(args[3]);
	pthread_barrier_init(&ready, 0, threads + 1);
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	for (int i = 0; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, &attributes, run, 0) != 0)
			return 1;
	}
	pthread_barrier_wait(&ready);
	usleep(1000 + 50 * threads); // until all are in pause
	if (count > 4) { // say when it crashes
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		printf("%lld\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
		fflush(stdout);
	}
	if (!strcmp(args[1], "segv"))
		*(volatile int *)0 = 1;
	if (!strcmp(args[1], "abort"))
		abort();
	if (!strcmp(args[1], "overflow"))
		return overflow(0);
	if (!strcmp(args[1], "null"))
		((void (*)(void))0)();
	if (!strcmp(args[1], "handler")) {
		signal(SIGUSR1, handler);
		raise(SIGUSR1);
	}
	return 1;
}
