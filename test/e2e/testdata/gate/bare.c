/* A program of its own, without the C library, whose objects have no .sframe. */
static __attribute__((noinline)) int deep(int n, volatile char *p)
{
	volatile char buffer[200];

	buffer[n & 127] = p[n & 7];
	return n > 0 ? deep(n - 1, buffer) + buffer[n & 63] : buffer[0];
}

static __attribute__((noinline)) int wide(int a, int b, volatile char *p)
{
	int sum = 0;

	for (int i = a; i < b; i++)
		sum += deep(i, p) ^ deep(i + 1, p);
	return sum;
}

void _start(void)
{
	volatile char buffer[8] = {1};

	wide(1, 20, buffer);
	for (;;)
		;
}
