#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point { int x, y; const char *name; double weight; };
enum color { RED, GREEN = 5, BLUE };

static volatile int sink;
struct point origin = { 3, 4, "origin", 2.5 };

static inline __attribute__((always_inline)) int innermost(int v)
{
	int doubled = v * 2;
	if (doubled > 10)
		abort();
	return doubled;
}

static inline __attribute__((always_inline)) int middle(int v)
{
	sink += v;
	return innermost(v + 1) + 1;
}

static inline __attribute__((always_inline)) int outer(int v)
{
	sink ^= v;
	return middle(v + 1) + 2;
}

__attribute__((noinline)) int work(struct point *p, enum color c)
{
	char text[16];
	int numbers[4] = { 1, 2, 3, p->x };
	strcpy(text, "hello");
	sink = text[0] + numbers[c & 3];
	return outer(p->x + 5) + numbers[1] + text[1];
}

int main(int argc, char **argv)
{
	struct point p = origin;
	int r = work(&p, GREEN);
	printf("%d %s\n", r, argv[0]);
	return r + argc;
}
