/* Values that optimised code keeps in registers, in pieces, and nowhere. */
#include <stdlib.h>
#include <stdint.h>
#include <stdio.h>

struct pair { long first, second; };
struct vec { double x, y, z; };
struct bits { unsigned a : 3; int b : 7; unsigned c : 22; uint64_t d : 40; };

static volatile int sink = 1;

static inline __attribute__((always_inline)) int innermost(int depth, const char *why)
{
	int twice = depth * 2;
	sink = twice;
	if (depth > 2 && sink) {
		int reason = depth + 100;
		sink = reason;
		abort();
	}
	return twice;
}

static inline __attribute__((always_inline)) int middle(int depth, struct pair p)
{
	struct pair q = { p.second, p.first };
	int n = innermost(depth + 1, "too deep");
	return n + (int)q.first;
}

__attribute__((noinline)) long leaf(long a, unsigned char b, short c, struct vec *v, double scale, struct bits *f)
{
	long kept = a + sink;
	struct bits copy = *f;
	int r = middle((int)(kept & 3) + 2, (struct pair){ a, b });
	sink = r;
	return kept + b + c + (long)(v->x * scale) + copy.a;
}

__attribute__((noinline)) static long caller(long x, struct vec *v, float f)
{
	struct bits bits = { 5, -17, 123456, 987654321098ULL };
	long before = x * 3;
	int table[8];
	for (int i = 0; i < 8; i++)
		table[i] = i * sink + i;
	long got = leaf(x + 1, 200, -7, v, f * 2.0, &bits);
	sink = table[sink & 7];
	return got + before;
}

__attribute__((noinline)) static int recurse(unsigned n, long acc)
{
	long here = acc + n;
	if (n == 0) {
		struct vec v = { 1.5, -2.25, 1e100 };
		return (int)caller(here, &v, 0.5f) + (int)here;
	}
	int r = recurse(n - 1, here) + (int)here;
	sink = r;
	return r;
}

int main(int argc, char **argv)
{
	int64_t start = argc * 1000000007LL;
	const char *name = argv[0];
	int r = recurse(3, start);
	puts(name);
	return r;
}
