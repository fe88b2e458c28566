// odd has threads in odd places: one in a signal handler on an alternate
// stack, one that waits for a vfork and cannot be stopped, one deep in a
// recursion of more than a megabyte, and a first thread that waits.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static sem_t ready;

__attribute__((noinline)) static void wait_forever(void) {
	sem_post(&ready);
	for (;;)
		pause();
}

static void on_signal(int sig) {
	(void)sig;
	wait_forever();
}

__attribute__((noinline)) static int interrupted(int n) {
	if (n > 0)
		return interrupted(n - 1) + 1;
	raise(SIGUSR1);
	return 0;
}

static void *handling(void *arg) {
	prctl(PR_SET_NAME, "altstack");
	stack_t alt = {.ss_sp = malloc(64 << 10), .ss_size = 64 << 10};
	sigaltstack(&alt, 0);
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &sa, 0);
	interrupted(5);
	return arg;
}

static void *vforking(void *arg) {
	prctl(PR_SET_NAME, "vfork");
	sem_post(&ready);
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return arg;
}

__attribute__((noinline)) static int deeper(int n) {
	volatile char room[1000];
	room[n % 1000] = 1;
	if (n > 0)
		return deeper(n - 1) + room[n % 1000];
	wait_forever();
	return 0;
}

static void *deep(void *arg) {
	prctl(PR_SET_NAME, "deep");
	deeper(2000);
	return arg;
}

int main(void) {
	void *(*const run[])(void *) = {handling, vforking, deep};
	sem_init(&ready, 0, 0);
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		pthread_create(&t, 0, run[i], 0);
		sem_wait(&ready);
	}
	usleep(50000); // the vfork has begun
	printf("ready\n");
	fflush(stdout);
	char c;
	while (read(0, &c, 1) > 0)
		;
	_exit(0);
}
