#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Sorts n calls deep, so that walks go through the C library. */
__attribute__((noinline)) static long deep(int n, int *v, int length)
{
	if (n > 0) {
		long rest = deep(n - 1, v, length);

		return rest + v[n % length];
	}
	for (int i = 0; i < length; i++)
		v[i] = rand();
	qsort(v, length, sizeof *v, compare);
	return v[0];
}

int main(void)
{
	static int v[20000];
	long sum = 0;

	for (int i = 0; i < 60; i++)
		sum += deep(20, v, 20000);
	return sum == 42;
}
