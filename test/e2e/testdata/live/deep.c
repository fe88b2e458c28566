// deep THREADS makes threads that wait, each with a megabyte of stack in use above
// the function "deep".
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1 << 20 };
static sem_t ready;

__attribute__((noinline)) static void wait_forever(void) {
	sem_post(&ready);
	for (;;)
		pause();
}

__attribute__((noinline)) static int top(int n) {
	volatile char room[100];
	room[n] = 1;
	wait_forever();
	return room[n];
}

__attribute__((noinline)) static int deep(int n) {
	char room[ROOM];
	memset(room, n, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
	return top(n) + room[n];
}

static void *run(void *arg) { return (void *)(long)deep((int)(long)arg % 100); }

int main(int argc, char **argv) {
	int threads = argc > 1 ? atoi(argv[1]) : 100;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 2 * ROOM);
	sem_init(&ready, 0, 0);
	for (long i = 0; i < threads; i++) {
		pthread_t t;
		if (pthread_create(&t, &attr, run, (void *)i) != 0)
			return 1;
	}
	for (int i = 0; i < threads; i++)
		sem_wait(&ready);
	printf("ready\n");
	fflush(stdout);
	char c;
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
