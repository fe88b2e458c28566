// depths THREADS makes threads that wait, each at a known depth: thread i,
// named "d<n>", is in n = 1 + i % 50 calls of descend. The first thread beats
// every 100 microseconds and remembers the longest time between two beats. A
// line on standard input makes it print that, in microseconds, and forget it.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static sem_t ready;
static pthread_mutex_t forever = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) int descend(int n) {
	volatile char room[200];
	room[n] = (char)n;
	if (n > 1)
		return descend(n - 1) + room[n];
	sem_post(&ready);
	pthread_mutex_lock(&forever);
	return room[n];
}

static void *run(void *arg) {
	int n = 1 + (int)(long)arg % 50;
	char name[16];
	snprintf(name, sizeof name, "d%d", n);
	prctl(PR_SET_NAME, name);
	return (void *)(long)descend(n);
}

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

int main(int argc, char **argv) {
	int threads = argc > 1 ? atoi(argv[1]) : 1000;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10); // gcore writes all of it
	sem_init(&ready, 0, 0);
	pthread_mutex_lock(&forever);
	for (long i = 0; i < threads; i++) {
		pthread_t t;
		if (pthread_create(&t, &attr, run, (void *)i) != 0)
			return 1;
	}
	for (int i = 0; i < threads; i++)
		sem_wait(&ready);
	printf("ready\n");
	fflush(stdout);
	long last = now(), longest = 0;
	for (;;) {
		struct pollfd in = {.fd = 0, .events = POLLIN};
		if (poll(&in, 1, 0) > 0) {
			char c[64];
			if (read(0, c, sizeof c) <= 0)
				return 0;
			printf("%ld\n", longest);
			fflush(stdout);
			longest = 0;
			last = now();
		}
		struct timespec beat = {.tv_nsec = 100000};
		nanosleep(&beat, 0);
		long t = now();
		if (t - last > longest)
			longest = t - last;
		last = t;
	}
}
