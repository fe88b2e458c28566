/* Threads whose stacks lead through musl, which has no unwind tables. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) static void wait_below(int depth)
{
	if (depth > 0)
		wait_below(depth - 1);
	else
		pause();
	sink++;
}

static void *worker(void *depth)
{
	wait_below((int)(long)depth);
	sink++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	wait_below(0);
	return sink + (a < b);
}

static void *sorter(void *unused)
{
	int list[] = {3, 1, 2, 0};
	qsort(list, 4, sizeof *list, compare);
	sink += list[0];
	return unused;
}

int main(void)
{
	pthread_t a, b;
	pthread_create(&a, 0, worker, (void *)2);
	pthread_create(&b, 0, sorter, 0);
	pthread_join(a, 0);
	sink++;
	return 0;
}
