/* threads N DEPTH: N threads, each DEPTH frames deep across the program and
   three libraries, all blocked; then the program aborts, for a core file. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int hop1(int depth);

static pthread_barrier_t ready;

int bottom(void)
{
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return 0;
}

int hop0(int depth)
{
	volatile char frame[64];
	frame[0] = depth;
	int r = depth <= 0 ? bottom() : hop1(depth - 1);
	return r + frame[0];
}

static void *thread(void *depth)
{
	return (void *)(long)hop0(*(int *)depth);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10, depth = argc > 2 ? atoi(argv[2]) : 50;
	pthread_attr_t attr;
	pthread_barrier_init(&ready, 0, n + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (64 << 10) + 256 * (size_t)depth);
	for (int i = 0; i < n; i++) {
		pthread_t t;
		if (pthread_create(&t, &attr, thread, &depth)) {
			perror("pthread_create");
			return 1;
		}
	}
	pthread_barrier_wait(&ready);
	usleep(100000);
	abort();
}
