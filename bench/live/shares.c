// shares SLEEPERS WORKERS is a program whose profile is known. Each worker spends 50,
// 30 and 20 of each 100 units of work in the functions f50, f30 and f20. The
// sleepers wait at the end of 1 to 40 calls. For each line on standard input the
// program prints how many rounds of 100 units the workers have made since the last
// one, and the microseconds that passed.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noipa))

static atomic_long rounds, asleep;

static void unit(void) {
	for (volatile int i = 0; i < 2000; i++)
		;
}

APART static void f50(void) {
	for (int i = 0; i < 50; i++)
		unit();
}

APART static void f30(void) {
	for (int i = 0; i < 30; i++)
		unit();
}

APART static void f20(void) {
	for (int i = 0; i < 20; i++)
		unit();
}

static void *work(void *unused) {
	(void)unused;
	prctl(PR_SET_NAME, "worker");
	for (;; rounds++) {
		f50();
		f30();
		f20();
	}
	return 0;
}

APART static int descend(int n) {
	if (n == 0)
		for (asleep++;;)
			pause();
	return descend(n - 1) + 1;
}

static void *sleeper(void *n) {
	prctl(PR_SET_NAME, "sleeper");
	descend((intptr_t)n);
	return 0;
}

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(int argc, char **argv) {
	if (argc != 3)
		return 2;
	int sleepers = atoi(argv[1]), workers = atoi(argv[2]);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	for (int i = 0; i < sleepers + workers; i++) {
		pthread_t t;
		if (pthread_create(&t, &small, i < sleepers ? sleeper : work, (void *)(intptr_t)(1 + i % 40)))
			return 1;
	}
	while (asleep < sleepers)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	long then = now(), done = rounds;
	while (getchar() == '\n') {
		long at = now(), n = rounds;
		printf("%ld %ld\n", n - done, at - then);
		fflush(stdout);
		then = at, done = n;
	}
	return 0;
}
