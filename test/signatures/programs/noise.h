// What leads to a bug differs from run to run: the seed chooses whether it is reached
// from the main loop, in a thread of a pool, below a recursion, or by a callback of the
// C library, and how deep.
#ifndef NOISE_H
#define NOISE_H
#include <pthread.h>
#include <stdlib.h>

typedef void (*job)(void);

static job noise_job;
static volatile int noise_rounds;

static void run_next(void) { noise_job(); noise_rounds++; }

static void main_loop(int rounds)
{
	for (volatile int i = 0; i < rounds; i++)
		noise_rounds++;
	run_next();
	noise_rounds++;
}

static void *pool_worker(void *arg)
{
	for (volatile int i = 0; i < 3; i++)
		noise_rounds++;
	run_next();
	return arg;
}

static int descend(int depth)
{
	if (depth == 0) {
		run_next();
		return 1;
	}
	return descend(depth - 1) + noise_rounds;
}

static int on_compare(const void *a, const void *b)
{
	run_next();
	return *(const char *)a - *(const char *)b;
}

static void enter(int seed, job f)
{
	pthread_t worker;
	char two[] = "ba";
	noise_job = f;
	switch (seed % 4) {
	case 0:
		main_loop(seed);
		break;
	case 1:
		pthread_create(&worker, NULL, pool_worker, NULL);
		pthread_join(worker, NULL);
		break;
	case 2:
		noise_rounds += descend(1 + seed / 4 % 50);
		break;
	case 3:
		qsort(two, 2, 1, on_compare);
		break;
	}
	noise_rounds++;
}
#endif
