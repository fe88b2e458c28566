/* What the just-in-time compiler made: no reference out of it. */
typedef long (*step)(long n, const void *next);

struct next { step code; const void *next; };

static __attribute__((noinline)) long inner(long n, const struct next *next)
{
	long r = n == 0 ? next->code(n, next->next) : inner(n - 1, next);
	return r + n;
}

long outer(long n, const void *next)
{
	volatile long here = n * 3;
	return inner(n, next) + here;
}
